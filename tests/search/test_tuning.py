from pathlib import Path

import pytest
from conftest import make_model
from toy import CORPORA

from masker.api import Masker
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge
from masker.model.bag_of_words import BagOfWords
from masker.model.settings import SearchSettings
from masker.search import tuning
from masker.search.tuning import EDITS, GAIN, SCORES, STRENGTHS, Trial, _choose, tune


@pytest.fixture
def masker() -> Masker:
    model = make_model("bert")
    model.add_style()
    model.bag_of_words = BagOfWords.fit(list(CORPORA.values()))
    return Masker(model, device="cpu", exact=True)


LINES = {name: texts[::10] for name, texts in CORPORA.items()}


def test_the_best_knobs_are_those_of_the_best_trial_that_keeps_the_style(masker: Masker) -> None:
    trials: list[Trial] = []
    found = tune(masker, LINES, Judge.fit(CORPORA), report=trials.append)
    assert len(trials) == 2 * len(STRENGTHS) * len(EDITS) * len(SCORES)
    for to in ("negative", "positive"):
        of_domain = [trial for trial in trials if trial.to == to]
        before, after = found[to].before, found[to].after
        assert before.knobs == {"strength": 0.9, "max_edits": 2, "min_score": 0.0}
        assert after.keeps(before)
        best = max(trial.joint for trial in of_domain if trial.keeps(before))
        assert after.joint == (best if best >= before.joint + GAIN else before.joint)
        assert masker.model.settings.search.get(to, before.knobs) == after.knobs
        assert any(trial.self_bleu < 100 for trial in of_domain)
        assert any(trial.left_alone < 100 for trial in of_domain)
    # what a trial says is what the editor then does
    knobs = found["positive"].after.knobs
    texts = [r.text for r in masker.edit(LINES["negative"], to="positive")]
    assert texts == [r.text for r in masker.edit(LINES["negative"], to="positive", **knobs)]


def trial(style: float, bleu: float, *, words: float = 90.0, strength: float = 0.5) -> Trial:
    return Trial("positive", strength, 2, 0.0, style, words, 90.0, bleu, 10.0)


@pytest.mark.parametrize(
    ("other", "better"),
    [
        (trial(90.0, 80.0), True),
        (trial(89.0, 80.0), True),
        (trial(88.9, 80.0), False),  # what the judge sees may not fall by more than a point
        (trial(90.0, 80.0, words=88.9), False),  # nor what the editor's classifiers see
        (trial(90.0, 70.2), False),  # that little may be luck
        (trial(95.0, 60.0), False),
    ],
)
def test_style_has_a_floor_and_little_is_no_gain(other: Trial, better: bool) -> None:
    before = trial(90.0, 70.0, strength=0.9)
    tuned = _choose([other, before], SearchSettings())
    assert tuned.changed == better
    assert tuned.after == (other if better else before)


def test_what_else_is_set_for_a_domain_stays_so_and_the_knobs_of_now_are_tried(masker: Masker) -> None:
    known = {"likelihood": 0.7, "strength": 0.123, "max_edits": 4}
    masker.model.settings.search["positive"] = dict(known)
    found = tune(masker, LINES, Judge.fit(CORPORA))["positive"]
    assert found.before.knobs == {"strength": 0.123, "max_edits": 4, "min_score": 0.0}
    expected = {**known, **found.after.knobs} if found.changed else known
    assert masker.model.settings.search["positive"] == expected


def test_without_a_gain_nothing_is_set(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "GAIN", 1000.0)
    found = tune(masker, LINES, Judge.fit(CORPORA))
    assert not any(tuned.changed for tuned in found.values())
    assert masker.model.settings.search == {}


def test_without_a_judge_half_of_the_lines_make_one(masker: Masker) -> None:
    found = tune(masker, {name: texts[:40] for name, texts in CORPORA.items()})
    assert set(found) == {"negative", "positive"}


def test_lines_of_one_domain_are_not_enough_without_a_judge_of_the_other(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="two domains"):
        tune(masker, {"negative": CORPORA["negative"]})


def test_knobs_are_saved_with_the_model(masker: Masker, tmp_path: Path) -> None:
    masker.model.settings.search["positive"] = {"strength": 0.5, "max_edits": 1, "min_score": 0.5}
    masker.model.save_pretrained(tmp_path)
    again = Masker.from_pretrained(tmp_path, device="cpu")
    assert again.model.settings.search == masker.model.settings.search
    assert [r.text for r in again.edit(CORPORA["negative"][:4], to="positive")] == [
        r.text for r in masker.edit(CORPORA["negative"][:4], to="positive")
    ]
