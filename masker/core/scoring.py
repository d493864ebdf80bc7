"""How much the two domains disagree about a span (paper, "Where to edit?").

L1 = L(What | target)   What = the target domain's own infill, the best piece for every mask
L2 = L(W    | target)   W    = the words that stand there
L3 = L(What | source)   both domains are asked about the same masked input, L being the product over the n_p masks
L4 = L(W    | source)

TargetScore = L1 - L2        SourceScore = -max(0, L3 - L4)        Score = TargetScore + SourceScore
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Protocol

import numpy as np

from masker.core.batching import by_length
from masker.core.padding import Frame, Masked, mask_spans
from masker.core.runtime import Array, Pending, Runtime, array_module, moving
from masker.core.spans import Span
from masker.core.text import Text


class Pieces(Protocol):
    """A text as far as a masked LM sees it: its pieces, and where each word begins, and the end."""

    @property
    def pieces(self) -> list[int]: ...
    @property
    def bounds(self) -> list[int]: ...


@dataclass(frozen=True)
class DomainScorer:
    """One domain as the scorer sees it: who computes its probabilities, and the id of its token."""

    runtime: Runtime
    token: int


@dataclass(frozen=True)
class SpanScores:
    """Likelihoods of all spans of one text, as natural logarithms, and the infills that they speak of.

    `log_L3` and `log_L4` are None where there is no source domain; then Score is TargetScore alone. They are NaN, and
    Score too, where the source domain has not been asked: see `search.pruning`.
    """

    text: Text
    spans: Sequence[Span]
    infills: np.ndarray  # [S, n_p] ids of What, [PAD] included
    log_L1: np.ndarray  # [S]
    log_L2: np.ndarray
    log_L3: np.ndarray | None = None
    log_L4: np.ndarray | None = None

    @property
    def log_L(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        return self.log_L1, self.log_L2, self.log_L3, self.log_L4

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


class ScoreTable:
    """The spans of several texts and their likelihoods: first L1 and L2 of all, then L3 and L4 of those that matter.

    `allowed` [V] says which pieces may be infilled.
    """

    def __init__(
        self,
        texts: Sequence[Text],
        spans: Sequence[Sequence[Span]],
        *,
        target: DomainScorer,
        source: DomainScorer | None,
        frame: Frame,
        window: int,
        allowed: np.ndarray,
        batch_tokens: int,
    ) -> None:
        self.texts, self.spans = texts, spans
        self.ends = list(accumulate(map(len, spans), initial=0))  # rows of text k: ends[k] up to ends[k + 1]
        self.infills = np.zeros((self.ends[-1], frame.n_p), dtype=np.int64)
        self.log_L = np.full((4, self.ends[-1]), np.nan)
        self._target, self._source, self._frame, self._budget = target, source, frame, batch_tokens
        self._allowed = allowed
        self._rows = masked_rows(texts, spans, window)
        around = len(frame.start) + 1 + len(frame.end) + frame.n_p  # 1: the domain's token
        self._lengths = self._rows[:, 1] - self._rows[:, 0] - self._rows[:, 3] + around
        self._flat = np.fromiter(chain([0], *(text.pieces for text in texts)), np.int64)  # [0]: it is never empty

    def ask(self, rows: np.ndarray | None = None, *, both: bool = False) -> None:
        """Ask the target domain about rows, or about all of them; and `both` domains, if there is a source."""
        self.begin(rows, both=both)()

    def begin(self, rows: np.ndarray | None = None, *, both: bool = False) -> Pending[None]:
        """As `ask`; what is returned waits for the answers and notes them."""
        side, other = self._target, self._source if both else None
        to_device = side.runtime.to_device
        flat, table = to_device(self._flat), to_device(self._rows)
        bias = to_device(np.where(self._allowed, 0.0, -np.inf).astype(np.float32))
        answers = []
        for batch in by_length(self._lengths, self._budget, rows):
            masked = self._mask(flat, table[to_device(batch)], batch)
            old = masked.targets[:, :, None]  # [B, n_p, 1] W and its [PAD]s
            t = side.runtime(masked.with_domain(side.token), masked.attention, masked.slots, old, bias)
            columns = [t.best[:, :, 0], _product(t.best_log_p), _product(t.asked_log_p)]
            if other:
                columns.append(self._asked_source(other, masked, t.best))
            answers.append((batch, array_module(old)[0].concatenate(columns, 1)))  # [B, n_p + 2 or 4]
        moved, n_p = _moving(answers), self._frame.n_p

        def note() -> None:
            for asked, answer in moved():
                self.infills[asked] = answer[:, :n_p]
                self.log_L[: answer.shape[1] - n_p, asked] = answer[:, n_p:].T

        return note

    def ask_source(self, rows: np.ndarray) -> None:
        """Ask the source domain about the infills that the target domain has given for rows."""
        assert self._source
        to_device = self._source.runtime.to_device
        flat, table = to_device(self._flat), to_device(self._rows)
        answers = []
        for batch in by_length(self._lengths, self._budget, rows):
            masked = self._mask(flat, table[to_device(batch)], batch)
            answers.append(
                (batch, self._asked_source(self._source, masked, to_device(self.infills[batch])[:, :, None]))
            )
        for asked, answer in _moving(answers)():
            self.log_L[2:, asked] = answer.T

    def scores(self, k: int) -> SpanScores:
        """Those of text k. Answers that come later show up in them."""
        part = slice(self.ends[k], self.ends[k + 1])
        L3, L4 = (self.log_L[2, part], self.log_L[3, part]) if self._source else (None, None)
        return SpanScores(
            self.texts[k], self.spans[k], self.infills[part], self.log_L[0, part], self.log_L[1, part], L3, L4
        )

    def _asked_source(self, side: DomainScorer, masked: Masked, best: Array) -> Array:
        """[B, 2] log L3 and log L4: both domains are asked about the same masked input."""
        asked = array_module(best)[0].concatenate([best, masked.targets[:, :, None]], 2)  # [B, n_p, 2]
        ids = masked.with_domain(side.token)
        return _product(side.runtime(ids, masked.attention, masked.slots, asked, None, 0).asked_log_p)

    def _mask(self, flat: Array, table: Array, batch: np.ndarray) -> Masked:
        lo, hi, start, width = (table[:, k] for k in range(4))
        length = int(self._lengths[batch].max())
        return mask_spans(flat, lo, hi, start[:, None], width[:, None], self._frame, domain=True, length=length)


def _product(log_p: Array) -> Array:
    """[B, n_p, K] -> [B, K]: L is the product over the masks."""
    return log_p.sum(1, dtype=array_module(log_p)[0].float64)


def _moving(answers: list[tuple[np.ndarray, Array]]) -> Pending[list[tuple[np.ndarray, np.ndarray]]]:
    """Rows and what was answered about them, off the device in one piece: each move waits for all that was begun."""
    if not answers:
        return list
    rows, tables = zip(*answers, strict=True)
    wait = moving(array_module(tables[0])[0].concatenate(tables))
    return lambda: [(np.concatenate(rows), wait())]


def masked_rows(texts: Sequence[Pieces], spans: Sequence[Sequence[Span]], window: int) -> np.ndarray:
    """[S, 4] the masked inputs of the spans of texts; see `span_rows`."""
    counts = np.fromiter(map(len, spans), np.int64, len(spans))
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(spans)), np.int64, 2 * int(counts.sum()))
    return span_rows(texts, counts, flat.reshape(-1, 2), window)


def span_rows(texts: Sequence[Pieces], counts: np.ndarray, span: np.ndarray, window: int) -> np.ndarray:
    """[S, 4] the masked input of every span: the window of its text around it, from and to, and its start and width.

    `span` [S, 2] are words of texts, so many (`counts`) of each of them one after the other. All of the result counts
    pieces in the one flat array of all texts, which begins with a 0.
    """
    sizes = np.array([len(text.pieces) for text in texts], dtype=np.int64)
    words = np.array([len(text.bounds) for text in texts], dtype=np.int64)
    text = np.repeat(np.arange(len(texts)), counts)  # [S] whose span it is
    bounds = np.fromiter(chain.from_iterable(text.bounds for text in texts), np.int64)
    start, stop = bounds[span + (words.cumsum() - words)[text][:, None]].T
    return windows((1 + sizes.cumsum() - sizes)[text], sizes[text], start, stop, window)


def windows(at: np.ndarray, size: np.ndarray, start: np.ndarray, stop: np.ndarray, window: int) -> np.ndarray:
    """[S, 4] as `span_rows`, of spans of pieces in texts of a size that begin at a place in the flat array."""
    first = ((start + stop - window) // 2).clip(0, np.maximum(0, size - window))  # the span in the middle of its window
    return np.stack([at + first, at + np.minimum(size, first + window), at + start, stop - start], 1)
