import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from masker.core.editor import edit_stream
from masker.errors import MaskerError
from masker.students.base import (
    CARD,
    KINDS,
    Student,
    StudentEditor,
    StudentSettings,
    is_student,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("steps", 0), ("batch_size", -1), ("lr", float("inf")), ("patience", 0), ("eval_every", 0),
     ("max_length", 0), ("seed", -1), ("weight_decay", -0.1), ("dropout", 1), ("warmup", -0.1), ("held_out", 1.5)],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(MaskerError, match=f"^`{name}` is {value}"):
        StudentSettings(**{name: value})


class Shouter(Student):
    """Takes note of how many texts it was given at a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        self.asked.append(len(texts))
        return [text.upper() for text in texts]

    create = fit = chunk = _save = _load = None  # type: ignore[assignment]


def test_a_stream_is_rewritten_in_order_and_in_chunks_as_it_comes() -> None:
    student, given = Shouter(), []

    def texts() -> Any:
        for k in range(5):
            given.append(k)
            yield f"text {k}"

    stream = (r.text for r in edit_stream(StudentEditor(student), texts(), chunk=2))
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
    with pytest.raises(MaskerError, match=r"student\.json is no valid JSON"):
        Student.from_pretrained(tmp_path)
