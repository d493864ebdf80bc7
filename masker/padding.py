"""A span becomes n_p masks (paper, "Padded Masked Language Models"). Training and scoring both come through here.

Texts lie one after the other in one flat tensor of pieces. A row shows the model pieces `lo` to `hi` of it (a whole
text, or a window of a long one) with one or more spans masked out:

    [CLS] [domain:target] w_1 .. w_{i-1} [MASK] x n_p w_{j+1} .. w_|W| [SEP]

The targets of the masks are w_i .. w_j, filled up with [PAD].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

IGNORE = -100  # the target of a slot that does not exist, as torch's cross-entropy has it


@dataclass(frozen=True)
class Frame:
    """What stands around and in place of the pieces: [CLS], [SEP], the ids of [MASK] and [PAD], and n_p."""

    start: tuple[int, ...]
    end: tuple[int, ...]
    mask: int
    pad: int
    n_p: int


@dataclass(frozen=True)
class Masked:
    """Masked inputs: `ids` and `attention` [B, L], `slots` [B, m * n_p] (where the masks are), `targets` [B, m * n_p].

    `domain` is the column for the domain's token, filled by `with_domain`; None where the model has no domains.
    """

    ids: Tensor
    attention: Tensor
    slots: Tensor
    targets: Tensor
    domain: int | None

    def with_domain(self, token: Tensor | int) -> Tensor:
        """[B, L] ids for one domain: every domain is asked about the same masked input."""
        ids = self.ids.clone()
        ids[:, self.domain] = token
        return ids


def mask_spans(
    flat: Tensor, lo: Tensor, hi: Tensor, starts: Tensor, widths: Tensor, frame: Frame, *, domain: bool
) -> Masked:
    """Mask spans of `widths` [B, m] pieces from the flat index `starts` [B, m] in rows `lo`..`hi` [B].

    Spans of a row are in order and apart. A span that starts after `hi` does not exist: its targets are IGNORE.
    """
    n_p, device = frame.n_p, flat.device
    lo_, hi_ = lo[:, None], hi[:, None]
    real = starts <= hi_  # [B, m]
    widths = widths * real
    head = len(frame.start) + domain
    grown = n_p * real - widths  # [B, m] by how much each span lengthens the row
    before = grown.cumsum(1) - grown
    first = torch.where(real, starts - lo_ + before, 1 << 30)  # [B, m] first slot of each span, in the row's body
    body = (hi_ - lo_).squeeze(1) + grown.sum(1)  # [B] pieces and masks of a row
    length = int(body.max()) + head + len(frame.end)

    k = torch.arange(length - head, device=device)[None, :]  # [1, L'] positions after [CLS] and the domain
    passed = k[:, :, None] >= first[:, None, :] + n_p  # [B, L', m] spans that end before k
    is_mask = ((k[:, :, None] >= first[:, None, :]) & ~passed).any(-1)
    source = lo_ + k - (passed * grown[:, None, :]).sum(-1)  # the piece that stands at k, where it is no mask
    ids = flat[source.clamp(0, len(flat) - 1)].long().masked_fill(is_mask, frame.mask)
    for offset, token in enumerate(frame.end):
        ids = torch.where(k == (body + offset)[:, None], token, ids)
    inside = k < (body + len(frame.end))[:, None]
    ids = ids.masked_fill(~inside, frame.pad)
    prefix = torch.tensor([*frame.start, *[frame.pad] * domain], device=device).expand(len(lo), -1)

    t = torch.arange(n_p, device=device)  # [n_p]
    targets = flat[(starts[:, :, None] + t).clamp(0, len(flat) - 1)].long()
    targets = targets.masked_fill(t >= widths[:, :, None], frame.pad).masked_fill(~real[:, :, None], IGNORE)
    slots = (first[:, :, None] + t + head) * real[:, :, None]
    return Masked(
        ids=torch.cat([prefix, ids], 1),
        attention=torch.cat([torch.ones_like(prefix), inside.long()], 1),
        slots=slots.flatten(1),
        targets=targets.flatten(1),
        domain=len(frame.start) if domain else None,
    )


def sample_spans(
    begins: Tensor,
    lo: Tensor,
    hi: Tensor,
    n_p: int,
    generator: torch.Generator | None = None,
    *,
    weights: Sequence[float] | None = None,
    whole: bool = True,
) -> tuple[Tensor, Tensor]:
    """One span for each row `lo`..`hi` [B], among all spans of whole words with 0 to n_p pieces.

    These are the spans that `spans.enumerate_spans` lists, so the model is trained on the questions it will be asked.
    `weights` says how likely a span of 0, 1, .. n_p pieces is to be drawn, relative to the others; all alike without.
    `begins` [N + 1] is true where a piece begins a word, and at the end of the flat tensor; rows are `whole` if they
    end with a word. Gives starts, widths [B].
    """
    longest = int((hi - lo).max())
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
