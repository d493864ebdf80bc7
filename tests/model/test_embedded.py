"""The embedded model: it is there, it is small, it needs no network, and it does what the README says."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from masker import Masker, MaskerError, PaddedMLM
from masker.model.folder import EMBEDDED, GRAPHS
from masker.model.weights import Weights
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import OnnxRuntime
from masker.runtime.torch import TorchRuntime


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.from_pretrained(device="cpu")


def test_it_takes_at_most_30_megabytes() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) <= 30_000_000


def test_its_graphs_belong_to_its_weights() -> None:
    """`masker export masker/model/embedded` writes them."""
    graphs, weights = Graphs(EMBEDDED), Weights(EMBEDDED)
    names = {name.partition("|")[0] for names in graphs._lacks.values() for name in names}
    assert names == set(weights)
    assert all(weights[name].size == np.prod(graphs._shapes[name]) for name in names)
    assert (EMBEDDED / GRAPHS).stat().st_size < 200_000  # nothing else is in them


def test_its_graphs_give_what_torch_gives() -> None:
    model, graphs = PaddedMLM.from_pretrained(), Graphs(EMBEDDED)
    frame, domain = model.frame, model.vocabulary.domain("positive")
    pieces = model.vocabulary.read("the worst pizza i have ever had .").pieces
    rows = [[*frame.start, domain, *pieces[:k], *[frame.mask] * 4, *pieces[k + 1 :], *frame.end] for k in range(7)]
    ids = np.array(rows)
    slots = np.nonzero(ids == frame.mask)[1].reshape(len(ids), 4)
    asked = np.random.default_rng(0).integers(0, len(model.vocabulary), (len(ids), 4, 50))
    arrays = ids, np.ones_like(ids), slots, asked
    theirs = TorchRuntime(model, "cpu")
    float32, int8 = OnnxRuntime(graphs, FLOAT32), OnnxRuntime(graphs, INT8)
    a, b, c = (runtime(*arrays, None, 4) for runtime in (theirs, float32, int8))
    np.testing.assert_array_equal(a.best, b.best)
    np.testing.assert_allclose(a.best_log_p, b.best_log_p, atol=2e-5)
    np.testing.assert_allclose(a.asked_log_p, b.asked_log_p, atol=2e-5)
    np.testing.assert_allclose(theirs.styles(*arrays[:2]), float32.styles(*arrays[:2]), atol=2e-5)
    assert (a.best[:, :, 0] == c.best[:, :, 0]).mean() > 0.9
    assert np.abs(a.asked_log_p - c.asked_log_p).mean() < 0.2


def test_its_domains_are_each_others_counterpart(masker: Masker) -> None:
    pairs = {"negative": "positive", "split": "fused", "toxic": "civil"}
    assert masker.model.settings.domains == pairs | {b: a for a, b in pairs.items()}
    assert masker.model.settings.n_p == 4


def test_it_writes_nothing_toxic(masker: Masker) -> None:
    assert masker.model.settings.sources_only == ["toxic"]
    with pytest.raises(MaskerError, match=r"does not write 'toxic'.*fit a model of your own"):
        masker.edit("what a nice idea .", to="toxic")


@pytest.mark.parametrize(
    ("source", "to", "text"),
    [
        ("the worst pizza i have ever had .", "positive", "the best pizza i have ever had ."),
        ("I do not recommend this place.", "positive", "I highly recommend this place."),
        ("Best coffee in town!", "negative", "Worst coffee in town!"),
        ("We will definitely be back.", "negative", "We will not be back."),
        ("The film won the award. The film was shot in Rome.", "fused", "The film won the award and was shot in Rome."),
    ],
)
def test_it_rewrites(masker: Masker, source: str, to: str, text: str) -> None:
    rewrite = masker.edit(source, to=to)
    assert rewrite.text == text
    for edit in reversed(rewrite.edits):
        assert source[edit.start : edit.end] == edit.old
        source = edit.apply(source)
    assert source == text


def test_the_papers_method_stays(masker: Masker) -> None:
    source = "the worst pizza i have ever had ."
    rewrite = masker.edit(source, to="positive", method="paper")
    explained = masker.explain(source, to="positive", method="paper")
    assert rewrite.text == explained.rewrite.text == "the best pizza i have ever had ."
    assert explained.chosen is not None
    assert rewrite.score == pytest.approx(explained.chosen.score, abs=1e-4)


def test_its_card_tells_how_it_was_made() -> None:
    card = (EMBEDDED / "README.md").read_text("utf-8")
    for stage in json.loads((EMBEDDED / "masker.json").read_text("utf-8"))["made"]:
        assert stage["command"] in card
        assert re.match(r"masker (pretrain|fit) ", stage["command"])
        assert all(corpus["licence"] in card for corpus in stage["data"])


def test_the_readme_shows_what_happens(masker: Masker) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    for source, text in re.findall(r'\$ echo "(.*?)" \| masker edit --to positive\n(.*)', readme):
        assert masker.edit(source, to="positive").text == text
