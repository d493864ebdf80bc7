"""Writers: their drafts compete with the others, and touch nothing that is to stay."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from masker.api import Masker
from masker.core.edits import Rewrite
from masker.core.protection import patterns
from masker.core.segments import Unit
from masker.core.task import Task
from masker.errors import MaskerError
from masker.search.auto import AutoEditor
from masker.search.editor import SearchEditor
from masker.search.writing import Drafts, draft_editors
from masker.students.lm.student import Beam
from search.styles import Critic, Idle, Words, searching, with_style

TEXT = "the food was bad ."


class Writer:
    """Writes what it was told to."""

    def __init__(self, **drafts: Sequence[str]) -> None:
        self.drafts = {f"the {what} was bad .": texts for what, texts in drafts.items()}
        self.asked = list[str]()

    def write(self, texts: Sequence[str], to: str | None = None, *, beams: int | None = None) -> list[list[Beam]]:
        self.asked += texts
        return [[Beam(text, -1.0) for text in self.drafts.get(source, ())] for source in texts]


@pytest.fixture(scope="module")
def parts() -> tuple[Task, Unit]:
    task, _, unit = searching(with_style())
    return task, unit


def edited(parts: tuple[Task, Unit], critic: Critic, *writers: Writer) -> Rewrite:
    task, unit = parts
    search = SearchEditor(task, Words(["great", "nice", "good"], ["bad"]), unit=unit, critic=critic)  # type: ignore[arg-type]
    ranks = [draft_editors(writer, task, unit) for writer in writers]
    (made,) = AutoEditor(Idle(), search, writers=ranks).begin([TEXT])()
    return made


def test_the_critic_chooses_among_all_drafts(parts: tuple[Task, Unit]) -> None:
    writer = Writer(food=["The food was good.", "The food was great.", "The food was nice."])
    made = edited(parts, Critic(great=0.9, good=0.7, nice=0.4), writer)
    assert (made.text, made.method) == ("the food was great .", "writer")
    assert edited(parts, Critic(nice=0.9), writer).text == "the food was nice ."
    assert edited(parts, Critic(), writer).method in ("search", "writer")


def test_what_two_have_written_is_preferred(parts: tuple[Task, Unit]) -> None:
    one, two = Writer(food=["The food was good.", "The food was great."]), Writer(food=["The food was good."])
    critic = Critic(great=0.9, good=0.85)
    assert edited(parts, critic, one).text == "the food was great ."
    assert edited(parts, critic, one, two).text == "the food was good ."
    assert edited(parts, Critic(great=0.9, good=0.4), one, two).text == "the food was great ."


def test_what_is_protected_or_forbidden_is_not_written(parts: tuple[Task, Unit]) -> None:
    task, unit = parts
    writer = Writer(food=["The food was great.", "The staff was very good.", "The food was good."])
    both = replace(task, protect=patterns(re.compile("food"), (), standard=True), forbid=frozenset(["great"]))
    (drafts,) = Drafts(writer, both, unit).of([TEXT]).values()
    assert [[edit.new for edit in edits] for edits in drafts] == [["good"]]
    two = replace(task, forbid=frozenset(["very good"]))
    (drafts,) = Drafts(writer, two, unit).of([TEXT]).values()
    assert len(drafts) == 2


def test_texts_are_written_sentence_by_sentence_and_once(parts: tuple[Task, Unit]) -> None:
    task, _ = parts
    writer = Writer(food=["The food was great."], staff=["The staff was nice."])
    first, second, *_ = draft_editors(writer, task, Unit(sentences=True))
    text = "the food was bad . the staff was bad ."
    (made,) = first.begin([text])()
    assert made.text == "the food was great . the staff was nice ."
    assert second.begin([text])()[0].text == text
    assert sorted(writer.asked) == ["the food was bad .", "the staff was bad ."]
    assert first.begin([""])()[0].text == ""


def test_a_writer_is_a_causal_lm_and_needs_a_critic(tmp_path: Path) -> None:
    masker = Masker.from_pretrained()
    folder = masker.model.folder
    assert folder
    with pytest.raises(MaskerError, match="is a lasertagger; a writer is a causal LM"):
        masker.edit("The soup was bland.", "positive", writer=[folder / "student"])
    with pytest.raises(MaskerError, match="holds no student"):
        masker.writer(tmp_path)
    with pytest.raises(MaskerError, match="`writer` belongs to the method auto"):
        masker.edit("The soup was bland.", "positive", writer=folder, method="search")
