import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masker.search.keys import firsts, packed, row_keys, within

ROWS = st.lists(st.lists(st.integers(0, 60_000), min_size=4, max_size=4), min_size=1, max_size=50)


@given(ROWS, st.integers(0, 5))
def test_equal_rows_have_the_same_key_and_others_another(rows: list[list[int]], more: int) -> None:
    keys = row_keys(np.array(rows))
    for row, key in zip(rows, keys.tolist(), strict=True):
        assert [other == row for other in rows] == (keys == key).tolist()
    np.testing.assert_array_equal(row_keys(np.pad(rows, ((0, 0), (0, more)))), keys)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3), st.integers(0, 3)), max_size=60), st.integers(0, 9))
def test_rows_are_sorted_within_their_groups(rows: list[tuple[int, int, int]], most: int) -> None:
    group, first, second = np.array(sorted(rows, key=lambda row: row[0])).reshape(-1, 3).T
    order = np.lexsort((first, second * 0.5, group))
    np.testing.assert_array_equal(within(group, first, second * 0.5), order)
    few = [k for n, k in enumerate(order) if sum(group[order[:n]] == group[k]) < most]
    assert within(group, first, second * 0.5, most=most).tolist() == few
    alone = np.lexsort((first, group))
    np.testing.assert_array_equal(within(group, first), alone)


@given(st.lists(st.lists(st.integers(-1, 300_000), min_size=5, max_size=5), min_size=1, max_size=30))
def test_packed_rows_are_sorted_as_their_columns_are(rows: list[list[int]]) -> None:
    table = np.array(rows)
    keys = packed(table)
    assert len(keys) <= 2
    np.testing.assert_array_equal(np.lexsort(keys), np.lexsort(table.T))


@given(st.lists(st.integers(0, 9)))
def test_firsts_are_those_that_have_not_been_before(keys: list[int]) -> None:
    assert firsts(np.array(keys, np.uint64)).tolist() == [k for k, key in enumerate(keys) if key not in keys[:k]]
