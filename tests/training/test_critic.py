import json
from pathlib import Path

import numpy as np
import pytest
from toy import lines

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.critic import CriticCard, CriticWeights
from masker.runtime.critic import OnnxCritic, TorchCritic, load_critic
from masker.runtime.export_critic import export_critic
from masker.training.critic import CriticSettings, Rating, calibrated, fit_critic, read_ratings

FAST = CriticSettings(steps=60, batch_size=16, lr=1e-2, device="cpu", eval_every=30)


def rated() -> list[Rating]:
    """A reader who likes all that is `great`, and nothing else."""
    sources = lines("terrible", "rude")
    good = [Rating("positive", s, s.replace("terrible", "great").replace("rude", "great"), 5, 5, 5) for s in sources]
    bad = [Rating("positive", s, s.replace("was", "good"), 2, 3, 2) for s in sources]
    return [*good, *bad]


@pytest.fixture(scope="module")
def taught(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("taught") / "critic"
    fit_critic(rated(), model_folder, out, settings=FAST)
    return out


def test_it_learns_what_a_reader_accepts(taught: Path, model_folder: Path) -> None:
    masker = Masker.from_pretrained(model_folder)
    critic = load_critic(taught, model_folder, masker.model.vocabulary, "cpu")
    assert isinstance(critic, TorchCritic)
    assert critic.knows("positive")
    assert not critic.knows("negative")
    sources = ["the food was rude .", "it was terrible !"]
    good = critic.accepts("positive", sources, ["the food was great .", "it was great !"])
    bad = critic.accepts("positive", sources, ["the food good rude .", "it good terrible !"])
    assert (good > bad).all()
    critic.remembers = False
    alone = [critic.accepts("positive", [s], [s.replace("rude", "great")])[0] for s in sources]
    together = critic.accepts("positive", sources, [s.replace("rude", "great") for s in sources])
    assert np.allclose(alone, together, atol=1e-5), "what shares a batch does not matter"
    assert len(critic.accepts("positive", [], [])) == 0


def test_it_reads_a_pair_once(taught: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    masker = Masker.from_pretrained(model_folder)
    critic = load_critic(taught, model_folder, masker.model.vocabulary, "cpu")
    read, scores = list[int](), critic._scores
    monkeypatch.setattr(critic, "_scores", lambda ids, attention: read.append(len(ids)) or scores(ids, attention))
    sources, texts = ["it was rude .", "it was rude .", "it was bad ."], ["it was great .", "it was great .", "great !"]
    first = critic.accepts("positive", sources, texts)
    assert critic.accepts("positive", sources[1:], texts[1:]).tolist() == first[1:].tolist()
    assert read == [2]


def test_it_stores_changes_alone(taught: Path, model_folder: Path) -> None:
    card = CriticCard.read(taught)
    assert card.domains == ("positive",)
    assert card.made["scores"]["told_apart"] > 90
    weights = CriticWeights(taught, model_folder)
    assert sum(path.stat().st_size for path in taught.iterdir()) < 200_000
    assert {"head.weight", "head.bias"} <= set(weights)
    assert len(weights) == len(list(weights))


@pytest.mark.slow
def test_exported_it_says_the_same_and_nearly_so_in_int8(taught: Path, model_folder: Path) -> None:
    vocabulary = Masker.from_pretrained(model_folder).model.vocabulary
    plain = load_critic(taught, model_folder, vocabulary, "cpu")
    sources = [rating.source for rating in rated()]
    texts = [rating.text for rating in rated()]
    wanted = plain.accepts("positive", sources, texts)
    export_critic(taught, model_folder)
    for exact, close in ((True, 1e-4), (False, 0.1)):
        found = load_critic(taught, model_folder, vocabulary, "cpu", exact=exact)
        assert isinstance(found, OnnxCritic)
        assert np.abs(found.accepts("positive", sources, texts) - wanted).max() < close


def test_scores_become_probabilities() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 20_000)
    good = rng.random(20_000) < 1 / (1 + np.exp(-logits))
    scale, shift = calibrated(3 * logits + 1, good)
    assert scale == pytest.approx(1 / 3, rel=0.05)
    assert shift == pytest.approx(-1 / 3, abs=0.1)
    assert calibrated(np.array([1.0, 2.0]), np.array([True, True]))[0] > 0


def test_what_it_cannot_learn_from_is_said(tmp_path: Path, model_folder: Path) -> None:
    good = [rating for rating in rated() if rating.style == 5]
    with pytest.raises(MaskerError, match="rate more rewrites, good and bad ones"):
        fit_critic(good, model_folder, tmp_path / "critic", settings=FAST)
    with pytest.raises(MaskerError, match="unknown domain 'french'"):
        fit_critic([Rating("french", "a", "b", 1, 1, 1)], model_folder, tmp_path / "critic", settings=FAST)
    with pytest.raises(MaskerError, match="`rank` is 0"):
        CriticSettings(rank=0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: bad JSON"),
        ('{"to": "positive", "source": "a", "text": "b", "style": 5, "content": 5}', "line 2: there is no fluency"),
        (json.dumps({"to": "x", "source": "a", "text": 3, "style": 5, "content": 5, "fluency": 5}), "strings"),
        (json.dumps({"to": "x", "source": "a", "text": "b", "style": 9, "content": 5, "fluency": 5}), "from 1 to 5"),
    ],
)
def test_bad_ratings(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "ratings.jsonl"
    good = json.dumps({"to": "x", "source": "a", "text": "b", "style": 5, "content": 4, "fluency": 3})
    path.write_text(good + "\n\n")
    assert [rating.aspects for rating in read_ratings(path)] == [(False, True, True, False)]
    path.write_text(good + "\n" + line + "\n")
    with pytest.raises(MaskerError, match=said):
        read_ratings(path)
