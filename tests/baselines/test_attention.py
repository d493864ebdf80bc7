"""The attention classifier: NumPy reads what torch has taught."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from toy import CORPORA

from masker.baselines.attention import AttentionClassifier
from masker.baselines.attention_training import SETTINGS, Network, fit_classifier, vectors_of
from masker.model.padded_mlm import PaddedMLM
from masker.training.settings import LoopSettings

QUICK = LoopSettings(steps=60, batch_size=16, lr=2e-2, weight_decay=0.0, clip=3.0, patience=None)


def vectors(words: Sequence[str]) -> np.ndarray:
    """Embeddings that follow from the words' characters."""
    return np.stack([np.random.default_rng([*word.encode()]).normal(size=32) for word in words]).astype(np.float32)


@pytest.fixture(scope="module")
def classifier() -> AttentionClassifier:
    return fit_classifier(CORPORA, vectors, settings=QUICK)


def test_it_looks_at_the_words_that_tell_domains_apart(classifier: AttentionClassifier) -> None:
    words = ["the", "food", "was", "terrible", "here", "."]
    share, scores = classifier.attend(words)
    assert share.sum() == pytest.approx(1)
    assert words[int(share.argmax())] == "terrible"
    assert classifier.domains[int(scores.argmax())] == "negative"
    assert classifier.confidence(["great"], "positive") > 0.5 > classifier.confidence(["great"], "negative")


def test_numpy_computes_what_torch_does(classifier: AttentionClassifier) -> None:
    network = Network(torch.zeros(len(classifier.words) + 1, 32), len(classifier.domains))
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in classifier.weights.items()})
    for text in ("the staff was rude !", "a word that nobody knows"):
        ids = torch.tensor([classifier.ids(text.split())])
        with torch.inference_mode():
            expected = network(ids, torch.tensor([ids.shape[1]]))[0].numpy()
        np.testing.assert_allclose(classifier.attend(text.split())[1], expected, atol=1e-5)


def test_embeddings_are_those_of_the_model_and_stay(classifier: AttentionClassifier, model_folder: Path) -> None:
    np.testing.assert_array_equal(classifier.weights["embedding.weight"][1:], vectors(classifier.words))
    model = PaddedMLM.from_pretrained(model_folder)
    table = model.mlm.get_input_embeddings().weight.detach().numpy()
    first = model.vocabulary.read("food").pieces[0]
    np.testing.assert_array_equal(vectors_of(model_folder)(["food", "food"]), table[[first, first]])


def test_it_comes_back_from_its_folder(classifier: AttentionClassifier, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    again = AttentionClassifier.load(tmp_path)
    words = ["it", "was", "good", "really", "."]
    np.testing.assert_array_equal(again.attend(words)[0], classifier.attend(words)[0])
    assert again.domains == ("negative", "positive")


def test_the_settings_do_not_stop_early() -> None:
    assert SETTINGS.patience is None
