"""One number for a whole row of numbers, to compare rows by; and how to sort and to find rows that belong to groups."""

from functools import lru_cache, reduce

import numpy as np


def row_keys(rows: np.ndarray) -> np.ndarray:
    """[N, L] whole numbers -> [N] the same for equal rows, 0s at their ends aside, and another for others: of a
    million rows two have the same by chance once in ten million times.
    """
    return np.asarray(
        np.einsum("nl,l->n", np.ascontiguousarray(rows, np.int64).view(np.uint64), _weights(rows.shape[1]))
    )


def within(group: np.ndarray, *keys: np.ndarray, most: int | None = None) -> np.ndarray:
    """Indices by group, and in each by the last of the keys, then by the one before it; `most` of a group, at most.

    Those of a group stand together. To sort a table of short rows is several times as fast as to sort all at once.
    """
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])[: len(group)])
    sizes = np.diff(np.append(first, len(group)))
    inside = np.arange(sizes.max(initial=0)) < sizes[:, None]
    tables = []
    for key in keys:
        last = np.inf if key.dtype.kind == "f" else np.iinfo(key.dtype).max
        tables.append(np.full(inside.shape, last, key.dtype))
        tables[-1][inside] = key
    order = np.argsort(tables[0], 1, kind="stable") if len(tables) == 1 else np.lexsort(tables, axis=1)
    return np.asarray((order + first[:, None])[:, :most][inside[:, :most]])


def firsts(keys: np.ndarray) -> np.ndarray:
    """Indices, in order, without those of keys that have been before: `np.unique` in less than half of its time."""
    order = np.argsort(keys)  # equal ones in any order, which is what is fast
    new = np.concatenate([[True], keys[order[1:]] != keys[order[:-1]]])[: len(keys)]
    return np.sort(np.minimum.reduceat(order, np.flatnonzero(new))) if len(keys) else order


def packed(rows: np.ndarray) -> list[np.ndarray]:
    """[N, L] whole numbers from -1 on -> as few keys [N] as they fit into, to sort them by: the last column first."""
    bits = max(1, int(rows.max(initial=0) + 1).bit_length())
    at_a_time, keys = max(1, 63 // bits), list[np.ndarray]()
    for start in range(0, rows.shape[1], at_a_time):
        key = np.zeros(len(rows), np.int64)
        for column in reversed(rows.T[start : start + at_a_time]):
            key = (key << bits) | (column + 1)
        keys.append(key)
    return keys


def starts_of(sizes: np.ndarray) -> np.ndarray:
    """Where things of such sizes begin, one after the other."""
    return np.asarray(sizes.cumsum() - sizes)


def ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """All numbers of ranges, one after the other."""
    return np.asarray(np.repeat(starts - starts_of(sizes), sizes) + np.arange(sizes.sum()))


def some_of(table: np.ndarray) -> np.ndarray:
    """[N, L] -> [N] whether something of a row is true: column by column, for rows are short."""
    return reduce(np.logical_or, table.T, np.zeros(len(table), bool))


def count_of(table: np.ndarray) -> np.ndarray:
    """[N, L] -> [N] how much of a row is true."""
    return reduce(np.add, table.T, np.zeros(len(table), np.int64))


@lru_cache(maxsize=256)
def _weights(width: int) -> np.ndarray:
    """[L] odd numbers without a pattern, each from its place alone (SplitMix64)."""
    x = np.arange(1, width + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)
