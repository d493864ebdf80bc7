import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masker.search.keys import row_keys

ROWS = st.lists(st.lists(st.integers(0, 60_000), min_size=4, max_size=4), min_size=1, max_size=50)


@given(ROWS, st.integers(0, 5))
def test_equal_rows_have_the_same_key_and_others_another(rows: list[list[int]], more: int) -> None:
    keys = row_keys(np.array(rows))
    for row, key in zip(rows, keys.tolist(), strict=True):
        assert [other == row for other in rows] == (keys == key).tolist()
    np.testing.assert_array_equal(row_keys(np.pad(rows, ((0, 0), (0, more)))), keys)
