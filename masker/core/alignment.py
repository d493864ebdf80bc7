"""The longest common subsequence: which items a text and its rewriting have in common, and in which places."""

from collections.abc import Hashable, Sequence


def common_subsequence(a: Sequence[Hashable], b: Sequence[Hashable], *, forward: bool = False) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of an index of `a` and one of `b`, in order.

    Equal beginnings and ends are always matched. Of several that are as long in between it is the one found by reading
    backwards, where items of `b` are skipped before items of `a`; with `forward` by reading forwards, the other way
    round.
    """
    n, m = len(a), len(b)
    begin = 0
    while begin < n and begin < m and a[begin] == b[begin]:
        begin += 1
    tail = 0
    while tail < n - begin and tail < m - begin and a[n - 1 - tail] == b[m - 1 - tail]:
        tail += 1
    n, m = n - tail, m - tail
    one, other = a[begin:n], b[begin:m]
    if forward:
        found = [(n - 1 - i, m - 1 - j) for j, i in reversed(_backwards(other[::-1], one[::-1]))]
    else:
        found = [(begin + i, begin + j) for i, j in _backwards(one, other)]
    return [*((k, k) for k in range(begin)), *found, *((n + k, m + k) for k in range(tail))]


def differences(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where `a` and `b` differ, between the items that they have in common: from and up to in `a`, and in `b`."""
    found, i, j = list[tuple[tuple[int, int], tuple[int, int]]](), 0, 0
    for k, m in [*common_subsequence(a, b, forward=True), (len(a), len(b))]:
        if i < k or j < m:
            found.append(((i, k), (j, m)))
        i, j = k + 1, m + 1
    return found


def _backwards(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """By the bit-parallel table (Hyyrö 2004): a row of it is one integer, a few operations for a whole sequence."""
    where: dict[Hashable, int] = {}
    for j, item in enumerate(b):
        where[item] = where.get(item, 0) | 1 << j
    row = full = (1 << len(b)) - 1  # a bit that is not set: the subsequence grows with this item of b
    rows = [row]
    for item in a:
        hit = row & where.get(item, 0)
        row = (row + hit | row - hit) & full
        rows.append(row)
    found = []
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            found.append((i, j))
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return found[::-1]
