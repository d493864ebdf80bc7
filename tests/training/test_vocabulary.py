import logging
from pathlib import Path

import pytest
import torch
from conftest import BERT, make_model, wordpiece
from toy import make_base

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.training.fit import fit
from masker.training.settings import TrainSettings
from masker.training.vocabulary import learn, respelt, spelling, with_vocabulary

FRENCH = [
    f"{subject} {verb} {thing}."
    for subject, verb in (("L'élève", "préfère"), ("Émilie", "achète"), ("Le garçon", "espère"))
    for thing in ("le café", "une crêpe", "l'été", "la forêt")
]
QUICK = TrainSettings(steps=2, batch_size=4, held_out=0.2)


def test_a_learnt_vocabulary_spells_its_texts_with_capitals_and_accents(vocabulary: Vocabulary) -> None:
    learnt = learn(FRENCH, 400, wordpiece(BERT))
    assert learnt.cased
    pieces, lossy = spelling(learnt, FRENCH)
    assert lossy == 0
    assert pieces < 1.5
    assert spelling(vocabulary, FRENCH)[1] > 0.3
    text = learnt.read("L'élève préfère l'été.")
    assert [learnt.infill((), word.pieces) for word in text.words] == ["L'élève", "préfère", "l'été", "."]
    assert learnt.read("e\u0301te\u0301").pieces == learnt.read("été").pieces


def test_a_new_piece_begins_as_the_mean_of_the_old_that_spell_it() -> None:
    model = make_model("bert", domains=())
    old = model.mlm.get_input_embeddings().weight.detach().clone()
    ids = model.vocabulary.tokenizer.convert_tokens_to_ids
    new = with_vocabulary(model, learn(["food foods", "food foods"] * 9, 100, model.vocabulary.tokenizer))
    found = new.mlm.get_input_embeddings().weight
    at = new.vocabulary.tokenizer.convert_tokens_to_ids
    assert found.shape[0] == len(new.vocabulary)
    assert torch.equal(found[at("food")], old[ids("food")])
    assert torch.allclose(found[at("foods")], old[[ids("food"), ids("##s")]].mean(0))
    assert new.vocabulary.pad == model.vocabulary.pad
    assert new.mlm.get_output_embeddings().weight is found  # still tied


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_other_families(family: str) -> None:
    model = make_model(family, domains=())
    new = with_vocabulary(model, learn(FRENCH, 200, model.vocabulary.tokenizer))
    assert new.vocabulary.pad == model.vocabulary.pad
    ids = torch.tensor([[*new.vocabulary.start, new.vocabulary.mask, *new.vocabulary.end]])
    assert new(ids, torch.ones_like(ids), torch.tensor([[1]])).shape == (1, 1, len(new.vocabulary))


def test_one_is_learnt_where_the_old_one_spells_badly(caplog: pytest.LogCaptureFixture) -> None:
    model = make_model("bert", domains=())
    with caplog.at_level(logging.WARNING, "masker"):
        assert respelt(model, ["the food was great .", "it was good !"], None) is model
        assert respelt(model, FRENCH, 0) is model
        assert not caplog.messages
        assert respelt(model, FRENCH, None).vocabulary.cased
    assert "spells these texts badly" in caplog.text
    with pytest.raises(MaskerError, match="`vocabulary` is 7"):
        respelt(model, FRENCH, 7)


def test_fit_saves_how_texts_are_written(tmp_path: Path, vocabulary: Vocabulary) -> None:
    base = make_base(tmp_path / "base", vocabulary)
    one = [text.replace(".", "\u202f!") + " Oui, merci." for text in FRENCH]
    model = fit({"one": one, "other": FRENCH}, tmp_path / "model", base=base, vocabulary=300, settings=QUICK)
    saved = PaddedMLM.from_pretrained(tmp_path / "model")
    assert saved.settings.gaps == {"!": "\u202f"}
    assert saved.settings.segmenter is None
    assert saved.vocabulary.read(one[0]).pieces == model.vocabulary.read(one[0]).pieces
    assert "pieces learnt from the texts" in saved.settings.made[-1]["base"]


def test_the_base_of_somebody_keeps_its_vocabulary(tmp_path: Path, vocabulary: Vocabulary) -> None:
    base = make_base(tmp_path / "base", vocabulary)
    model = fit({"one": FRENCH, "other": FRENCH[::-1]}, tmp_path / "model", base=base, settings=QUICK)
    assert len(model.vocabulary) >= len(vocabulary)
    assert not model.vocabulary.cased
