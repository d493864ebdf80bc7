import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.padding import IGNORE, Frame, mask_spans

FRAME = Frame(start=(101,), end=(102,), mask=103, pad=0, n_p=3)
FLAT = torch.arange(1, 21)


def t(*values: object) -> torch.Tensor:
    return torch.tensor(values)


def test_a_span_becomes_n_p_masks_and_its_targets_are_filled_up_with_pad() -> None:
    masked = mask_spans(FLAT, t(0, 2), t(5, 6), t([1], [4]), t([2], [0]), FRAME, domain=True)
    assert masked.with_domain(99).tolist() == [
        [101, 99, 1, 103, 103, 103, 4, 5, 102, 0],
        [101, 99, 3, 4, 103, 103, 103, 5, 6, 102],
    ]
    assert masked.attention.tolist() == [[1] * 9 + [0], [1] * 10]
    assert masked.slots.tolist() == [[3, 4, 5], [4, 5, 6]]
    assert masked.targets.tolist() == [[2, 3, 0], [0, 0, 0]]


def test_each_row_can_have_a_domain_of_its_own() -> None:
    masked = mask_spans(FLAT, t(0, 0), t(2, 2), t([0], [2]), t([1], [0]), FRAME, domain=True)
    assert masked.with_domain(t(98, 99))[:, 1].tolist() == [98, 99]
    assert masked.ids[:, 1].tolist() == [0, 0]  # asking one domain leaves nothing behind for the next


def test_spans_at_either_end_and_rows_without_a_domain() -> None:
    masked = mask_spans(FLAT, t(0, 0, 0), t(2, 2, 2), t([0], [2], [0]), t([0], [0], [2]), FRAME, domain=False)
    assert masked.domain is None
    assert masked.ids.tolist() == [
        [101, 103, 103, 103, 1, 2, 102],
        [101, 1, 2, 103, 103, 103, 102],
        [101, 103, 103, 103, 102, 0, 0],
    ]
    assert masked.targets.tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 0]]


def test_several_spans_a_row_and_spans_that_do_not_exist() -> None:
    far = 1 << 40
    masked = mask_spans(FLAT, t(0, 0), t(8, 3), t([1, 5], [2, far]), t([1, 2], [1, 3]), FRAME, domain=False)
    assert masked.ids.tolist() == [
        [101, 1, 103, 103, 103, 3, 4, 5, 103, 103, 103, 8, 102],
        [101, 1, 2, 103, 103, 103, 102, 0, 0, 0, 0, 0, 0],
    ]
    assert masked.slots[0].tolist() == [2, 3, 4, 8, 9, 10]
    assert masked.targets.tolist() == [[2, 0, 0, 6, 7, 0], [3, 0, 0] + [IGNORE] * 3]


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 4))
def test_masked_rows_are_what_one_would_write_by_hand(data: st.DataObject, n_p: int) -> None:
    frame = Frame((101,), (102, 104), 103, 0, n_p)
    rows = []
    for _ in range(data.draw(st.integers(1, 4))):
        lo = data.draw(st.integers(0, 20))
        hi = data.draw(st.integers(lo, 20))
        start = data.draw(st.integers(lo, hi))
        rows.append((lo, hi, start, data.draw(st.integers(0, min(n_p, hi - start)))))
    lo, hi, start, width = torch.tensor(rows).unbind(1)
    masked = mask_spans(FLAT, lo, hi, start[:, None], width[:, None], frame, domain=True)
    ids, pieces = masked.with_domain(99), FLAT.tolist()
    for k, (a, b, s, w) in enumerate(rows):
        row = [101, 99, *pieces[a:s], *[103] * n_p, *pieces[s + w : b], 102, 104]
        assert ids[k].tolist() == row + [0] * (ids.shape[1] - len(row))
        assert masked.attention[k].tolist() == [1] * len(row) + [0] * (ids.shape[1] - len(row))
        assert masked.targets[k].tolist() == pieces[s : s + w] + [0] * (n_p - w)
        assert ids[k][masked.slots[k]].tolist() == [103] * n_p
