"""A look at corpora: what is counted, and what is warned of, with a remedy."""

import random

import pytest

from masker.data.inspection import language, look, look_at, scripts, sentences

WORDS = ("table", "lamp", "house", "river", "stone", "bread", "paper", "glass", "chair", "garden", "window", "bottle",
         "mirror", "carpet", "ladder", "basket")  # fmt: skip


def lines(pattern: str, count: int = 600) -> list[str]:
    """Different lines of one kind: {a} and {b} are two of the words, which no line has in common with another."""
    return [pattern.format(a=WORDS[k % 16], b=WORDS[k // 16 % 16], k=k) for k in range(count)]


PLAIN = {
    "bad": lines("the {a} was not nice , the {b} {k} neither ."),
    "good": lines("what a great {a} , and {b} {k} !"),
}


def warned(corpora: dict[str, list[str]]) -> list[str]:
    found = look(corpora).warnings
    assert all("\n" not in warning for warning in found)
    return list(found)


def test_sizes_lengths_and_copies() -> None:
    found = look_at("bad", ["One two three.", "one two three four five. Six!", " One two three. ", "a"])
    assert (found.lines, found.distinct) == (4, 3)
    assert found.words == (3, 3, 6)
    assert found.sentences == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("No end", 1),
        ("One. Two!", 2),
        ("He said: 'Go!' And he did", 2),
        ("3.5 stars", 1),
        ("...", 1),
        ("", 1),
    ],
)
def test_sentences(line: str, count: int) -> None:
    assert sentences(line) == count


def test_how_text_is_written() -> None:
    assert look_at("a", ["it was good , really .", "no marks here"]).form == "lower case, tokenised"
    assert look_at("a", ["It was good, really.", "And so on!"]).form == "capitals, raw"


def test_languages_and_scripts() -> None:
    assert language(["the food was good and the people were nice to us"]) == "English"
    assert language(["das Essen war gut und die Leute sind nett zu uns"]) == "German"
    assert language(["le repas est bon et les gens sont gentils avec une amie"]) == "French"
    assert language(["xyzzy plugh"]) == language([]) == "?"
    assert scripts(["abc", "где 你好"])[0] == ("Latin", 3 / 8)
    assert {name for name, _ in scripts(["abc", "где 你好"])} == {"Latin", "Cyrillic", "Chinese"}


def test_what_is_fine_gets_no_warning() -> None:
    found = look(PLAIN)
    assert found.warnings == ()
    (pair,) = found.pairs
    assert pair.accuracy == 1.0
    assert {"not", "neither"} <= {*pair.first_words}
    assert {"great", "!"} <= {*pair.second_words}
    assert pair.topic is None  # there are too few words


@pytest.mark.parametrize(
    ("good", "named"),
    [
        (PLAIN["bad"][:300] + PLAIN["good"][:300], "300 lines are in both"),
        (PLAIN["good"][:90] * 8, "630 of the 720 lines of 'good' are copies"),
        (PLAIN["good"][:90], "'good' has 90 different lines; with fewer than 500"),
        (PLAIN["good"][:50], "differ in size ten times or more"),
        ([line.replace("great", "greÃ¢t") for line in PLAIN["good"]], "characters of a wrong encoding"),
        ([line.replace("great", "gre\ufffdt") for line in PLAIN["good"]], "characters of a wrong encoding"),
        ([line + " где вы все были" for line in PLAIN["good"]], "mixes scripts (Latin"),
        (lines("das {a} ist nicht gut und die {b} {k} ist es auch nicht ."), "seem to be in two languages"),
        ([line.capitalize().replace(" ,", ",") for line in PLAIN["good"]], "prepare both in the same way"),
        ([f"{line} {line} {line}" for line in PLAIN["good"]], "lines of 'bad' have 11 words, of 'good' 27"),
        ([" ".join([line] * 12) for line in PLAIN["good"]], "lines of 'good' are long (12.0 sentences on average)"),
    ],
)
def test_warnings_say_what_is_wrong(good: list[str], named: str) -> None:
    assert any(named in warning for warning in warned({**PLAIN, "good": good})), warned({**PLAIN, "good": good})


def test_alike_corpora_and_different_topics() -> None:
    random.Random(0).shuffle(bad := list(PLAIN["bad"]))
    alike = {"a": bad[::2], "b": bad[1::2]}
    assert "can hardly tell 'a' from 'b'" in " ".join(warned(alike))
    food, cars = (
        [f"the {rng.choice(kind)} and the {rng.choice(kind)} {k} ." for k in range(600)]
        for rng in [random.Random(0)]
        for kind in ([f"{name}{a}{b}" for a in "abcdefghijk" for b in "lmnopqrstuvwxyz"] for name in ("food", "car"))
    )
    assert "differ in topic more than in style" in " ".join(warned({"food": food, "cars": cars}))


def test_pairs_can_be_named_and_one_domain_has_none() -> None:
    three = {**PLAIN, "other": lines("nobody {a} knows {b} {k} ?")}
    assert len(look(three).pairs) == 3
    assert [(p.first, p.second) for p in look(three, [("good", "other")]).pairs] == [("good", "other")]
    assert look({"only": PLAIN["bad"]}).pairs == ()
