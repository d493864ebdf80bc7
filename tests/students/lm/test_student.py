"""A causal LM as a student: what it learns, what it writes, and how that becomes edits."""

from pathlib import Path

import pytest
import torch
from toy import lines

from masker.core.edits import apply_edits
from masker.errors import MaskerError
from masker.runtime.reader import load_reader
from masker.students.base import Pair, Student, StudentEditor, StudentSettings
from masker.students.lm.student import Beam, LMStudent

PAIRS = [
    pair
    for a, b in zip(lines("terrible"), lines("great"), strict=True)
    for pair in (Pair(a, b, "positive"), Pair(b, a, "negative"))
]
SETTINGS = StudentSettings(
    steps=300, batch_size=20, lr=5e-3, dropout=0.0, held_out=0.1, eval_every=300, max_length=40, device="cpu"
)


@pytest.fixture(scope="module")
def student(causal: Path) -> LMStudent:
    found = LMStudent.create(causal, PAIRS, settings=SETTINGS)
    found.fit(PAIRS, settings=SETTINGS)
    return found


def test_it_learns_to_write_either_domain(student: LMStudent) -> None:
    (made,) = student.card["made"]
    assert made["scores"]["exact"] > 80
    assert student.edit(["the food was terrible .", "she was terrible here ."], "positive") == [
        "the food was great .",
        "she was great here .",
    ]
    assert student.edit(["paris was great !"], "negative") == ["paris was terrible !"]


def test_its_rewrites_are_edits_of_the_text_as_it_came_in(student: LMStudent) -> None:
    editor = StudentEditor(student, "positive", "negative")
    texts = ["the  food was terrible .", "The food was terrible.", "", "it " * 60]
    rewrites = editor.begin(texts)()
    assert [r.text for r in rewrites[:2]] == ["the  food was great .", "The food was great."]
    for rewrite, text in zip(rewrites, texts, strict=True):
        assert rewrite.source == text
        assert apply_edits(text, rewrite.edits) == rewrite.text
        assert (rewrite.to, rewrite.from_) == ("positive", "negative")
        assert all(0 < edit.score <= 1 for edit in rewrite.edits)
    (edit,) = rewrites[1].edits
    assert (edit.old, edit.new) == ("terrible", "great")
    assert [r.reason for r in rewrites[2:]] == ["no words", "too long for the student"]


def test_beams_are_written_as_people_write_the_likeliest_first(student: LMStudent) -> None:
    (beams, nothing) = student.write(["the food was terrible .", " "], "positive")
    assert beams[0].written == "The food was great."
    assert nothing == []
    assert len({beam.written for beam in beams}) == len(beams) > 1
    assert [beam.log_p for beam in beams] == sorted((beam.log_p for beam in beams), reverse=True)
    ((greedy,),) = student.write(["the food was terrible ."], "positive", beams=1)
    assert greedy.written == beams[0].written
    assert greedy.log_p == pytest.approx(beams[0].log_p, abs=1e-3)


def test_only_targets_are_learnt(student: LMStudent) -> None:
    examples = student._examples(PAIRS[:4])
    rows = torch.arange(4)
    with torch.inference_mode():
        loss = examples.loss(student.model, rows, max(examples.lengths))
        examples.ids[:, 1] = student.vocabulary.pieces("x")[0]  # another source
        other = examples.loss(student.model, rows, max(examples.lengths))
    assert loss < 0.5
    assert other != loss
    ends = [row[:length][-1] for row, length in zip(examples.ids.tolist(), examples.lengths, strict=True)]
    assert ends == [student.vocabulary.end] * 4


def test_a_reader_chooses_among_the_beams(student: LMStudent, reader_folder: Path) -> None:
    reader = load_reader(reader_folder, "cpu")
    source = "the food was terrible ."
    beams = [Beam("The food was rude.", -0.01), Beam("The food was great.", -0.05), Beam("Zzz qq.", -0.06)]
    assert student._chosen([source], [beams], "positive") == beams[:1]
    student.use_reader(reader)
    try:
        assert student._chosen([source, ""], [beams, []], "positive") == [beams[1], None]
    finally:
        student.reader = None


def test_it_is_saved_whole(tmp_path: Path, student: LMStudent) -> None:
    sources = [pair.source for pair in PAIRS if pair.to == "positive"][:6]
    student.save_pretrained(tmp_path / "student")
    again = Student.from_pretrained(tmp_path / "student", device="cpu")
    assert isinstance(again, LMStudent)
    assert (again.beams, again.targets, again.max_length) == (5, ("negative", "positive"), 40)
    assert again.edit(sources, "positive") == student.edit(sources, "positive")


def test_what_it_cannot_do_is_said(tmp_path: Path, causal: Path, student: LMStudent) -> None:
    with pytest.raises(MaskerError, match="a causal LM has to be named"):
        LMStudent.create(None, PAIRS)
    with pytest.raises(MaskerError, match="the student writes negative and positive; choose one"):
        student.edit(["so"])
    with pytest.raises(MaskerError, match="domain of the student 'french'"):
        student.edit(["so"], "french")
    with pytest.raises(MaskerError, match="all 1 pairs are longer than 40 pieces"):
        student.fit([Pair("it " * 99, "it")], settings=SETTINGS, dev=[])
