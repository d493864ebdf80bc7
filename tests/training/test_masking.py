import torch

from masker.core.padding import IGNORE, Frame, mask_spans
from masker.training.masking import reveal, sample_spans, whole_texts

FLAT = torch.arange(1, 21)


def t(*values: object) -> torch.Tensor:
    return torch.tensor(values)


def test_sampled_spans_are_uniform_over_the_spans_that_can_be_asked_about() -> None:
    begins = torch.tensor([True, True, False, True, True, True, True])  # words of 1, 2, 1 pieces; then another text
    lo, hi = torch.zeros(6000, dtype=torch.long), torch.full((6000,), 4)
    starts, widths = sample_spans(begins, lo, hi, 3, torch.Generator().manual_seed(0))
    counts: dict[tuple[int, int], int] = {}
    for pair in zip(starts.tolist(), widths.tolist(), strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    # empty ones before each word and at the end; one, two or three pieces of whole words
    expected = {(0, 0), (1, 0), (3, 0), (4, 0), (0, 1), (0, 3), (1, 2), (1, 3), (3, 1)}
    assert set(counts) == expected
    assert min(counts.values()) > 0.8 * 6000 / len(expected)
    assert max(counts.values()) < 1.2 * 6000 / len(expected)


def test_sampled_spans_stay_inside_their_rows() -> None:
    begins = torch.ones(21, dtype=torch.bool)
    lo, hi = t(0, 3, 10, 10), t(3, 10, 10, 20)
    for seed in range(20):
        starts, widths = sample_spans(begins, lo, hi, 4, torch.Generator().manual_seed(seed))
        assert (starts >= lo).all()
        assert (starts + widths <= hi).all()


def test_a_row_cut_inside_a_word_never_masks_half_of_it() -> None:
    begins = torch.tensor([True, False, False, False, False, True])  # one word of five pieces, cut after three
    starts, widths = sample_spans(begins, t(0), t(3), 4, torch.Generator().manual_seed(1), whole=False)
    assert (starts.item(), widths.item()) == (0, 0)


# -- for the search editor ---------------------------------------------------------------------------------------------


def test_revealed_pieces_stand_where_their_masks_were_and_are_not_asked_for() -> None:
    frame = Frame((101,), (102,), 103, 0, 4)
    lo, hi, start = torch.zeros(400, dtype=torch.long), torch.full((400,), 9), torch.full((400, 1), 2)
    masked = mask_spans(FLAT, lo, hi, start, torch.full((400, 1), 3), frame, domain=True)
    shown = reveal(masked, 4, 0.5, torch.Generator().manual_seed(0))
    known = shown.targets == IGNORE
    assert torch.equal(shown.ids.gather(1, shown.slots)[known], masked.targets[known])
    assert (shown.ids.gather(1, shown.slots)[~known] == 103).all()
    assert torch.equal(shown.targets[~known], masked.targets[~known])
    counts = known.sum(1)
    assert (known.long().diff(dim=1) <= 0).all()  # the first ones
    assert set(counts.tolist()) == {0, 1, 2, 3}  # never all of them
    assert 150 < int((counts > 0).sum()) < 250
    others = torch.ones_like(masked.ids, dtype=torch.bool).scatter(1, masked.slots, False)
    assert torch.equal(shown.ids[others], masked.ids[others])


def test_spans_that_do_not_exist_are_not_revealed() -> None:
    frame = Frame((101,), (102,), 103, 0, 2)
    starts = torch.tensor([[1, 4], [1, 1 << 40]])
    masked = mask_spans(FLAT, t(0, 0), t(6, 4), starts, torch.ones_like(starts), frame, domain=False)
    shown = reveal(masked, 2, 1.0, torch.Generator().manual_seed(0))
    assert shown.ids[:, 0].tolist() == [101, 101]
    assert (shown.targets == IGNORE).sum(1).tolist() == [2, 3]


def test_whole_texts_have_neither_masks_nor_a_domain() -> None:
    frame = Frame((101,), (102,), 103, 0, 4)
    whole = whole_texts(FLAT, t(0, 3), t(3, 5), frame)
    pieces = FLAT.tolist()
    assert whole.ids.tolist() == [[101, *pieces[:3], 102], [101, *pieces[3:5], 102, 0]]
    assert whole.attention.tolist() == [[1] * 5, [1] * 4 + [0]]
