"""A span becomes n_p masks (paper, "Padded Masked Language Models"). Training and scoring both come through here.

Texts lie one after the other in one flat tensor of pieces. A row shows the model pieces `lo` to `hi` of it (a whole
text, or a window of a long one) with one or more spans masked out:

    [CLS] [domain:target] w_1 .. w_{i-1} [MASK] x n_p w_{j+1} .. w_|W| [SEP]

The targets of the masks are w_i .. w_j, filled up with [PAD].
"""

from dataclasses import dataclass

from masker.core.runtime import Array, array_module

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

    ids: Array
    attention: Array
    slots: Array
    targets: Array
    domain: int | None

    def with_domain(self, token: Array | int) -> Array:
        """[B, L] ids for one domain: every domain is asked about the same masked input."""
        ids = self.ids + 0  # a copy
        ids[:, self.domain] = token
        return ids


def mask_spans(
    flat: Array, lo: Array, hi: Array, starts: Array, widths: Array, frame: Frame, *, domain: bool,
    length: int | None = None,
) -> Masked:  # fmt: skip
    """Mask spans of `widths` [B, m] pieces from the flat index `starts` [B, m] in rows `lo`..`hi` [B].

    Spans of a row are in order and apart. A span that starts after `hi` does not exist: its targets are IGNORE.
    NumPy arrays give NumPy arrays, tensors give tensors. `length` is that of the longest row, if it is known.
    """
    n_p, xp, on = frame.n_p, *array_module(flat)
    lo_, hi_ = lo[:, None], hi[:, None]
    real = starts <= hi_  # [B, m]
    widths = widths * real
    head = len(frame.start) + domain
    grown = n_p * real - widths  # [B, m] by how much each span lengthens the row
    before = grown.cumsum(1) - grown
    first = xp.where(real, starts - lo_ + before, 1 << 30)  # [B, m] first slot of each span, in the row's body
    body = hi - lo + grown.sum(1)  # [B] pieces and masks of a row
    length = length or int(body.max()) + head + len(frame.end)

    k = xp.arange(length - head, **on)[None, :]  # [1, L'] positions after [CLS] and the domain
    passed = k[:, :, None] >= first[:, None, :] + n_p  # [B, L', m] spans that end before k
    is_mask = ((k[:, :, None] >= first[:, None, :]) & ~passed).any(-1)
    source = lo_ + k - (passed * grown[:, None, :]).sum(-1)  # the piece that stands at k, where it is no mask
    ids = xp.where(is_mask, frame.mask, flat[source.clip(0, len(flat) - 1)])
    for offset, token in enumerate(frame.end):
        ids = xp.where(k == (body + offset)[:, None], token, ids)
    inside = k < (body + len(frame.end))[:, None]
    ids = xp.where(inside, ids, frame.pad)
    prefix = [xp.full((len(lo), 1), token, dtype=xp.int64, **on) for token in (*frame.start, *[frame.pad] * domain)]

    t = xp.arange(n_p, **on)  # [n_p]
    targets = flat[(starts[:, :, None] + t).clip(0, len(flat) - 1)]
    targets = xp.where(t < widths[:, :, None], targets, frame.pad)
    targets = xp.where(real[:, :, None], targets, IGNORE + 0 * t)  # 0 * t: int64, whatever `flat` is
    slots = (first[:, :, None] + t + head) * real[:, :, None]
    return Masked(
        ids=xp.concatenate([*prefix, ids], 1),
        attention=xp.concatenate([*map(xp.ones_like, prefix), inside + 0 * k], 1),
        slots=slots.reshape(len(lo), -1),
        targets=targets.reshape(len(lo), -1),
        domain=len(frame.start) if domain else None,
    )
