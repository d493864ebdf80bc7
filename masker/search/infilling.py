"""Beyond the best piece for every mask: infills that the target domain likes and the source domain does not.

A span is asked about as in the paper, but with the `TOP` best pieces of every mask. Contrast(piece) = 2 log Pt - log Ps
then gives further infills of one piece, and, piece by piece from the left, each choice seen by the next, two more.

A model that was fitted to few texts knows hardly what tells its domains apart; to count their pieces tells much of it.
So `odds` [2, V], of the target and the source domain, come to the log-probabilities, if they are known.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from masker.core.batching import by_length
from masker.core.padding import Frame, mask_spans
from masker.core.runtime import array_module, to_numpy
from masker.core.scoring import DomainScorer
from masker.search.edited import Edited
from masker.search.keys import within
from masker.search.pool import Pool, compact

TOP = 8  # pieces a mask, among which contrast chooses
BEAMS = 2  # first pieces from which a span is refilled
SINGLES = 6  # infills of one piece alone

# rows, their pieces [R, n_p] so far and the likelihood of these [R] -> [R] whether it is worth to go on with them
Alive = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Infiller:
    """The spans of several texts with what both domains say of them; without a source domain there is no contrast."""

    def __init__(
        self,
        texts: Edited,
        number: np.ndarray,
        span: np.ndarray,
        *,
        target: DomainScorer,
        source: DomainScorer | None,
        frame: Frame,
        window: int,
        allowed: np.ndarray,
        batch_tokens: int,
        odds: np.ndarray | None = None,
    ) -> None:
        self.text, self.span = number, span  # [S] the text of every span, and [S, 2] its words
        self._target, self._source, self._frame, self._budget = target, source, frame, batch_tokens
        self._odds, self._most = odds, np.float32(0.0 if odds is None else odds[0].max())
        bias = 0.0 if odds is None else odds[0] - self._most  # a runtime takes no more than 0
        self._bias = np.where(allowed, bias, -np.inf).astype(np.float32)
        self._rows, self._flat = texts.rows(number, span + texts.starts[number][:, None], window), texts.pieces
        around = len(frame.start) + 1 + len(frame.end) + frame.n_p
        self._lengths = self._rows[:, 1] - self._rows[:, 0] - self._rows[:, 3] + around
        size, n_p = len(self._rows), frame.n_p
        self.best = np.zeros((size, n_p, TOP), dtype=np.int64)
        self.target_log_p, self.source_log_p = np.zeros((2, size, n_p, TOP), dtype=np.float32)
        self.old_t, self.old_s = np.zeros((2, size))  # log L2 and log L4
        self.words_s = np.zeros(size)  # log L4 without the [PAD]s: of the words, whatever is thought of their number
        for batch in by_length(self._lengths, batch_tokens):
            shown = np.zeros((len(batch), 0), dtype=np.int64)
            self.best[batch], self.target_log_p[batch], self.source_log_p[batch], old = self._ask(
                batch, shown, slice(0, n_p)
            )
            self.old_t[batch], self.old_s[batch] = old.sum(1).T
            real = np.arange(n_p) < self._rows[batch, 3][:, None]
            self.words_s[batch] = np.where(real, old[:, :, 1], 0.0).sum(1)

    @cached_property
    def old(self) -> np.ndarray:
        """[S, n_p] the pieces that stand in the spans, -1 after the last."""
        k = np.arange(self._frame.n_p)
        at = np.minimum(self._rows[:, 2:3] + k, len(self._flat) - 1)
        return np.where(k < self._rows[:, 3:], self._flat[at], -1)

    @property
    def inside(self) -> np.ndarray:
        """[S] whether something stands before the span."""
        return np.asarray(self.span[:, 0] > 0)

    def worth(self) -> np.ndarray:
        """[S] how much a span is worth to be refilled: by how much the source domain prefers the old words and the
        target domain new ones, in nats, times how sure the target domain is of them.
        """
        contrast = _contrast(self.target_log_p, self.source_log_p)
        empty = self._rows[:, 3] == 0
        pad = self.best[:, 0] == self._frame.pad
        contrast[:, 0][empty[:, None] & pad] = -np.inf  # nothing for nothing is no edit
        first = TOP * np.arange(contrast.size // TOP).reshape(contrast.shape[:2])
        chosen = np.stack([first, first + contrast.argmax(2)])  # [2, S, n_p]
        target_log_p, source_log_p = (x.take(chosen).sum(2) for x in (self.target_log_p, self.source_log_p))
        worth: np.ndarray = (np.exp(0.5 * target_log_p) * (self.old_s - self.old_t + target_log_p - source_log_p)).max(
            0
        )
        return worth

    def pool(self) -> Pool:
        """The best infill of every span, as in the paper, and infills of one piece."""
        rows = np.arange(len(self._rows))
        best = self.best[:, :, 0], self.target_log_p[:, :, 0].sum(1), self.source_log_p[:, :, 0].sum(1)
        return Pool.of([self._pooled(rows, compact(best[0], self._frame.pad), *best[1:]), self._singles()])

    def refills(self, refilled: int, alive: Alive) -> Pool:
        """The `refilled` spans of every text most worth it, filled piece by piece as long as they are alive."""
        return self._refill(np.sort(within(self.text, -self.worth(), most=refilled)), alive)

    def _pooled(self, rows: np.ndarray, pieces: np.ndarray, target_log_p: np.ndarray, source_log_p: np.ndarray) -> Pool:
        return Pool(self.text[rows], rows, pieces, target_log_p.astype(np.float64), source_log_p.astype(np.float64))

    def _singles(self) -> Pool:
        """Up to SINGLES pieces that could stand alone in a span, by contrast.

        Masks that are filled alone do not know of each other: several pieces come together only in refills.
        """
        is_pad = self.best == self._frame.pad
        rest = is_pad[:, 1:]
        alone = rest.any(2).all(1)  # [S] whether the other masks could be [PAD]
        target_log_p, source_log_p = (
            x[:, 0] + np.where(rest, x[:, 1:], 0.0).sum((1, 2))[:, None] for x in (self.target_log_p, self.source_log_p)
        )  # [S, TOP]
        contrast = np.where(is_pad[:, 0] | ~alone[:, None], -np.inf, _contrast(target_log_p, source_log_p))
        order = np.argsort(-contrast, 1, kind="stable")[:, :SINGLES] + TOP * np.arange(len(contrast))[:, None]
        order = order[contrast.take(order) > -np.inf]
        pieces = np.full((len(order), self._frame.n_p), -1)
        pieces[:, 0] = self.best[:, 0].take(order)
        return self._pooled(order // TOP, pieces, target_log_p.take(order), source_log_p.take(order))

    def _refill(self, rows: np.ndarray, alive: Alive) -> Pool:
        """Fill spans piece by piece from the left, from the BEAMS first pieces of most contrast."""
        n_p, pad = self._frame.n_p, self._frame.pad
        contrast = _contrast(self.target_log_p[rows, 0], self.source_log_p[rows, 0])  # [R, TOP]
        contrast[(self._rows[rows, 3] == 0)[:, None] & (self.best[rows, 0] == pad)] = -np.inf
        first = np.argsort(-contrast, 1, kind="stable")[:, :BEAMS].ravel()
        rows = np.repeat(rows, BEAMS)
        ids = np.full((len(rows), n_p), pad)
        ids[:, 0] = self.best[rows, 0, first]
        target_log_p = self.target_log_p[rows, 0, first].astype(np.float64)
        source_log_p = self.source_log_p[rows, 0, first].astype(np.float64)
        for slot in range(1, n_p):
            hope = alive(rows, compact(ids, pad), target_log_p)
            rows, ids, target_log_p, source_log_p = (x[hope] for x in (rows, ids, target_log_p, source_log_p))
            going = np.flatnonzero(ids[:, slot - 1] != pad)  # after a [PAD] come only [PAD]s
            for part in by_length(self._lengths[rows], self._budget, going):
                best, t, s, _ = self._ask(rows[part], ids[part, :slot], slice(slot, slot + 1))
                choice = _contrast(t, s)[:, 0].argmax(1)
                at = np.arange(len(part))
                ids[part, slot] = best[at, 0, choice]
                target_log_p[part] += t[at, 0, choice]
                source_log_p[part] += s[at, 0, choice]
        return self._pooled(rows, compact(ids, pad), target_log_p, source_log_p)

    def _ask(
        self, batch: np.ndarray, shown: np.ndarray, slots: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows with their first pieces `shown` [B, k], asked about masks: TOP pieces, log Pt, log Ps, those of W."""
        to_device = self._target.runtime.to_device
        lo, hi, start, width = (to_device(self._rows[batch])[:, k] for k in range(4))
        masked = mask_spans(
            to_device(self._flat),
            lo,
            hi,
            start[:, None],
            width[:, None],
            self._frame,
            domain=True,
            length=int(self._lengths[batch].max()),
        )
        ids = masked.ids
        for k in range(shown.shape[1]):
            ids[to_device(np.arange(len(batch))), masked.slots[:, k]] = to_device(np.ascontiguousarray(shown[:, k]))
        old, where = masked.targets[:, slots, None], masked.slots[:, slots]
        target, source = self._target, self._source
        t = target.runtime(
            masked.with_domain(target.token), masked.attention, where, old, to_device(self._bias), top=TOP
        )
        best, best_log_p, old_t, there = map(to_numpy, (t.best, t.best_log_p, t.asked_log_p, old))
        if self._odds is not None:
            best_log_p = np.minimum(best_log_p + self._most, 0.0)  # no more than certain
            old_t = np.minimum(old_t + self._odds[0][there], 0.0)
        if source is None:
            s = np.concatenate([best_log_p, old_t], 2)
        else:
            asked = array_module(old)[0].concatenate([t.best, old], 2)
            s = to_numpy(
                source.runtime(masked.with_domain(source.token), masked.attention, where, asked, None).asked_log_p
            )
            if self._odds is not None:
                s = np.minimum(s + self._odds[1][np.concatenate([best, there], 2)], 0.0)
        return best, best_log_p, s[:, :, :TOP], np.stack([old_t[:, :, 0], s[:, :, TOP]], 2)


def _contrast(target_log_p: np.ndarray, source_log_p: np.ndarray) -> np.ndarray:
    return target_log_p + (target_log_p - source_log_p)
