"""Published figures, on published outputs. BLEU is computed for each direction and averaged, never pooled."""

import os
from pathlib import Path

import pytest

from masker.data.formats import read_lines
from masker.evaluation.normalise import normalise
from masker.evaluation.paper_bleu import read_dictionary
from masker.evaluation.report import Direction, Report, evaluate

DATA = os.environ.get("MASKER_DATA")
pytestmark = pytest.mark.skipif(
    not DATA, reason="GOLDEN FIGURES ARE NOT CHECKED: set MASKER_DATA to the folder that holds yelp/"
)
YELP = Path(DATA or ".", "yelp")


def score(peer: str, metrics: list[str], *, normalised: bool = True) -> Report:
    directions = [
        Direction.from_files(
            to=to,
            source=YELP / f"sentiment.test.{i}",
            output=YELP / (f"peers/{peer}.{i}.txt" if peer else f"sentiment.test.{i}"),
            references=[YELP / f"reference{k}.{i}" for k in range(4)],
            paper_reference=YELP / f"reference.li.{i}",
        )
        for i, to in enumerate(("positive", "negative"))
    ]
    dictionary = read_dictionary(YELP / "li_bleu.dict.tsv")
    return evaluate(directions, metrics=metrics, paper_dictionary=dictionary, normalised=normalised)


@pytest.mark.parametrize(
    ("peer", "figure"),
    [
        ("ACMLM_epoch9_attention_based", 15.75),
        ("ACMLM_epoch9_frequency_ratio", 13.24),
        ("ACMLM_epoch9_fusion_method", 15.33),
        ("DeleteRetrieve_Li18", 8.51),
        ("", 17.98),  # a copy of the input
        ("DIRR_direct", 16.60),
        ("LEWIS", 14.23),
        ("MixMatch", 13.18),
    ],
)
def test_paper_bleu(peer: str, figure: float) -> None:
    assert score(peer, ["paper_bleu"]).average["paper_bleu"].value == pytest.approx(figure, abs=0.005)


@pytest.mark.parametrize(
    ("peer", "bleu", "self_bleu"),
    [
        ("DIRR_direct", 59.7, 60.8),
        ("StyleTransformer_multi", 55.5, 63.1),
        ("DualRL", 55.2, 59.0),
        ("MixMatch", 49.0, 55.0),
        ("DeleteRetrieve_Li18", 31.1, 36.8),
        ("", 64.3, 100.0),
    ],
)
def test_bleu_and_self_bleu(peer: str, bleu: float, self_bleu: float) -> None:
    report = score(peer, ["bleu", "self_bleu"])
    assert report.average["bleu"].value == pytest.approx(bleu, abs=0.05)
    assert report.average["self_bleu"].value == pytest.approx(self_bleu, abs=0.05)
    assert "nrefs:4" in report.notes["bleu_signature"]


@pytest.mark.parametrize(
    ("peer", "bleu", "self_bleu", "gain"),
    [
        ("DIRR_direct", 59.7, 60.8, 0),
        ("StyleTransformer_multi", 55.5, 63.1, 0),
        ("ACMLM_SS_attention_acc87", 54.4, 61.6, 0.06),
        ("ACMLM_SS_attention_acc92", 53.6, 60.1, 0.02),
        ("DualRL", 55.2, 59.0, 0),
        ("LEWIS", 50.6, 56.8, 1.19),  # glues some full stops to the last word
        ("MixMatch", 49.0, 55.0, 0),
        ("ACMLM_epoch9_attention_based", 55.2, 69.3, 0.07),
        ("ACMLM_epoch9_frequency_ratio", 48.4, 59.6, 0.06),
        ("ACMLM_epoch9_fusion_method", 54.4, 67.7, 0.02),
        ("DeleteRetrieve_Li18", 31.1, 36.8, 0),
    ],
)
def test_published_figures_are_those_of_raw_lines(peer: str, bleu: float, self_bleu: float, gain: float) -> None:
    raw = score(peer, ["bleu", "self_bleu"], normalised=False).average
    assert raw["bleu"].value == pytest.approx(bleu, abs=0.055)
    assert raw["self_bleu"].value == pytest.approx(self_bleu, abs=0.055)
    assert score(peer, ["bleu"]).average["bleu"].value - raw["bleu"].value == pytest.approx(gain, abs=0.01)


def test_normalisation_is_the_tokenisation_of_the_references() -> None:
    for i in (0, 1):
        raw, tokenised = (read_lines(YELP / f"{name}.{i}") for name in ("reference.li", "reference0"))
        agree = sum(normalise(a) == b for a, b in zip(raw, tokenised, strict=True))
        assert agree >= 498  # the other two have a typing error mended in one of the files
        sources = read_lines(YELP / f"sentiment.test.{i}")
        assert [normalise(line) for line in sources] == sources
