import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from conftest import make_model, make_task
from hypothesis import given
from hypothesis import strategies as st

from masker.core.edits import apply_edits
from masker.core.matching import Pattern
from masker.core.segments import Unit
from masker.errors import MaskerError
from masker.students.fast import FastEditor, _changes
from masker.students.lasertagger.tags import DELETE, KEEP, Op, Tag, TagSet

PHRASES = [" great", " and", " did n't", "!"]
TAGS = TagSet(PHRASES)


class Stub:
    """A student that has a tag for every word it knows, and keeps the others."""

    chunk, rounds = 8, 1
    tags = TAGS

    def __init__(self, **tags: Tag) -> None:
        self.by_word = tags

    def domain(self, to: str | None) -> int | None:
        return None

    def tag(self, words: Sequence[Any], domain: int | None, keep: float = 0.0) -> list[tuple[list[int], list[float]]]:
        known = {tuple(TASK.vocabulary.read(word).pieces): tag for word, tag in self.by_word.items()}
        rows = [
            [*(known.get(tuple(pieces), KEEP) for pieces in of_text), self.by_word.get("END", KEEP)]
            for of_text in words
        ]
        return [([TAGS.tags.index(tag) for tag in row], [0.5 + 0.01 * k for k in range(len(row))]) for row in rows]


TASK = make_task(make_model("bert"))


def fast(task: Any = TASK, *, rounds: int = 1, min_score: float = 0.0, unit: Unit = Unit(), **tags: Tag) -> FastEditor:
    stub = Stub(**tags)
    stub.rounds = rounds
    return FastEditor(task, stub, min_score=min_score, unit=unit)  # type: ignore[arg-type]


BAD = {"bad": Tag(Op.DELETE, " great")}


def test_a_tag_becomes_an_edit_with_its_probability() -> None:
    (rewrite,) = fast(**BAD).edit(["the food was bad ."])
    assert rewrite.text == "the food was great ."
    (edit,) = rewrite.edits
    assert (edit.start, edit.end, edit.old, edit.new, edit.score) == (13, 16, "bad", "great", 0.53)
    assert edit.to_dict() == {"start": 13, "end": 16, "old": "bad", "new": "great", "score": 0.53}
    assert rewrite.reason is None


def test_words_as_they_are_written() -> None:
    editor = fast(**BAD, food=Tag(Op.DELETE, " did n't"))
    assert editor.edit(["Bad, the   food!"])[0].text == "Great, the   didn't!"


def test_what_stays_has_a_reason() -> None:
    kept, empty = fast().edit(["it was nice .", " \t"])
    assert (kept.text, kept.edits, kept.reason) == ("it was nice .", (), "the student would keep it as it is")
    assert (empty.text, empty.reason) == (" \t", "no words")


def test_protected_and_forbidden_words() -> None:
    task = replace(TASK, protect=(Pattern(re.compile("bad food")),))
    assert fast(task, **BAD).edit(["bad food was bad ."])[0].text == "bad food was great ."
    inside = fast(task, food=Tag(Op.KEEP, " and"))
    assert inside.edit(["the bad food ."])[0].text == "the bad food ."
    assert fast(replace(TASK, forbid=frozenset({"great"})), **BAD).edit(["it was bad ."])[0].edits == ()


def test_the_final_mark_stays() -> None:
    assert fast(**{".": Tag(Op.DELETE, "!")}).edit(["it was bad ."])[0].text == "it was bad ."
    assert fast(END=Tag(Op.KEEP, " great")).edit(["it was bad"])[0].text == "it was bad great"


def test_only_edits_that_are_likely_enough() -> None:
    editor = fast(**BAD, min_score=0.515)
    assert editor.edit(["bad was bad ."])[0].text == "bad was great ."
    with pytest.raises(MaskerError, match="`min_score` is 1; a student's are probabilities"):
        fast(min_score=1.0)


def test_a_second_round_edits_what_the_first_has_made() -> None:
    tags = {"bad": Tag(Op.DELETE, " great"), "great": Tag(Op.KEEP, " and")}
    once, twice = (fast(rounds=n, **tags).edit(["the food was bad ."])[0] for n in (1, 2))
    assert once.text == "the food was great ."
    assert twice.text == "the food was and great ."
    assert apply_edits(twice.source, twice.edits) == twice.text
    assert len(twice.edits) == 1


def test_changes_of_tags() -> None:
    tags = [DELETE, Tag(Op.DELETE, " great"), Tag(Op.KEEP, " and"), KEEP, Tag(Op.KEEP, " great")]
    assert list(_changes(tags, [0.9, 0.8, 0.7, 0.6, 0.5])) == [((0, 2), " great and", 0.7), ((4, 4), " great", 0.5)]
    assert list(_changes([KEEP, KEEP], [1.0, 1.0])) == []


@given(st.lists(st.sampled_from(["bad", "Bad", "food", "was", ",", ".", "the", "(", "nice"]), max_size=12), st.data())
def test_edits_make_the_text_whatever_the_tags(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    chosen = {word: data.draw(st.sampled_from(TAGS.tags)) for word in {w.lower() for w in words}}
    (rewrite,) = fast(
        unit=data.draw(st.sampled_from([Unit(), Unit(longest=3), Unit(sentences=True)])), rounds=2, **chosen
    ).edit([text])
    assert apply_edits(text, rewrite.edits) == rewrite.text
    assert all(a.end < b.start for a, b in zip(rewrite.edits, rewrite.edits[1:], strict=False))


def test_the_tags_that_led_to_a_rewrite() -> None:
    editor = fast(rounds=2, **BAD, END=Tag(Op.KEEP, "!"))
    source = "bad food . It was nice"
    rewrite, account = editor.account(source)
    assert rewrite == editor.edit([source])[0]
    first, second = account.rounds
    assert (first.text, second.text) == (source, "great food . It was nice !")
    assert [(row.word, row.tag, row.added) for row in first.tags[:2]] == [
        ("bad", "delete", "great"),
        ("food", "keep", ""),
    ]
    assert [source[row.start : row.end] for row in first.tags] == [row.word for row in first.tags]
    assert first.tags[0].probability == 0.5
    assert first.tags[-1].to_dict() == {
        "start": 22, "end": 22, "word": "", "tag": "keep", "added": "!", "probability": 0.56,
    }  # fmt: skip
