"""A metric as sums over sentences, so that one figure and a thousand resampled ones cost the same few lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000
SEED = 12345


@dataclass(frozen=True)
class Tally:
    """Sufficient statistics of each sentence, and what a metric makes of their sums."""

    statistics: np.ndarray  # [n, k]
    score: Callable[[np.ndarray], np.ndarray]  # sums [r, k] -> figures [r]

    def figures(self, weights: np.ndarray) -> np.ndarray:
        """The metric for each row of `weights` [r, n], which say how often every sentence counts."""
        return self.score(weights @ self.statistics)


@dataclass(frozen=True)
class Figure:
    """A metric's value with the bounds of its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: np.ndarray) -> "Figure":
        """From the figures for the weights of `resampling`."""
        low, high = np.quantile(figures[1:], (0.025, 0.975))
        return cls(float(figures[0]), float(low), float(high))


def resampling(n: int, *, stream: int = 0) -> np.ndarray:
    """Weights [1 + RESAMPLES, n]: a row of ones for the figure itself, then resamples; `stream` varies them."""
    draws = np.random.default_rng([SEED, stream]).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return np.vstack([np.ones((1, n)), draws])


def ratio(numerators: Sequence[float] | np.ndarray, denominators: Sequence[float] | np.ndarray) -> Tally:
    """The sum of the one over the sum of the other; 0 where there is nothing to divide by."""

    def score(sums: np.ndarray) -> np.ndarray:
        return np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)

    return Tally(np.column_stack([numerators, denominators]).astype(float), score)


def mean(values: Sequence[float] | np.ndarray, *, scale: float = 100.0) -> Tally:
    """The average over sentences, by default as a percentage."""
    return ratio(scale * np.asarray(values, dtype=float), np.ones(len(values)))
