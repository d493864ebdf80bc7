import numpy as np
import pytest

from masker.evaluation.tally import RESAMPLES, Figure, mean, ratio, resampling


def test_interval_of_a_mean_is_about_two_standard_errors() -> None:
    values = np.arange(400) % 2
    figure = Figure.of(mean(values).figures(resampling(400)))
    assert figure.value == 50
    error = 100 * 0.5 / np.sqrt(400)
    assert figure.low == pytest.approx(50 - 1.96 * error, abs=0.6)
    assert figure.high == pytest.approx(50 + 1.96 * error, abs=0.6)


def test_resampling_is_fixed_and_differs_by_stream() -> None:
    first, again, other = resampling(30), resampling(30), resampling(30, stream=1)
    assert first.shape == (1 + RESAMPLES, 30)
    assert (first == again).all()
    assert (first[0] == 1).all()
    assert (first.sum(1) == 30).all()
    assert (first[1:] != other[1:]).any()


def test_ratio_is_of_sums_and_survives_nothing() -> None:
    weights = np.ones((1, 2))
    assert ratio([1, 5], [2, 2]).figures(weights)[0] == 1.5
    assert ratio([1, 5], [0, 0]).figures(weights)[0] == 0
