from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.segments import Unit
from masker.search import auto
from masker.search.auto import AutoEditor
from masker.search.editor import SearchEditor
from search.styles import Words, searching, with_style

GOOD, BAD = ["great", "nice", "good"], ["bad", "rude", "terrible"]


def rewrite(source: str, **changes: str) -> Rewrite:
    """`source` with some of its words replaced."""
    edits = tuple(
        Edit(at, at + len(old), old, new, 0.9)
        for old, new in sorted(changes.items(), key=lambda pair: source.index(pair[0]))
        for at in [source.index(old)]
    )
    return Rewrite(source, apply_edits(source, edits), "negative", "positive", edits)


class Fast:
    """Rewrites as they were told."""

    name, chunk, prefetch = "fast", 8, 0

    def __init__(self, *rewrites: Rewrite) -> None:
        self.rewrites = {r.source: r for r in rewrites}

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [self.rewrites[text] for text in texts]


@pytest.fixture(scope="module")
def search() -> SearchEditor:
    task, _, unit = searching(with_style())
    return SearchEditor(task, Words(GOOD, BAD), unit=unit)  # type: ignore[arg-type]


def accepted(search: SearchEditor, rewrites: Sequence[Rewrite]) -> set[int]:
    """The numbers of the rewrites that are accepted, in every part that is to be edited."""
    segments = search.read([r.source for r in rewrites])
    good = [one.segment for one in auto.judged(search, segments, dict(enumerate(rewrites))) if one.is_accepted()]
    doubted = {segment.number for segment in segments if segment.wanted and segment not in good}
    return {segment.number for segment in good} - doubted


@pytest.fixture
def tolerant(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a random model finds likely says nothing."""
    monkeypatch.setattr(auto, "TOLERATED", 1e9)


@pytest.mark.usefixtures("tolerant")
def test_what_convinces_the_classifiers_is_accepted(search: SearchEditor) -> None:
    turned = rewrite("the food was bad .", bad="great nice")
    half = rewrite("the food was bad and rude .", bad="great")
    same = rewrite("the food was bad .")
    already = rewrite("the food was great and nice .", great="good")
    assert accepted(search, [turned, half, same, already]) == {0}
    assert accepted(search, []) == set()


@pytest.mark.usefixtures("tolerant")
def test_too_many_edits_are_not(search: SearchEditor) -> None:
    words = {"bad": "great", "rude": "nice", "terrible": "good"}
    assert accepted(search, [rewrite("bad food and rude staff and terrible .", **words)]) == set()


def test_a_word_that_does_not_fit_at_all(search: SearchEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    turned = rewrite("the food was bad .", bad="great nice")
    monkeypatch.setattr(auto, "TOLERATED", 1e9)
    assert accepted(search, [turned]) == {0}
    monkeypatch.setattr(auto, "TOLERATED", -1e9)
    assert accepted(search, [turned]) == set()


@pytest.mark.usefixtures("tolerant")
def test_every_sentence_of_a_long_text_has_to_be_turned() -> None:
    task, _, _ = searching(with_style())
    search = SearchEditor(task, Words(GOOD, BAD), unit=Unit(longest=6))  # type: ignore[arg-type]
    text = "the food was bad . the staff was rude ."
    both = rewrite(text, bad="great nice", rude="good nice")
    first = rewrite(text, bad="great nice")
    fine = rewrite("the food was bad . the staff was nice and good .", bad="great nice")
    assert accepted(search, [both, first, fine]) == {0, 2}


@pytest.mark.usefixtures("tolerant")
def test_other_texts_are_searched(search: SearchEditor) -> None:
    turned, same = rewrite("the food was bad .", bad="great nice"), rewrite("the staff was rude .")
    editor = AutoEditor(Fast(turned, same), search)
    first, second = editor.begin([turned.source, same.source])()
    assert (first.text, first.method) == (turned.text, "fast")
    (searched,) = search.edit([same.source])
    assert (second.text, second.edits, second.method) == (searched.text, searched.edits, "search")


@pytest.mark.usefixtures("tolerant")
def test_sentences_that_are_not_turned_are_searched() -> None:
    task, _, _ = searching(with_style())
    search = SearchEditor(task, Words(GOOD, BAD), unit=Unit(sentences=True))  # type: ignore[arg-type]
    quick = rewrite("the food was bad . the staff was rude . we ate it .", bad="great nice", ate="good")
    (made,) = AutoEditor(Fast(quick), search).begin([quick.source])()
    assert made.text.startswith("the food was great nice . ")  # as the fast editor has it
    assert made.text.endswith(" we ate it .")  # there was nothing to be turned
    assert [edit for edit in made.edits if 19 <= edit.start <= 38]  # the second sentence
    assert made.method == "search"
    assert made.text == apply_edits(made.source, made.edits)


@pytest.mark.usefixtures("tolerant")
def test_what_is_refused_is_tried_again_in_other_moods(search: SearchEditor) -> None:
    text, other = "the food was bad .", "the staff was rude ."
    first = Fast(rewrite(text), rewrite(other, rude="good nice"))
    second = Fast(rewrite(text, food="staff"))  # is asked only about what is left, and does no better
    third = Fast(rewrite(text, bad="great nice"))
    made = AutoEditor(first, search, again=[second, third]).begin([text, other])()
    assert [(r.text, r.method) for r in made] == [
        ("the food was great nice .", "fast"), ("the staff was good nice .", "fast"),
    ]  # fmt: skip


@pytest.mark.usefixtures("tolerant")
def test_a_critic_makes_up_for_classifiers_that_are_less_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kind:
        def accepts(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
            return np.array([0.9 if "food" in text else 0.1 for text in texts])

    task, _, unit = searching(with_style())
    search = SearchEditor(task, Words(GOOD, BAD), unit=unit)  # type: ignore[arg-type]
    half = [rewrite(f"the {what} was bad and rude .", bad="great nice") for what in ("food", "staff")]
    assert accepted(search, half) == set()
    monkeypatch.setattr(search, "critic", Kind())
    assert accepted(search, half) == {0}


@pytest.mark.parametrize(("least", "method"), [(0.4, "fast"), (0.1, "search")])
def test_what_was_refused_stands_where_nothing_better_is_found(
    monkeypatch: pytest.MonkeyPatch, least: float, method: str
) -> None:
    class Harsh:
        def accepts(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
            return np.array([least if "great nice" in text else 0.2 for text in texts])

    task, _, unit = searching(with_style())
    search = SearchEditor(task, Words(GOOD, BAD), unit=unit)  # type: ignore[arg-type]
    monkeypatch.setattr(search, "critic", Harsh())
    made, _, tried = AutoEditor(Fast(), search).finished([rewrite("the food was bad .", bad="great nice")])
    assert [(r.method, r.text == "the food was great nice .") for r in made] == [(method, method == "fast")]
    assert [one.is_accepted() for one in tried] == [method == "fast"]


def test_it_takes_more_texts_at_a_time_than_are_searched(search: SearchEditor) -> None:
    editor: Any = AutoEditor(Fast(), search)
    assert editor.chunk == auto.CHUNKS * search.chunk
    assert editor.begin([])() == []
