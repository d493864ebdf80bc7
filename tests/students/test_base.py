import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.students import training as _train
from masker.students.base import (
    CARD,
    KINDS,
    Pair,
    Student,
    StudentSettings,
    is_student,
    rewrite_stream,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("steps", 0), ("batch_size", -1), ("lr", float("inf")), ("patience", 0), ("eval_every", 0),
     ("max_length", 0), ("seed", -1), ("weight_decay", -0.1), ("dropout", 1), ("warmup", -0.1), ("held_out", 1.5)],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(MaskerError, match=f"^{name} is {value}"):
        StudentSettings(**{name: value})


class Shouter(Student):
    """Takes note of how many texts it was given at a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def edit(self, texts: Sequence[str]) -> list[str]:
        self.asked.append(len(texts))
        return [text.upper() for text in texts]

    create = fit = _save = _load = None  # type: ignore[assignment]


def test_a_stream_is_rewritten_in_order_and_in_chunks_as_it_comes() -> None:
    student, given = Shouter(), []

    def texts() -> Any:
        for k in range(5):
            given.append(k)
            yield f"text {k}"

    stream = (r.text for r in rewrite_stream(student, texts(), chunk=2))
    assert next(stream) == "TEXT 0"
    assert given == [0, 1]
    assert list(stream) == ["TEXT 1", "TEXT 2", "TEXT 3", "TEXT 4"]
    assert student.asked == [2, 2, 1]


def test_a_folder_without_a_student_is_refused(model_folder: Path, tmp_path: Path) -> None:
    assert not is_student(model_folder)
    with pytest.raises(MaskerError, match=r"holds no student .* masker distill"):
        Student.from_pretrained(model_folder)
    (tmp_path / CARD).write_text(json.dumps({"format": 1, "kind": "oracle", "card": {}}))
    assert is_student(tmp_path)
    with pytest.raises(MaskerError, match=f"unknown student 'oracle'; known: {', '.join(KINDS)}"):
        Student.from_pretrained(tmp_path)
    (tmp_path / CARD).write_text(json.dumps({"format": 2, "kind": "lasertagger", "card": {}}))
    with pytest.raises(MaskerError, match="has format 2, this version reads 1"):
        Student.from_pretrained(tmp_path)
    (tmp_path / CARD).write_text("{")
    with pytest.raises(MaskerError, match="cannot load the student"):
        Student.from_pretrained(tmp_path)


def test_the_encoder_sees_what_the_model_sees(family: str, maskers: Any) -> None:
    model: PaddedMLM = maskers(family).model
    ids = torch.tensor([[*model.vocabulary.start, 9, 10, *model.vocabulary.end, model.vocabulary.pad]])
    attention = torch.ones_like(ids)
    attention[0, -1] = 0
    hidden = _train.Encoder(model.mlm)(ids, attention)
    assert torch.allclose(hidden, model.encode(ids, attention), atol=1e-6)


def test_no_held_out_source_is_trained_on() -> None:
    pairs = [Pair(f"text {k % 300}", f"target {k}") for k in range(600)]
    train, held = _train.split_pairs(pairs, None, StudentSettings(held_out=0.1))
    assert len({pair.source for pair in held}) == 30
    assert len(train) == 540
    assert not {pair.source for pair in train} & {pair.source for pair in held}
    assert _train.split_pairs(pairs, pairs[:3], StudentSettings()) == (pairs, pairs[:3])
    assert _train.split_pairs(pairs, None, StudentSettings(held_out=0)) == (pairs, [])
    with pytest.raises(MaskerError, match="0 pairs are too few"):
        _train.split_pairs([], None, StudentSettings())


def test_exact_looks_neither_at_case_nor_at_white_space() -> None:
    pairs = [Pair("a b", "A  b"), Pair("a b", "b"), Pair("c", "d")]
    score = _train.score(lambda texts: ["a b", "a b", "d"], pairs, 0.5)
    assert (round(score.value, 1), round(score.details["keep_only"], 1), score.loss) == (66.7, 66.7, 0.5)


def test_padded_rows() -> None:
    table = _train.padded([[1, 2], [], [3, 4, 5]], -1, torch.device("cpu"))
    assert table.tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]
