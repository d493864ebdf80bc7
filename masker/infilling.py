"""Beyond the best piece for every mask: infills that the target domain likes and the source domain does not.

A span is asked about as in the paper, but with the `TOP` best pieces of every mask. Contrast(piece) = 2 log Pt - log Ps
then gives a second infill of one piece, and, piece by piece from the left, each choice seen by the next, two more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from masker.padding import Frame, mask_spans
from masker.runtime import library, to_numpy
from masker.scoring import Side, _batches, _rows
from masker.spans import Span
from masker.text import Text

TOP = 8  # pieces a mask, among which contrast chooses
BEAMS = 2  # first pieces from which a span is refilled


@dataclass(frozen=True)
class Infill:
    """Pieces for a span, and their log-likelihoods in the target and in the source domain."""

    span: int
    pieces: tuple[int, ...]  # without [PAD]
    log_t: float
    log_s: float


class Infiller:
    """The spans of several texts with all that both domains say of them; without a source domain there is no contrast.

    `passes` counts the rows that went through the model.
    """

    def __init__(
        self, texts: Sequence[Text], spans: Sequence[Sequence[Span]], *, target: Side, source: Side | None,
        frame: Frame, window: int, allowed: np.ndarray, batch_tokens: int,
    ) -> None:  # fmt: skip
        self.texts, self.spans = texts, spans
        self.ends = list(accumulate(map(len, spans), initial=0))  # rows of text k: ends[k] up to ends[k + 1]
        self.passes = np.zeros(len(texts), dtype=np.int64)
        self._target, self._source, self._frame, self._budget = target, source, frame, batch_tokens
        self._bias = np.where(allowed, 0.0, -np.inf).astype(np.float32)
        self._rows = _rows(texts, spans, window)
        self._text = np.repeat(np.arange(len(texts)), [len(of_text) for of_text in spans])
        around = len(frame.start) + 1 + len(frame.end) + frame.n_p
        self._lengths = self._rows[:, 1] - self._rows[:, 0] - self._rows[:, 3] + around
        self._flat = np.fromiter(chain([0], *(text.pieces for text in texts)), np.int64)
        size, n_p = len(self._rows), frame.n_p
        self.best = np.zeros((size, n_p, TOP), dtype=np.int64)
        self.log_t, self.log_s = np.zeros((2, size, n_p, TOP), dtype=np.float32)
        self.old_t, self.old_s = np.zeros((2, size))  # log L2 and log L4
        for batch in _batches(self._lengths, None, batch_tokens):
            shown = np.zeros((len(batch), 0), dtype=np.int64)
            self.best[batch], self.log_t[batch], self.log_s[batch], old = self._ask(batch, shown, slice(0, n_p))
            self.old_t[batch], self.old_s[batch] = old.sum(1).T

    def choices(self) -> tuple[np.ndarray, np.ndarray]:
        """[2, S, n_p] which of the TOP pieces: the best one, and the one of most contrast; and [S] log-odds of change.

        The log-odds say by how much the source domain prefers the old words and the target domain the new ones.
        """
        contrast = _contrast(self.log_t, self.log_s)
        empty = self._rows[:, 3] == 0
        pad = self.best == self._frame.pad
        contrast[:, 0][empty[:, None] & pad[:, 0]] = -np.inf  # nothing for nothing is no edit
        chosen = np.stack([np.zeros(contrast.shape[:2], dtype=np.int64), contrast.argmax(2)])
        log_t, log_s = (np.take_along_axis(x, chosen[1][:, :, None], 2).sum((1, 2)) for x in (self.log_t, self.log_s))
        first_t, first_s = self.log_t[:, :, 0].sum(1), self.log_s[:, :, 0].sum(1)
        change = (self.old_s - self.old_t) + np.stack([first_t - first_s, log_t - log_s])
        worth = np.exp(0.5 * np.stack([first_t, log_t])) * change
        return chosen, worth.max(0)

    def pool(self, refilled: int) -> list[list[Infill]]:
        """Per text: the infills of all its spans, and refills of the `refilled` ones most worth it."""
        chosen, worth = self.choices()
        pools: list[list[Infill]] = []
        rows = []
        for k in range(len(self.texts)):
            at, end = self.ends[k], self.ends[k + 1]
            best = [self._infill(at, row, chosen[0, row]) for row in range(at, end)]
            other = [self._infill(at, row, chosen[1, row]) for row in range(at, end)]
            # masks that are filled alone do not know of each other: several pieces come together only in refills
            pools.append([*best, *(infill for infill in other if len(infill.pieces) == 1)])
            rows.append(at + np.argsort(-worth[at:end], kind="stable")[:refilled])
        if refilled and len(self._rows):
            for row, infill in self._refill(np.concatenate(rows)):
                pools[self._text[row]].append(infill)
        return pools

    def _infill(self, at: int, row: int, chosen: np.ndarray) -> Infill:
        slots = np.arange(self._frame.n_p)
        log_t, log_s = (float(x[row, slots, chosen].sum()) for x in (self.log_t, self.log_s))
        return Infill(row - at, self._pieces(self.best[row, slots, chosen]), log_t, log_s)

    def _pieces(self, ids: np.ndarray) -> tuple[int, ...]:
        return tuple(int(i) for i in ids if i != self._frame.pad)

    def _refill(self, rows: np.ndarray) -> Iterator[tuple[int, Infill]]:
        """Fill spans piece by piece from the left, from the BEAMS first pieces of most contrast."""
        n_p, pad = self._frame.n_p, self._frame.pad
        contrast = _contrast(self.log_t[rows, 0], self.log_s[rows, 0])  # [R, TOP]
        contrast[(self._rows[rows, 3] == 0)[:, None] & (self.best[rows, 0] == pad)] = -np.inf
        first = np.argsort(-contrast, 1, kind="stable")[:, :BEAMS].ravel()
        rows = np.repeat(rows, BEAMS)
        ids = np.full((len(rows), n_p), pad)
        ids[:, 0] = self.best[rows, 0, first]
        log_t = self.log_t[rows, 0, first].astype(np.float64)
        log_s = self.log_s[rows, 0, first].astype(np.float64)
        for slot in range(1, n_p):
            going = np.flatnonzero(ids[:, slot - 1] != pad)  # after a [PAD] come only [PAD]s
            for part in _batches(self._lengths[rows], going, self._budget):
                best, t, s, _ = self._ask(rows[part], ids[part, :slot], slice(slot, slot + 1))
                choice = _contrast(t, s)[:, 0].argmax(1)
                at = np.arange(len(part))
                ids[part, slot] = best[at, 0, choice]
                log_t[part] += t[at, 0, choice]
                log_s[part] += s[at, 0, choice]
        for k, row in enumerate(rows.tolist()):
            text = self._text[row]
            yield row, Infill(row - self.ends[text], self._pieces(ids[k]), float(log_t[k]), float(log_s[k]))

    def _ask(
        self, batch: np.ndarray, shown: np.ndarray, slots: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows with their first pieces `shown` [B, k], asked about masks: TOP pieces, log Pt, log Ps, those of W."""
        put = self._target.runtime.put
        lo, hi, start, width = (put(self._rows[batch])[:, k] for k in range(4))
        masked = mask_spans(put(self._flat), lo, hi, start[:, None], width[:, None], self._frame, domain=True,
                            length=int(self._lengths[batch].max()))  # fmt: skip
        ids = masked.ids
        for k in range(shown.shape[1]):
            ids[put(np.arange(len(batch))), masked.slots[:, k]] = put(np.ascontiguousarray(shown[:, k]))
        old, where = masked.targets[:, slots, None], masked.slots[:, slots]
        target, source = self._target, self._source
        t = target.runtime(masked.with_domain(target.token), masked.attention, where, old, put(self._bias), top=TOP)
        if source is not None:
            asked = library(old)[0].concatenate([t.best, old], 2)
            s = source.runtime(masked.with_domain(source.token), masked.attention, where, asked, None).asked_log_p
            self.passes += np.bincount(self._text[batch], minlength=len(self.texts))
        else:
            s = library(old)[0].concatenate([t.best_log_p, t.asked_log_p], 2)
        self.passes += np.bincount(self._text[batch], minlength=len(self.texts))
        s = to_numpy(s)
        old_log_p = np.stack([to_numpy(t.asked_log_p)[:, :, 0], s[:, :, TOP]], 2)  # [B, m, 2]
        return to_numpy(t.best), to_numpy(t.best_log_p), s[:, :, :TOP], old_log_p


def _contrast(log_t: np.ndarray, log_s: np.ndarray) -> np.ndarray:
    return log_t + (log_t - log_s)
