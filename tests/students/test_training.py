"""What all kinds share, shown on one of a few lines: it learns whether to put a mark of exclamation behind a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from toy import lines, narrow

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students import base as students
from masker.students.base import Pair, Student, StudentSettings
from masker.students.network import Encoder, table
from masker.students.training import Lesson, TorchStudent, score, split_pairs
from masker.training.progress import Progress

PAIRS = [Pair(text, text) for text in lines("rude")] + [Pair(text, f"{text} !") for text in lines("great")]
SETTINGS = StudentSettings(steps=60, batch_size=16, lr=5e-3, dropout=0.0, held_out=0.1, eval_every=20, device="cpu")


class Network(nn.Module):
    def __init__(self, mlm: Any) -> None:
        super().__init__()
        self.encoder, self.config = Encoder(mlm), mlm.config
        self.head = nn.Linear(self.encoder.width, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.encoder(ids, (ids > 0).long())[:, 0])


@dataclass(frozen=True)
class Marked:
    ids: Tensor
    labels: Tensor
    lengths: list[int]

    def loss(self, model: Network, rows: Tensor, longest: int) -> Tensor:
        return cross_entropy(model(self.ids[rows, :longest]), self.labels[rows])


class Marker(TorchStudent):
    kind = "marker"

    def __init__(self, model: Any, vocabulary: Vocabulary, *, mark: str, device: str | None) -> None:
        super().__init__(model, vocabulary, device)
        self.mark = mark

    @classmethod
    def _create(cls, base: Any, pairs: Sequence[Pair], settings: StudentSettings, *, mark: str = "!") -> "Marker":
        return cls._start(base, settings, {"mark": mark}, {"of": len(pairs)})

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> Network:
        return Network(mlm)

    def _fields(self) -> dict[str, Any]:
        return {"mark": self.mark}

    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        return Lesson(self._examples(train), self._examples(held), {"marked": sum(p.source != p.target for p in train)})

    def _examples(self, pairs: Sequence[Pair]) -> Marked:
        rows = [self._row(pair.source) for pair in pairs]
        labels = torch.tensor([int(pair.source != pair.target) for pair in pairs])
        return Marked(table(rows, self.vocabulary.pad, self.device), labels, [len(row) for row in rows])

    def _row(self, text: str) -> list[int]:
        return [*self.vocabulary.start, *self.vocabulary.read(text).pieces, *self.vocabulary.end]

    @torch.inference_mode()
    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        marks = self.model(table([self._row(text) for text in texts], self.vocabulary.pad, self.device)).argmax(1)
        return [f"{text} {self.mark}" if mark else text for text, mark in zip(texts, marks.tolist(), strict=True)]


def test_a_new_kind_is_made_taught_saved_and_loaded(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    student, reports = Marker.create(base, PAIRS, settings=SETTINGS), list[Progress]()
    assert student.card["base"] == str(base)
    assert (student.card["of"], student.card["made"]) == (80, [])
    assert student.card["parameters"] == sum(p.numel() for p in student.model.parameters())
    made = student.fit(PAIRS, settings=SETTINGS, report=reports.append)
    assert student.card["made"] == [made]
    assert made["scores"]["exact"] == 100
    assert (made["pairs"], made["used"], made["held_out"]) == (60, 60, 20)
    assert (made["batch_size"], made["lr"], made["seed"], made["device"]) == (16, 5e-3, 0, "cpu")
    assert [p.step for p in reports] == [10, 20, 30, 40, 50, 60]
    texts = [pair.source for pair in PAIRS]
    assert student.edit(texts) == [pair.target for pair in PAIRS]
    student.save_pretrained(tmp_path / "student")
    monkeypatch.setitem(students._CLASSES, "marker", f"{__name__}:Marker")
    loaded = Student.from_pretrained(tmp_path / "student", device="cpu")
    assert isinstance(loaded, Marker)
    assert (loaded.mark, loaded.card) == ("!", student.card)
    assert loaded.edit(texts) == student.edit(texts)
    loaded.fit(PAIRS, settings=StudentSettings(steps=1, device="cpu"), dev=PAIRS[:5])  # goes on
    assert [made["steps"] for made in loaded.card["made"]] == [60, 1]


def test_a_stream_is_cut_to_suit_the_device(base: Path) -> None:
    assert Marker.create(base, [], settings=SETTINGS).chunk == 256


def test_options_are_those_of_the_kind(base: Path) -> None:
    assert Marker.create(base, [], settings=SETTINGS, mark="?").mark == "?"
    with pytest.raises(MaskerError, match="unknown option of a marker 'beams'; known: mark"):
        Marker.create(base, [], settings=SETTINGS, beams=3)
    with pytest.raises(MaskerError, match="did you mean 'mark'"):
        Marker.create(base, [], settings=SETTINGS, marks="?")


@pytest.mark.parametrize("pairs", [0, 1, 63, 64, 65, 130])
def test_the_held_out_loss_is_the_mean_over_all_examples(base: Path, pairs: int) -> None:
    student = Marker.create(base, [], settings=SETTINGS)
    many = (PAIRS * 2)[:pairs]
    if not many:
        assert student._measure(PAIRS[:1], student._examples([])).loss == 0
        return
    examples = student._examples(many)
    with torch.inference_mode():
        whole = float(examples.loss(student.model, torch.arange(pairs), max(examples.lengths)))
    assert student._measure(many, examples).loss == pytest.approx(whole, abs=1e-5)


def test_no_held_out_source_is_trained_on() -> None:
    pairs = [Pair(f"text {k % 300}", f"target {k}") for k in range(600)]
    train, held = split_pairs(pairs, None, StudentSettings(held_out=0.1))
    assert len({pair.source for pair in held}) == 30
    assert len(train) == 540
    assert not {pair.source for pair in train} & {pair.source for pair in held}
    assert split_pairs(pairs, pairs[:3], StudentSettings()) == (pairs, pairs[:3])
    assert split_pairs(pairs, None, StudentSettings(held_out=0)) == (pairs, [])
    with pytest.raises(MaskerError, match="0 pairs are too few"):
        split_pairs([], None, StudentSettings())


def test_exact_looks_neither_at_case_nor_at_white_space() -> None:
    pairs = [Pair("a b", "A  b"), Pair("a b", "b"), Pair("c", "d")]
    found = score(lambda texts, to: ["a b", "a b", "d"], pairs, 0.5)
    assert (round(found.value, 1), round(found.details["keep_only"], 1), found.loss) == (66.7, 66.7, 0.5)


# -- out of memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", students.KINDS)
def test_every_kind_edits_in_parts_what_does_not_fit_into_memory(
    kind: str, base: Path, causal: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line for every time that it had to be halved, and the same texts."""
    texts = [text for text in lines("rude") if len(text.split()) == 5][:5]  # a longer one may be given more pieces
    options = {"beams": 2} if kind in ("lm", "bert2bert") else {}
    student = students.student_class(kind).create(causal if kind == "lm" else base, PAIRS, settings=SETTINGS, **options)
    assert isinstance(student, TorchStudent)
    expected = student.edit(texts)
    for part in student.model.modules():
        if hasattr(part, "get_input_embeddings"):
            narrow(part, 4)  # a text of two beams is two rows
    assert student.edit(texts) == expected
    assert [record.getMessage().split("; ")[1] for record in caplog.records] == ["going on with 2"]


def test_so_is_the_loss_of_held_out_pairs(base: Path) -> None:
    student = Marker.create(base, PAIRS, settings=SETTINGS)
    held = student._lesson(PAIRS, PAIRS[:8], SETTINGS).held_out
    expected = student._measure(PAIRS[:3], held).loss
    narrow(student.model, 3)
    assert student._measure(PAIRS[:3], held).loss == pytest.approx(expected, rel=1e-4)
