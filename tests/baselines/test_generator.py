"""The generator of delete and retrieve: NumPy reads what torch has taught."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax
from toy import CORPORA

from masker.baselines import generator_training
from masker.baselines.generator import BEAMS, END, FIRST, UNKNOWN, Generator, _best
from masker.baselines.generator_training import Neighbours, Network, _ahead, _compared, _noisy, fit_generator
from masker.baselines.markers import Markers
from masker.training.progress import Progress
from masker.training.settings import LoopSettings

QUICK = LoopSettings(steps=150, batch_size=16, lr=1e-2, weight_decay=0.0, clip=5.0, patience=None, eval_every=50)
MARKERS = Markers({"negative": {"terrible": 20.0, "rude": 20.0}, "positive": {"great": 20.0, "good": 20.0}})
REPORTED: list[Progress] = []


@pytest.fixture(scope="module")
def generator() -> Generator:
    return fit_generator(CORPORA, MARKERS, settings=QUICK, hidden=32, report=REPORTED.append)


def test_it_writes_a_sentence_out_of_content_and_markers(generator: Generator) -> None:
    assert " ".join(generator.write(["the", "food", "was", "here"], ["terrible"])[0]) == "the food was terrible here"
    words, log_p = generator.write(["the", "staff", "was"], ["good"])
    assert words == ["the", "staff", "was", "good"]
    assert log_p < 0
    assert REPORTED[-1].newest
    assert REPORTED[-1].newest.value > 80  # % of the next words


def test_numpy_computes_what_torch_does(generator: Generator) -> None:
    network = Network(len(generator.words) + FIRST, hidden=32)
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in generator.weights.items()})
    content, markers, sentence = ["the", "food", "is", "new"], ["rude"], ["the", "staff", "was"]
    read = np.concatenate([generator._read(content, "content"), generator._read(markers, "markers")])
    states = np.zeros((1, 32), np.float32)
    rows = [torch.tensor([generator.ids(words)]) for words in (content, markers, sentence)]
    with torch.inference_mode():
        scores = _ahead(network, rows)[0] @ network.embedding.weight.T + network.bias
        scores[:, UNKNOWN] = -torch.inf
    for word, expected in zip([END, *generator.ids(sentence)[:-1]], log_softmax(scores, 1), strict=True):
        log_p, states = generator._next([word], read, states)
        np.testing.assert_allclose(log_p[0], expected.numpy(), atol=1e-4)


def test_the_best_of_all_are_found() -> None:
    sums = np.random.default_rng(0).normal(size=(7, 2000))
    rows, words = _best(sums)
    np.testing.assert_array_equal(sums[rows, words], np.sort(sums, axis=None)[::-1][:BEAMS])
    assert len(_best(sums[:1, :3])[0]) == 3


def test_it_ends_whatever_it_is_given(generator: Generator) -> None:
    assert len(generator.write([], [])[0]) <= 5
    assert len(generator.write(["nobody", "knows", "these"], ["words"])[0]) <= 9
    assert UNKNOWN in generator.ids(["nobody"])


def test_it_comes_back_from_its_folder(generator: Generator, tmp_path: Path) -> None:
    generator.save(tmp_path)
    again = Generator.load(tmp_path)
    assert again.write(["it", "was"], ["great"]) == generator.write(["it", "was"], ["great"])


def test_neighbours_are_a_word_away() -> None:
    markers = ["bad", "rude", "so bad", "so very bad", "never again"]
    rng = np.random.default_rng(0)
    near = {marker: {Neighbours(markers).any(marker, rng) for _ in range(100)} for marker in markers}
    assert near["bad"] == {"bad", "rude", "so bad"}
    assert near["so bad"] == {"bad", "so bad", "so very bad"}
    assert near["never again"] == {"never again"}
    example = (["it", "was"], ["bad"], ["it", "was", "bad"])
    noisy = [_noisy(example, Neighbours(markers), rng) for _ in range(400)]
    assert {tuple(found) for _, found, _ in noisy} == {("bad",), ("rude",), ("so bad",)}
    assert 0.85 < sum(found == ["bad"] for _, found, _ in noisy) / 400 < 0.99
    assert all((content, sentence) == (example[0], example[2]) for content, _, sentence in noisy)


def test_of_a_large_vocabulary_the_right_words_are_compared_with_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator_training, "ALWAYS", 10)
    monkeypatch.setattr(generator_training, "SOMETIMES", 10)
    torch.manual_seed(0)
    words, place, rarity = _compared(torch.tensor([3, 500]), 1000)
    assert {*range(10), 500} <= {*words.tolist()}
    assert len(words) <= 21
    assert words[place[500]] == 500
    assert rarity[place[500]] == 0
    assert rarity.max() == pytest.approx(np.log(99))
    assert len(_compared(torch.tensor([3]), 15)[0]) == 15
