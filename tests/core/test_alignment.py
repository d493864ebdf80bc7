"""One longest common subsequence, with the ties broken in the two ways that students were taught with."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masker.core.alignment import common_subsequence, differences

LETTERS = st.lists(st.sampled_from("abc"), max_size=9)


def lengths(a: list[str], b: list[str]) -> list[list[int]]:
    """[i][j]: length of the longest common subsequence of a[i:] and b[j:], the plain way."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            table[i][j] = table[i + 1][j + 1] + 1 if a[i] == b[j] else max(table[i + 1][j], table[i][j + 1])
    return table


@given(LETTERS, LETTERS, st.booleans())
def test_it_is_common_and_a_longest_one(a: list[str], b: list[str], forward: bool) -> None:
    found = common_subsequence(a, b, forward=forward)
    assert len(found) == lengths(a, b)[0][0]
    assert all(a[i] == b[j] for i, j in found)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(found))


@given(LETTERS, LETTERS)
def test_forward_is_what_is_found_reading_forwards(a: list[str], b: list[str]) -> None:
    """Between equal beginnings and ends: match what can be matched, skip in `a` before skipping in `b`."""
    begin = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[begin:], b[begin:]
    tail = next((k for k, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), min(len(a), len(b)))
    one, other = a[: len(a) - tail], b[: len(b) - tail]
    longest, wanted = lengths(one, other), []
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            wanted.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    wanted += [(len(one) + k, len(other) + k) for k in range(tail)]
    assert common_subsequence(a, b, forward=True) == wanted


@pytest.mark.parametrize(
    ("a", "b", "backward", "forward"),
    [
        ("xaa", "ay", [(2, 0)], [(1, 0)]),
        ("xay", "zabaz", [(1, 1)], [(1, 1)]),
        ("ab", "ba", [(1, 0)], [(1, 0)]),
        ("", "ab", [], []),
        ("aa", "a", [(0, 0)], [(0, 0)]),  # the beginning first
    ],
)
def test_ties(a: str, b: str, backward: list[tuple[int, int]], forward: list[tuple[int, int]]) -> None:
    assert common_subsequence(a, b) == backward
    assert common_subsequence(a, b, forward=True) == forward


@given(LETTERS, LETTERS)
def test_differences_are_all_that_is_not_common(a: list[str], b: list[str]) -> None:
    found = differences(a, b)
    made = list(a)
    for (start, stop), (first, end) in reversed(found):
        made[start:stop] = b[first:end]
    assert made == b
    same = len(common_subsequence(a, b))
    assert sum(stop - start for (start, stop), _ in found) == len(a) - same
    assert all(gone[1] < after[0] for (gone, _), (after, _) in pairwise(found))  # something stays between two
