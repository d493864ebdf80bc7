import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masker.core.batching import by_length, padded

LENGTHS = st.lists(st.integers(0, 30), max_size=40)


@given(LENGTHS, st.integers(1, 100), st.none() | st.integers(1, 5))
def test_every_row_is_in_one_batch_and_batches_are_bounded(lengths: list[int], tokens: int, most: int | None) -> None:
    batches = [batch.tolist() for batch in by_length(lengths, tokens, at_most=most)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens or not lengths[batch[0]]
        assert most is None or len(batch) <= most
    order = [lengths[row] for batch in batches for row in batch]
    assert order == sorted(order, reverse=True)


def test_rows_can_be_chosen() -> None:
    assert [b.tolist() for b in by_length([3, 1, 2], 4, np.array([0, 2]))] == [[0], [2]]


@given(st.lists(st.lists(st.integers(1, 9), max_size=5), max_size=5))
def test_padded_rows_keep_their_elements(rows: list[list[int]]) -> None:
    table, inside = padded(rows, 0)
    assert table.shape == inside.shape
    assert [line[there == 1].tolist() for line, there in zip(table, inside, strict=True)] == rows
    assert not table[inside == 0].any()


def test_padding_is_of_whole_numbers_whatever_the_rows_are() -> None:
    table, inside = padded([[2**40, 7], [5]], -1)
    assert table.tolist() == [[2**40, 7], [5, -1]]
    assert inside.tolist() == [[1, 1], [1, 0]]
    assert table.dtype == inside.dtype == np.int64
    empty, none = padded([], 0)
    assert empty.shape == none.shape == (0, 1)
