"""FelixInsert: tags and masked inputs, exact round trips with an oracle, and a student that learns a rewriting."""

from pathlib import Path

import pytest
import torch
from conftest import make_model
from toy import lines

from masker.core.spans import Span
from masker.errors import MaskerError
from masker.students.base import Pair, Student, StudentSettings
from masker.students.felix.network import DELETE, blanks_of, tags_of
from masker.students.felix.student import FelixInsert

from ..test_holes import GOLDEN

PAIRS = [Pair(f"{a} it was n't .", f"but {a[:-2]} .") for a in lines("terrible", "rude", "great", "good")]
SETTINGS = StudentSettings(steps=120, batch_size=32, lr=5e-3, dropout=0.0, held_out=0.1, eval_every=40, max_length=30)


@pytest.fixture(scope="module")
def student(model_folder: Path) -> FelixInsert:
    """Not trained."""
    return FelixInsert.create(model_folder, [], settings=SETTINGS)


def test_tags_and_masked_input(student: FelixInsert) -> None:
    pair = Pair("she was born . she died .", "so she was born and really died .")
    text, holes = student.holes(pair)
    assert tags_of(text, holes) == [2, 1, 1, 3, DELETE, DELETE, 1, 1]
    blanks = [(hole.span, len(hole.pieces)) for hole in holes]
    assert blanks_of(tags_of(text, holes)) == blanks == [(Span(0, 0), 1), (Span(3, 5), 2)]
    row, slots = student.model.blank_row(text, blanks)
    shown = " ".join(student.vocabulary.tokens(row))
    assert shown == "[CLS] [MASK] she was born [REPL] . she [/REPL] [MASK] [MASK] died . [SEP]"
    assert [row[k] for k in slots] == [student.vocabulary.mask] * 3


def test_the_start_of_a_text_cannot_be_deleted_and_what_deleted_words_ask_for_is_void() -> None:
    assert blanks_of([DELETE, 1, DELETE]) == [(Span(1, 2), 0)]
    assert blanks_of([1, 1, 1]) == []
    assert blanks_of([3, DELETE, DELETE]) == [(Span(0, 2), 2)]


@pytest.mark.parametrize(("source", "target"), GOLDEN)
def test_an_oracle_rewrites_every_pair_exactly(
    student: FelixInsert, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    text, holes = student.holes(Pair(source, target))
    monkeypatch.setattr(student, "_tagged", lambda texts: [tags_of(text, holes)])
    pieces = [piece for hole in holes for piece in hole.pieces]

    def fill_logits(ids: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.tensor([pieces]), len(student.vocabulary)).float()

    monkeypatch.setattr(student.model, "fill_logits", fill_logits)
    assert student.edit([source]) == [target]


def test_pairs_beyond_the_limits_are_left_out(student: FelixInsert) -> None:
    long = "very " * 9 + "nice ."
    assert student.holes(Pair("it .", f"it {long}")) is None  # ten pieces in one place
    assert student.holes(Pair("it " * 31, "it")) is None
    assert student.holes(Pair("", "it")) is None
    with pytest.raises(MaskerError, match="none of 1 pairs is within 30 pieces and 8 insertions"):
        student.fit([Pair("it .", f"it {long}")], settings=SETTINGS, dev=[])


def test_only_what_can_be_written_is_inserted(student: FelixInsert) -> None:
    text = student.vocabulary.read("the food .")
    v, wanted = student.vocabulary, student.vocabulary.tokenizer.convert_tokens_to_ids(["##s", "[MASK]", "nice"])
    bias = student._bias()
    assert [bool(torch.isfinite(bias[0, i])) for i in (*wanted, v.pad, *student.model.markers)] == [
        True, False, True, False, False, False,
    ]  # fmt: skip
    assert not torch.isfinite(bias[1, wanted[0]])
    (holes,) = student._filled([(text, [(Span(1, 1), 3), (Span(2, 3), 0)])])
    assert [len(hole.pieces) for hole in holes] == [3, 0]
    assert not v.continuation[holes[0].pieces[0]]
    assert v.infillable[list(holes[0].pieces)].all()


def test_odd_texts(student: FelixInsert) -> None:
    assert student.edit([]) == []
    assert student.edit(["", "  "]) == ["", "  "]
    long = "the food was nice . " * 40
    (edited,) = student.edit([long])
    assert edited.endswith(long[-200:])  # what is beyond the limit stays as it is
    assert "[REPL]" in student.vocabulary.read("a [REPL] b").source
    assert not set(student.vocabulary.read("a [REPL] b").pieces) & set(student.model.markers)


@pytest.mark.parametrize("family", ["distilbert", "roberta"])
def test_other_families_train(tmp_path: Path, family: str) -> None:
    make_model(family).save_pretrained(tmp_path)
    student = FelixInsert.create(tmp_path, PAIRS, settings=SETTINGS)
    made = student.fit(PAIRS[:20], settings=StudentSettings(steps=2, max_length=60, batch_size=4), dev=PAIRS[:2])
    assert made["steps"] == 2
    assert len(student.edit(["the food was nice ."])) == 1


def test_learns_a_rewriting_and_is_saved_whole(tmp_path: Path, base: Path) -> None:
    student = FelixInsert.create(base, PAIRS, settings=SETTINGS)
    steps: list[int] = []
    made = student.fit(PAIRS, settings=SETTINGS, report=lambda progress: steps.append(progress.step))
    assert made["scores"]["exact"] > 90
    assert made["coverage"] == 100
    assert steps[-1] == made["steps"]
    assert student.card["made"] == [made]
    assert student.edit(["The Paris food was rude . it was n't ."]) == ["But the Paris food was rude ."]
    sources = [pair.source for pair in PAIRS]
    before = student.edit(sources)
    for _ in range(2):  # the second time over the first
        student.save_pretrained(tmp_path / "student")
    again = Student.from_pretrained(tmp_path / "student", device="cpu")
    assert isinstance(again, FelixInsert)
    assert again.edit(sources) == before
    assert again.card == student.card
    more = again.fit(PAIRS[:40], settings=StudentSettings(steps=3, batch_size=8), dev=[])  # fine-tuning goes on
    assert more["steps"] == 3
    assert len(again.card["made"]) == 2


def test_wrong_options(model_folder: Path) -> None:
    with pytest.raises(MaskerError, match="unknown option of a felix 'phrases'; known: max_inserted"):
        FelixInsert.create(model_folder, [], settings=SETTINGS, phrases=3)
    with pytest.raises(MaskerError, match="`max_inserted` is 0"):
        FelixInsert.create(model_folder, [], settings=SETTINGS, max_inserted=0)
