"""One number for a whole row of numbers, to sort and compare rows by."""

from functools import lru_cache

import numpy as np


def row_keys(rows: np.ndarray) -> np.ndarray:
    """[N, L] whole numbers -> [N] the same for equal rows, 0s at their ends aside, and another for others: of a
    million rows two have the same by chance once in ten million times.
    """
    return (rows.astype(np.uint64) * _weights(rows.shape[1])).sum(1, dtype=np.uint64)


@lru_cache(maxsize=256)
def _weights(width: int) -> np.ndarray:
    """[L] odd numbers without a pattern, each from its place alone (SplitMix64)."""
    x = np.arange(1, width + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)
