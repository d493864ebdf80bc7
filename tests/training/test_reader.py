from pathlib import Path

import numpy as np
import pytest
import torch
from toy import CORPORA, READER

from masker.errors import MaskerError
from masker.model.causal import load_causal
from masker.model.reader import ReaderCard
from masker.runtime.reader import load_reader
from masker.training.reader import ReaderSettings, encode, fit_reader, save_reader

TEXTS = ["the food was great .", "marie was rude !"]


def test_it_tells_the_domains_apart_and_says_how_it_was_made(reader_folder: Path) -> None:
    made = ReaderCard.read(reader_folder).made
    assert made["scores"]["told_apart"] == 100
    assert made["steps"] == 60
    assert made["settings"]["lr"] == READER.lr
    reader = load_reader(reader_folder, "cpu")
    for name, texts in CORPORA.items():
        other = next(domain for domain in CORPORA if domain != name)
        own, wrong = reader.log_p(texts, [name, other]).T
        assert (own > wrong + 0.3).all()


def test_only_the_text_is_learnt_and_its_beginning_if_it_is_long(causal: Path) -> None:
    _, vocabulary = load_causal(causal)
    card = ReaderCard(("negative", "positive"), 6)
    rows = encode(vocabulary, card, [["the food was rude ."], ["the food was great . " * 9]], torch.device("cpu"))
    before = [len(vocabulary.pieces(f"{name}:")) + 1 for name in card.domains]
    assert rows.first.tolist() == before
    assert rows.lengths[1] == before[1] + 6 + 1
    assert rows.ids[1, rows.lengths[1] - 1] == vocabulary.end


def test_packed_it_reads_almost_the_same(tmp_path: Path, reader_folder: Path) -> None:
    model, vocabulary = load_causal(reader_folder)
    save_reader(model, vocabulary, ReaderCard.read(reader_folder), tmp_path, packed=True)
    assert not (tmp_path / "model.safetensors").exists()
    before, after = (load_reader(folder, "cpu").log_p(TEXTS, ["positive"]) for folder in (reader_folder, tmp_path))
    assert np.allclose(before, after, atol=0.05)
    assert not (before == after).all()


def test_one_domain_is_too_few(tmp_path: Path, causal: Path) -> None:
    with pytest.raises(MaskerError, match="a reader compares domains, and there is 1"):
        fit_reader({"positive": CORPORA["positive"]}, causal, tmp_path / "reader")
    with pytest.raises(MaskerError, match="`window` is 0 but must be above 0"):
        ReaderSettings(window=0)
