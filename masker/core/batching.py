"""Rows of like length together: the one way in which batches are made, here and in every other room."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np


def by_length(
    lengths: Sequence[int] | np.ndarray, tokens: int, rows: np.ndarray | None = None, *, at_most: int | None = None
) -> Iterator[np.ndarray]:
    """Indices of rows, the longest first, in batches of at most `tokens` tokens, padding included.

    `rows` are those to take, all without; a batch has `at_most` so many of them.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    rows = np.arange(len(lengths)) if rows is None else rows
    order = rows[np.argsort(-lengths[rows], kind="stable")]
    at = 0
    while at < len(order):
        size = max(1, tokens // max(1, int(lengths[order[at]])))
        size = min(size, at_most or size)
        yield order[at : at + size]
        at += size


def padded(rows: Sequence[Sequence[int]], value: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unequal length as one table [B, L], filled up with `value`; and [B, L] 1 where a row has an element."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    inside = np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]
    table = np.full(inside.shape, value, np.int64)
    table[inside] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return table, inside.astype(np.int64)
