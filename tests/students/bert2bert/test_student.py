"""Bert2Bert: the warm start, beam search, and a student that learns a rewriting."""

from pathlib import Path

import pytest
import torch
from conftest import make_model
from toy import lines

from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.students.base import Pair, Student, StudentSettings
from masker.students.bert2bert.student import Bert2Bert

PAIRS = [Pair(f"{a}", f"but {a[:-1]}!") for a in lines("terrible", "great")]
SETTINGS = StudentSettings(steps=160, batch_size=32, lr=5e-3, dropout=0.0, held_out=0.1, eval_every=80, max_length=30)


@pytest.fixture(scope="module")
def student(base: Path) -> Bert2Bert:
    """Not trained."""
    return Bert2Bert.create(base, [], settings=SETTINGS)


def test_both_halves_start_from_the_masked_lm_and_its_head(student: Bert2Bert, base: Path) -> None:
    mlm = PaddedMLM.from_pretrained(base).mlm
    encoder, decoder = student.model.encoder.state_dict(), student.model.decoder.state_dict()
    assert all(torch.equal(encoder[name], weights) for name, weights in mlm.base_model.state_dict().items())
    assert all(torch.equal(decoder[name], weights) for name, weights in mlm.state_dict().items())
    new = set(decoder) - set(mlm.state_dict())
    assert new
    assert all("crossattention" in name for name in new)
    assert student.model.config.decoder.is_decoder
    assert not student.model.config.encoder.is_decoder


def test_the_decoder_does_not_see_ahead(student: Bert2Bert) -> None:
    a, b = torch.tensor([[1, 20, 30, 40]]), torch.tensor([[1, 20, 30, 50]])
    first, second = (student.model(input_ids=a, decoder_input_ids=ids).logits for ids in (a, b))
    assert torch.allclose(first[:, :3], second[:, :3], atol=1e-5)
    assert not torch.allclose(first[:, 3], second[:, 3], atol=1e-5)


def test_learns_a_rewriting_and_is_saved_whole(tmp_path: Path, base: Path) -> None:
    student = Bert2Bert.create(base, PAIRS, settings=SETTINGS)
    made = student.fit(PAIRS, settings=SETTINGS)
    assert made["scores"]["exact"] > 70
    assert made["used"] == made["pairs"]
    assert student.card["made"] == [made]
    sources = [pair.source for pair in PAIRS]
    before = student.edit(sources)
    assert sum(text == pair.target for text, pair in zip(before, PAIRS, strict=True)) > 0.8 * len(PAIRS)
    assert [student.edit([source])[0] for source in sources[:5]] == before[:5]  # whatever shares its batch
    assert student.edit(["The food was great."]) == ["But the food was great!"]
    assert student.edit(["", " "]) == ["", " "]
    for _ in range(2):  # the second time over the first
        student.save_pretrained(tmp_path / "student")
    again = Student.from_pretrained(tmp_path / "student", device="cpu")
    assert isinstance(again, Bert2Bert)
    assert again.beams == 4
    assert again.edit(sources) == before
    more = again.fit(PAIRS[:40], settings=StudentSettings(steps=3, batch_size=8), dev=[])  # fine-tuning goes on
    assert more["steps"] == 3
    assert len(again.card["made"]) == 2


def test_wider_beams_find_what_is_likelier(student: Bert2Bert) -> None:
    v = student.vocabulary
    sources = [v.read(pair.source).pieces for pair in PAIRS[:6]]

    def log_p(beams: int) -> float:
        total = 0.0
        for source in sources:
            (written,) = student._written([source], beams)
            ids, given = torch.tensor([[*v.start, *source, *v.end]]), torch.tensor([[*v.start, *written]])
            logits = student.model(input_ids=ids, decoder_input_ids=given).logits[0].log_softmax(-1)
            total += float(logits[:-1].gather(1, given[0, 1:, None]).mean())
        return total

    with torch.inference_mode():
        assert log_p(4) > log_p(1)


def test_what_is_written_does_not_depend_on_what_shares_its_batch(student: Bert2Bert) -> None:
    v = student.vocabulary
    short = [v.read(pair.source).pieces for pair in PAIRS[:8]]
    together = student._written([*short, v.read("the food was nice . " * 5).pieces], 1)
    for source, written in zip(short, together, strict=False):
        (alone,) = student._written([source], 1)
        assert alone
        assert written[: len(alone)] == alone


def test_a_long_text_is_rewritten_at_its_beginning(student: Bert2Bert) -> None:
    long = "the food was nice . " * 40
    (edited,) = student.edit([long])
    assert edited.endswith(long[-200:])


def test_pairs_that_are_too_long(student: Bert2Bert) -> None:
    with pytest.raises(MaskerError, match="all 1 pairs are longer than 30 pieces"):
        student.fit([Pair("it " * 31, "it")], settings=SETTINGS, dev=[])


def test_other_architectures_and_wrong_options_are_refused(tmp_path: Path, base: Path) -> None:
    make_model("distilbert").save_pretrained(tmp_path)
    with pytest.raises(MaskerError, match="starts from a BERT, not from distilbert"):
        Bert2Bert.create(tmp_path, [], settings=SETTINGS)
    with pytest.raises(MaskerError, match="unknown option of a bert2bert 'phrases'; known: beams"):
        Bert2Bert.create(base, [], settings=SETTINGS, phrases=3)
    with pytest.raises(MaskerError, match="`beams` is 0"):
        Bert2Bert.create(base, [], settings=SETTINGS, beams=0)
