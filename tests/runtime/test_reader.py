import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from masker.errors import MaskerError
from masker.model.causal import load_causal
from masker.model.reader import prefix
from masker.runtime.export_reader import export_reader
from masker.runtime.reader import OnnxReader, TorchReader, load_reader

TEXTS = [
    "the food was great .",
    "it was terrible !",
    "marie was good here .",
    "the food was great .",
    "she",
    "Paris was so-so.",
]


@pytest.fixture(scope="module")
def reader(reader_folder: Path) -> TorchReader:
    found = load_reader(reader_folder, "cpu")
    assert isinstance(found, TorchReader)
    return found


def test_likelihoods_are_those_of_a_plain_loop(reader: TorchReader, reader_folder: Path) -> None:
    model, v = load_causal(reader_folder)
    text = "The food was great."
    before, body = prefix(v, "positive"), [*v.pieces(f" {text}"), v.end]
    with torch.inference_mode():
        log_p = model(torch.tensor([[*before, *body]])).logits[0].log_softmax(-1)
    by_hand = sum(float(log_p[len(before) + k - 1, piece]) for k, piece in enumerate(body))
    assert reader.log_p(["the food was great ."], ["positive"])[0, 0] == pytest.approx(by_hand, abs=1e-4)
    assert reader.log_p([text], ["positive"])[0, 0] == pytest.approx(by_hand, abs=1e-4)  # it is shown the same


def test_what_shares_a_batch_does_not_matter(reader: TorchReader) -> None:
    together = reader.log_p(TEXTS, ["positive", "negative"])
    assert together.shape == (len(TEXTS), 2)
    for text, found in zip(TEXTS, together, strict=True):
        assert np.allclose(reader.log_p([text], ["positive", "negative"])[0], found, atol=1e-4)
    assert reader.log_p([], ["positive"]).shape == (0, 1)


def test_rewrites_are_compared_by_the_word(reader: TorchReader) -> None:
    log_p = reader.log_p(["the food was great ."], ["positive", "negative"])[0]
    likelihood, odds = reader.compare(["the food was terrible and rude ."], ["the food was great ."], "positive")
    assert likelihood[0] == pytest.approx(log_p[0] / 5 * 7)
    assert odds[0] == pytest.approx(log_p[0] - log_p[1])
    with pytest.raises(MaskerError, match="domain of the reader 'french'"):
        reader.compare(["a"], ["b"], "french")


def test_exported_it_reads_the_same_and_nearly_so_in_int8(
    tmp_path: Path, reader_folder: Path, reader: TorchReader
) -> None:
    folder = shutil.copytree(reader_folder, tmp_path / "reader")
    export_reader(folder)
    expected = reader.log_p(TEXTS, ["positive", "negative"])
    int8, exact = load_reader(folder, "cpu"), load_reader(folder, "cpu", exact=True)
    assert isinstance(int8, OnnxReader)
    assert np.allclose(exact.log_p(TEXTS, ["positive", "negative"]), expected, atol=1e-3)
    found = int8.log_p(TEXTS, ["positive", "negative"])
    assert not np.allclose(found, expected, atol=1e-3)
    assert np.abs(found - expected).max() < 1.5
