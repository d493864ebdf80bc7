import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from masker.errors import MaskerError
from masker.evaluation.acceptability import acceptability_tally, load
from masker.evaluation.report import Direction, evaluate
from masker.evaluation.tally import resampling

SOURCES = ["the food was terrible .", "the food was terrible .", "the staff was rude ."]
OUTPUTS = ["the food was delicious .", "the food was terrible .", "the great was rude good ."]


def test_good_rewrites_are_told_from_bad_ones_and_copies() -> None:
    tally = acceptability_tally("positive", SOURCES, OUTPUTS, load())
    good, copy, bad = (tally.figures(np.eye(3)[k][None])[0] for k in range(3))
    assert copy == 0
    assert 0 < bad < 50 < good < 100


def test_the_report_has_it_if_it_is_asked_for() -> None:
    direction = Direction("positive", SOURCES, OUTPUTS)
    figure = evaluate([direction], metrics=["acceptability"]).average["acceptability"]
    tally = acceptability_tally("positive", SOURCES, OUTPUTS, load())
    assert figure.value == pytest.approx(tally.figures(resampling(3))[0], abs=1.0)
    assert "acceptability" not in evaluate([direction]).average


def test_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="a critic that knows 'fused'; this one knows civil, negative, positive"):
        evaluate([Direction("fused", ["a"], ["b"])], metrics=["acceptability"])
    with pytest.raises(MaskerError, match="no model folder"):
        load(tmp_path / "nothing")


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="needs MASKER_DATA")
def test_it_agrees_with_people() -> None:
    """With 3,200 ratings by people, which no part of the model has seen."""
    from scipy.stats import spearmanr

    with gzip.open(Path(os.environ["MASKER_DATA"], "human", "li18_yelp.tsv.gz"), "rt", encoding="utf-8") as file:
        rows = [*csv.DictReader(file, delimiter="\t")]
    critic, found, success = load(), list[float](), list[int]()
    for name, to in (("test.0", "positive"), ("test.1", "negative")):
        mine = [row for row in rows if row["input_file"] == name]
        found += critic.accepts(to, [row["input"] for row in mine], [row["output"] for row in mine]).tolist()
        success += [int(row["success"]) for row in mine]
    assert spearmanr(found, success)[0] > 0.35
