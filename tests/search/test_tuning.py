from pathlib import Path

import pytest
from conftest import make_model
from toy import CORPORA

from masker.api import Masker
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge
from masker.model.bag_of_words import BagOfWords
from masker.search.tuning import EDITS, SCORES, STRENGTHS, Trial, tune


@pytest.fixture
def masker() -> Masker:
    model = make_model("bert")
    model.add_style()
    model.bag_of_words = BagOfWords.fit(list(CORPORA.values()))
    return Masker(model, device="cpu", exact=True)


LINES = {name: texts[::10] for name, texts in CORPORA.items()}


def test_the_best_knobs_are_those_of_the_best_trial(masker: Masker) -> None:
    trials: list[Trial] = []
    best = tune(masker, LINES, Judge.fit(CORPORA), report=trials.append)
    assert len(trials) == 2 * len(STRENGTHS) * len(EDITS) * len(SCORES)
    for to in ("negative", "positive"):
        of_domain = [trial for trial in trials if trial.to == to]
        assert best[to].joint == max(trial.joint for trial in of_domain)
        assert masker.model.settings.search[to] == best[to].knobs
        assert any(trial.self_bleu < 100 for trial in of_domain)
    # what a trial says is what the editor then does
    trial = best["positive"]
    texts = [r.text for r in masker.edit(LINES["negative"], to="positive")]
    given = masker.edit(LINES["negative"], to="positive", **trial.knobs)
    assert texts == [r.text for r in given]


def test_what_else_is_set_for_a_domain_stays_so(masker: Masker) -> None:
    masker.model.settings.search["positive"] = {"likelihood": 0.7, "strength": 0.123}
    best = tune(masker, LINES, Judge.fit(CORPORA))
    assert masker.model.settings.search["positive"] == {"likelihood": 0.7, **best["positive"].knobs}


def test_without_a_judge_half_of_the_lines_make_one(masker: Masker) -> None:
    best = tune(masker, {name: texts[:40] for name, texts in CORPORA.items()})
    assert set(best) == {"negative", "positive"}


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
