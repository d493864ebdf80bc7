"""Where texts are cut, and what the model sees around a part."""

import re
from itertools import pairwise

import pytest
from conftest import make_model, make_task
from hypothesis import given
from hypothesis import strategies as st

from masker.core.matching import Pattern
from masker.core.segments import LONGEST, Unit, passages, sentence_ends, shape, split

VOCABULARY = make_model("bert").vocabulary
TASK = make_task(make_model("bert"))


def sentences(source: str) -> list[str]:
    text = VOCABULARY.read(source)
    edges = [0, *sentence_ends(text), len(text.words)]
    return [source[text.words[a].start : text.words[b - 1].end] for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    "parts",
    [
        ["We went there.", "It was bad!", "Never again?", "No."],
        ["the food was bad .", "the staff was rude !", "never again ."],
        ['He said "It is bad."', "We left.", "(It was late.)", "“Go!”", "Gone."],
        ["Mr. Smith and Dr. J. R. Jones came at 5 p.m. on Monday.", "They left."],
        ["It cost 3.5 dollars, i.e. a lot.", "Fine."],
        ["Well... it was ok.", "I waited...", "Nothing came."],
        ["so ... i waited .", "nothing came ."],
        ["So bad!!", "Why?!", "no idea"],
        ["Read masker.py first.", "See www.example.com.", "Then go."],
        ["One line\n\n", "another line without an end"],
        ["No end here\nnor here"],
        ["Das ist z.B. gut.", "Nr. 5 auch."],
        ["Ça va ?", "Oui !"],
        ["Really?", "yes, really."],
        [". . .", "word"],
        ["word !"],
    ],
)
def test_sentences(parts: list[str]) -> None:
    if parts[0] == ". . .":  # marks alone are no sentence
        parts = [". . . word"]
    assert sentences(" ".join(parts)) == [part.strip() for part in parts]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(4, 30))
def test_parts_are_whole_sentences_that_fit(sizes: list[int], longest: int) -> None:
    text = VOCABULARY.read(" ".join(" ".join(["food"] * size) + " ." for size in sizes))
    parts = list(split(text, (), Unit(longest=longest)))
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == len(text.words)
    for part in parts:
        assert text.word(part.stop - 1) == "."
        ends = sum(text.word(i) == "." for i in range(part.start, part.stop))
        assert ends == 1 or part.stop - part.start <= longest
    assert len(list(split(text, (), Unit(sentences=True)))) == len(sizes)


@given(st.integers(1, 400), st.none() | st.integers(1, 30), st.booleans())
def test_a_text_without_a_sentence_end_is_cut_only_if_it_is_very_long(
    size: int, longest: int | None, by_sentence: bool
) -> None:
    text = VOCABULARY.read(" ".join(["food"] * size))
    parts = list(split(text, (), Unit(by_sentence, longest)))
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == size
    assert all(part.stop - part.start <= LONGEST for part in parts)
    assert len(parts) == -(-size // LONGEST)


@given(st.text("ab .!?\n'\"…A", max_size=60), st.sampled_from([None, 3, 9, 30]), st.booleans())
def test_passages_cover_a_text_once_and_say_where_they_are(source: str, longest: int | None, by_sentence: bool) -> None:
    text, covered = VOCABULARY.read(source), []
    for passage in passages(TASK, source, Unit(by_sentence, longest)):
        assert source[passage.offset :].startswith(passage.text.source)
        for word in passage.text.words[passage.words.start : passage.words.stop]:
            covered.append((word.start + passage.offset, word.end + passage.offset))
    assert covered == [(word.start, word.end) for word in text.words]


def test_the_model_sees_whole_sentences_around_one_as_far_as_they_fit() -> None:
    source = "the food was bad . the food . was it bad ? no ."
    nine = len(VOCABULARY.read("the food . was it bad ? no .").pieces)
    found = passages(TASK, source, Unit(sentences=True, longest=nine))
    assert [passage.text.source for passage in found] == [
        "the food was bad . the food .",
        "the food was bad . the food .",
        "the food . was it bad ? no .",
        "the food . was it bad ? no .",
    ]
    assert [passage.offset for passage in found] == [0, 0, 19, 19]


def test_no_cut_goes_through_what_is_protected() -> None:
    task = make_task(make_model("bert"), protect=(Pattern(re.compile("`[^`]*`")),))
    source = "we like `the food . was it` so . it was bad ."
    found = passages(task, source, Unit(sentences=True))
    assert [len(passage.words) and passage.words.stop - passage.words.start for passage in found] == [11, 4]
    for passage in found:
        for start, end in passage.keep:
            assert passage.text.source[start:end].rstrip() in ("`the food . was it`", ".")


def test_the_final_mark_of_a_part_is_protected_with_what_would_come_after_it() -> None:
    source = "it was bad . we left here\n\n it was good !"
    found = passages(TASK, source, Unit(sentences=True, longest=4))
    assert [passage.text.source for passage in found] == ["it was bad .", "we left here", "it was good !"]
    assert [passage.offset for passage in found] == [0, 13, 28]
    first, second, third = ([*passage.keep] for passage in found)
    assert first == [(11, 13)]  # the stop, and the place after it
    assert second == []  # ends with a word
    assert third == []  # a text's own final mark is protected anyway


def test_what_is_kept_is_told_to_the_parts_that_have_it() -> None:
    task = make_task(make_model("bert"), protect=(Pattern(re.compile("we|good")),))
    source = "it was bad ! we left . it was good ."
    found = passages(task, source, Unit(sentences=True, longest=4))
    kept = [[passage.text.source[a:b] for a, b in passage.keep] for passage in found]
    assert kept == [["!"], ["we", "."], ["good"]]


def test_passages_are_found_once_for_all_that_ask_alike() -> None:
    source, unit = "It is fine. I like Hal. Go!", Unit(sentences=True)
    other = make_task(make_model("bert"), protect=(Pattern(re.compile("fine. I")),))
    found = passages(TASK, source, unit)
    assert passages(TASK, source, Unit(sentences=True)) is found
    assert len(passages(TASK, source, Unit())) == 1
    assert len(passages(other, source, unit)) == 2 < len(found)


def test_a_stop_that_stands_apart_ends_a_sentence_even_after_an_abbreviation() -> None:
    assert sentences("she saw the dr . He left") == ["she saw the dr .", "He left"]
    assert sentences("she saw the dr. He left") == ["she saw the dr. He left"]


def test_a_text_that_fits_is_one_part() -> None:
    text = VOCABULARY.read("the food . it was bad .")
    pieces = len(text.pieces)
    assert [*split(text, (), Unit(longest=pieces))] == [(0, len(text.words))]
    assert len([*split(text, (), Unit(longest=pieces - 1))]) == 2
    assert [*split(VOCABULARY.read(" "), (), Unit())] == []


def test_the_shape_of_texts() -> None:
    assert shape(VOCABULARY, ["the food . it was bad .", "we like it .", ""]) == {"sentences": 1.5, "words": 3.7}
    assert shape(VOCABULARY, []) == {"sentences": 0.0, "words": 0.0}
