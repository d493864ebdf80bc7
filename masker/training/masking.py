"""Which spans training masks, and what it shows of them; `core.padding` then masks them as it does for scoring."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from masker.core.padding import IGNORE, Frame, Masked, mask_spans


def sample_spans(
    begins: Tensor,
    lo: Tensor,
    hi: Tensor,
    n_p: int,
    generator: torch.Generator | None = None,
    *,
    weights: Sequence[float] | None = None,
    whole: bool = True,
    longest: int | None = None,
) -> tuple[Tensor, Tensor]:
    """One span for each row `lo`..`hi` [B], among all spans of whole words with 0 to n_p pieces.

    These are the spans that `core.spans.enumerate_spans` lists: the model is trained on the questions it will be asked.
    `weights` says how likely a span of 0, 1, .. n_p pieces is to be drawn, relative to the others; all alike without.
    `begins` [N + 1] is true where a piece begins a word, and at the end of the flat tensor; rows are `whole` if they
    end with a word. `longest` is how many pieces a row has at most, if it is known. Gives starts, widths [B].
    """
    longest = longest or int((hi - lo).max())
    start = lo[:, None] + torch.arange(longest + 1, device=lo.device)  # [B, T+1]
    stop = start[:, :, None] + torch.arange(n_p + 1, device=lo.device)  # [B, T+1, n_p+1]
    bound = begins[stop.clamp(max=len(begins) - 1)]  # whether a span could start or stop there
    if whole:
        bound = bound | (stop == hi[:, None, None])
    allowed = bound[:, :, :1] & bound & (stop <= hi[:, None, None])
    draw = torch.rand(allowed.shape, generator=generator, device=lo.device).log()
    if weights is not None:  # the largest of log(u) / w falls on each with a chance proportional to its w
        draw = draw / torch.tensor(weights, device=lo.device)
    best = draw.masked_fill(~allowed, -torch.inf).flatten(1).argmax(1)
    return lo + best // (n_p + 1), best % (n_p + 1)


def span_weights(n_p: int) -> list[float]:
    """How fitting weighs spans of 0, 1, 2 .. pieces: 1, 2, 1, 1/2, 1/4 ..: mostly short, like the edits wanted."""
    return [1.0, *(2.0 ** (1 - k) for k in range(n_p))]


def reveal(masked: Masked, n_p: int, share: float, generator: torch.Generator) -> Masked:
    """Show the first 1 to n_p - 1 pieces of a `share` of the spans: spans are to be filled piece by piece too."""
    targets = masked.targets.view(len(masked.targets), -1, n_p)  # [B, m, n_p]
    draw = torch.rand((2, *targets.shape[:2], 1), generator=generator, device=targets.device)
    shown = torch.where(draw[0] < share, (1 + (draw[1] * (n_p - 1)).long()).clamp(max=n_p - 1), 0)  # [B, m, 1] pieces
    known = ((torch.arange(n_p, device=targets.device) < shown) & (targets != IGNORE)).flatten(1)
    there = torch.where(known, masked.targets, masked.ids.gather(1, masked.slots))
    ids = masked.ids.scatter(1, masked.slots, there)
    return replace(masked, ids=ids, targets=masked.targets.masked_fill(known, IGNORE))


def whole_texts(flat: Tensor, lo: Tensor, hi: Tensor, frame: Frame, length: int | None = None) -> Masked:
    """Rows without a mask and without a domain: what the style classifier reads."""
    nowhere = lo[:, None] * 0 + (1 << 40)
    return mask_spans(flat, lo, hi, nowhere, nowhere * 0, frame, domain=False, length=length)
