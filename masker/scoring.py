"""How much the two domains disagree about a span (paper, "Where to edit?").

L1 = L(What | target)   What = the target domain's own infill, the best piece for every mask
L2 = L(W    | target)   W    = the words that stand there
L3 = L(What | source)   both domains are asked about the same masked input, L being the product over the n_p masks
L4 = L(W    | source)

TargetScore = L1 - L2        SourceScore = -max(0, L3 - L4)        Score = TargetScore + SourceScore
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from masker.model import Runtime
from masker.padding import Frame, Masked, mask_spans
from masker.spans import Span
from masker.text import Text


@dataclass(frozen=True)
class Side:
    """One domain as the scorer sees it: who computes its probabilities, and the id of its token."""

    runtime: Runtime
    token: int


@dataclass(frozen=True)
class SpanScores:
    """Likelihoods of all spans of one text, as natural logarithms, and the infills that they speak of.

    `log_L3` and `log_L4` are None where there is no source domain; then Score is TargetScore alone.
    """

    text: Text
    spans: Sequence[Span]
    infills: np.ndarray  # [S, n_p] ids of What, [PAD] included
    log_L1: np.ndarray  # [S]
    log_L2: np.ndarray
    log_L3: np.ndarray | None = None
    log_L4: np.ndarray | None = None

    @property
    def target_score(self) -> np.ndarray:
        return target_score(np.exp(self.log_L1), np.exp(self.log_L2))

    @property
    def source_score(self) -> np.ndarray:
        if self.log_L3 is None or self.log_L4 is None:
            return np.zeros(len(self.spans))
        return source_score(np.exp(self.log_L3), np.exp(self.log_L4))

    @property
    def score(self) -> np.ndarray:
        return self.target_score + self.source_score


def target_score(L1: np.ndarray, L2: np.ndarray) -> np.ndarray:
    return L1 - L2


def source_score(L3: np.ndarray, L4: np.ndarray) -> np.ndarray:
    return -np.maximum(0.0, L3 - L4) + 0.0  # no -0.0


def score_spans(
    texts: Sequence[Text],
    spans: Sequence[Sequence[Span]],
    *,
    target: Side,
    source: Side | None,
    frame: Frame,
    window: int,
    allowed: np.ndarray,
    batch_tokens: int,
) -> list[SpanScores]:
    """Score the given spans of several texts together. `allowed` [V] says which pieces may be infilled."""
    rows = _rows(texts, spans, window)
    infills = np.zeros((len(rows.start), frame.n_p), dtype=np.int64)
    log_L = np.zeros((4, len(rows.start)))
    bias = torch.zeros(len(allowed)).masked_fill(~torch.from_numpy(allowed), -torch.inf)
    around = len(frame.start) + 1 + len(frame.end) + frame.n_p  # 1: the domain's token
    for batch in _batches(rows.hi - rows.lo + around, batch_tokens):
        masked = rows.mask(batch, frame)
        old = masked.targets  # [B, n_p] W and its [PAD]s
        t = target.runtime(masked.with_domain(target.token), masked.attention, masked.slots, old[:, :, None], bias)
        infills[batch] = t.best.numpy()
        log_L[0, batch] = t.best_log_p.double().sum(1).numpy()
        log_L[1, batch] = t.asked_log_p[:, :, 0].double().sum(1).numpy()
        if source:
            asked = torch.stack([t.best, old], 2)  # [B, n_p, 2]
            s = source.runtime(masked.with_domain(source.token), masked.attention, masked.slots, asked, None)
            log_L[2:, batch] = s.asked_log_p.double().sum(1).T.numpy()
    scores, at = [], 0
    for text, of_text in zip(texts, spans, strict=True):
        part = slice(at, at + len(of_text))
        at += len(of_text)
        likelihoods = [log_L[k, part] if source or k < 2 else None for k in range(4)]
        scores.append(SpanScores(text, of_text, infills[part], *likelihoods))  # type: ignore[arg-type]
    return scores


@dataclass(frozen=True)
class _Rows:
    """One masked input a span: the span and the window of its text around it, in one flat tensor of pieces."""

    flat: Tensor
    lo: Tensor
    hi: Tensor
    start: Tensor
    width: Tensor

    def mask(self, batch: np.ndarray, frame: Frame) -> Masked:
        b = torch.from_numpy(batch)
        starts, widths = self.start[b][:, None], self.width[b][:, None]
        return mask_spans(self.flat, self.lo[b], self.hi[b], starts, widths, frame, domain=True)


def _rows(texts: Sequence[Text], spans: Sequence[Sequence[Span]], window: int) -> _Rows:
    flat, rows = [0], []  # the flat tensor is never empty, whatever the texts are
    for text, of_text in zip(texts, spans, strict=True):
        at, size = len(flat), len(text.pieces)
        flat.extend(text.pieces)
        for span in of_text:
            start, stop = text.bounds[span.start], text.bounds[span.stop]
            first = max(0, min((start + stop - window) // 2, size - window))  # the span in the middle of its window
            rows.append((at + first, at + min(size, first + window), at + start, stop - start))
    return _Rows(torch.tensor(flat), *torch.tensor(rows, dtype=torch.long).reshape(-1, 4).unbind(1))


def _batches(lengths: Tensor, batch_tokens: int) -> Iterator[np.ndarray]:
    """Rows of like length together, at most `batch_tokens` tokens a batch, so that memory is bounded."""
    order = np.argsort(lengths.numpy(), kind="stable")[::-1]
    at = 0
    while at < len(order):
        longest = int(lengths[order[at]])
        size = max(1, batch_tokens // longest)
        yield order[at : at + size].copy()
        at += size
