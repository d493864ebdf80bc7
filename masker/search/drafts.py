"""One more infill in each of many texts: which of them are worth a closer look, found with arrays alone."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from masker.core.batching import padded
from masker.core.spans import Span
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.ranking import bound, doubles, f_score, matches, rank
from masker.search.segments import Draft, Part, Segment

MARGIN = 1.5  # times as many candidates as wanted are spelt out: some of them give the same text


@dataclass(frozen=True)
class Candidates:
    """Infills for words of segments, one a row."""

    base: np.ndarray  # [C] the number of the text that they were found in
    span: np.ndarray  # [C, 2] words of the segment
    pieces: np.ndarray  # [C, n_p], -1 after the last
    words: np.ndarray  # [C, n_p] what they spell, 0 after the last
    count: np.ndarray  # [C] how many words that are
    target_log_p: np.ndarray  # [C]
    source_log_p: np.ndarray
    old_target_log_p: np.ndarray  # of the words that go
    old_source_log_p: np.ndarray

    def __len__(self) -> int:
        return len(self.base)

    def take(self, chosen: np.ndarray) -> "Candidates":
        return Candidates(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def of(cls, some: Sequence["Candidates"]) -> "Candidates":
        return cls(*(np.concatenate([getattr(part, field.name) for part in some]) for field in fields(cls)))

    def part(self, k: int, segment: Segment) -> Part:
        a, b = self.span[k].tolist()
        pieces = tuple(i for i in self.pieces[k].tolist() if i >= 0)
        numbers = (self.target_log_p, self.source_log_p, self.old_target_log_p, self.old_source_log_p)
        first = segment.words.start
        return Part(Span(first + a, first + b), pieces, *(float(x[k]) for x in numbers))


class Bases:
    """Texts that infills are put into: segments as they are, or drafts of them."""

    def __init__(self, segments: Sequence[Segment], numbers: Sequence[int], drafts: Sequence[Draft | None]) -> None:
        self.segments, self.drafts = segments, drafts
        self.number = np.array(numbers, np.int64)  # [B] of the segment
        self.pairs = pairs = [(segments[n], draft) for n, draft in zip(numbers, drafts, strict=True)]
        self.rows, inside = padded([(d.words if d else s.ids).tolist() for s, d in pairs], 0)
        self.homes, _ = padded([d.home.tolist() if d else range(len(s.ids)) for s, d in pairs], -1)
        self.source, known = padded([s.ids.tolist() for s, _ in pairs], 0)  # [B, L] the segments' own words
        self.lengths, self.old = inside.sum(1), known.sum(1)
        self.likelihood = np.array([d.likelihood if d else 0.0 for _, d in pairs])
        self.place = np.full((len(pairs), self.source.shape[1] + 1), -1)  # where a word of the segment is now
        at, column = np.nonzero((self.homes >= 0) & (inside > 0))
        self.place[at, self.homes[at, column]] = column
        self.place[np.arange(len(pairs)), self.old] = self.lengths
        self.removed = _dense(np.where(self.place[:, :-1] < 0, self.source, 0))
        self.added = _dense(np.where((self.homes < 0) & (inside > 0), self.rows, 0))
        self.shared = self.old - (self.removed > 0).sum(1) + matches(self.removed, self.added)
        edits = max(len(draft.parts) if draft else 1 for draft in drafts)
        self.taken = np.full((len(pairs), edits, 2), -1)  # of every part the first word, and the next that is free
        for k, (segment, draft) in enumerate(pairs):
            for n, part in enumerate(draft.parts if draft else ()):
                self.taken[k, n] = part.span.start - segment.words.start, _end(part) - segment.words.start

    def have_room(self, base: np.ndarray, c: Candidates) -> np.ndarray:
        """[N] whether candidates can be put into bases: their words are still there, and apart from other edits."""
        start, stop = c.span.T
        room = self.place[base, start] >= 0
        for k in range(c.words.shape[1]):
            room &= (start + k >= stop) | (self.place[base, np.minimum(start + k, self.old[base])] >= 0)
        end = stop + ((start == stop) | (c.count == 0))
        first, free = self.taken[base, :, 0], self.taken[base, :, 1]
        return np.asarray(room & ((first < 0) | (end[:, None] <= first) | (free <= start[:, None])).all(1))

    def similarity(self, base: np.ndarray, c: Candidates, lost: float) -> np.ndarray:
        """[N] F of the words of bases with one more candidate each."""
        start, stop = c.span.T
        word = start[:, None] + np.arange(c.words.shape[1])
        mine = self.source[base[:, None], np.minimum(word, self.source.shape[1] - 1)]
        removed = np.concatenate([self.removed[base], np.where(word < stop[:, None], mine, 0)], 1)
        added = np.concatenate([self.added[base], c.words], 1)
        old = self.old[base]
        shared = old - (removed > 0).sum(1) + matches(removed, added)
        return f_score(shared, self.lengths[base] + c.count - (stop - start), old, lost)

    def spliced(self, base: np.ndarray, c: Candidates) -> np.ndarray:
        """[N, L'] the words of bases with one more candidate each."""
        start, stop = c.span.T
        return _spliced(self.rows, base, self.place[base, start], stop - start, c.words, c.count)

    def draft(self, base: int, part: Part, count: int, words: np.ndarray, **values: Any) -> Draft:
        """A base with one more part of `count` words put in; `words` are all of it then."""
        segment, before = self.segments[self.number[base]], self.drafts[base]
        at, width = int(self.place[base, part.span.start - segment.words.start]), part.span.stop - part.span.start
        home = self.homes[base, : self.lengths[base]]
        spelt = before.spelt if before else segment.spelt
        parts = sorted([*(before.parts if before else ()), part], key=lambda p: p.span)
        fresh = [part.pieces, *[()] * (count - 1)][:count]
        return Draft(
            parts=tuple(parts),
            words=words[: len(home) - width + count],
            home=np.concatenate([home[:at], np.full(count, -1), home[at + width :]]),
            spelt=[*spelt[:at], *fresh, *spelt[at + width :]],
            **values,
        )


@dataclass(frozen=True)
class Spread:
    """Drafts that may be the best of their segments, by segment, those that are hoped most of first."""

    bases: Bases
    base: np.ndarray  # [N]
    candidates: Candidates
    rows: np.ndarray  # [N, L] their words
    likelihood: np.ndarray
    similarity: np.ndarray
    words_log_p: np.ndarray  # what the words' classifier says
    hoped: np.ndarray  # what they are worth if the encoder's classifier is sure of them
    most: np.ndarray  # and if that of the words is

    @property
    def number(self) -> np.ndarray:
        return np.asarray(self.bases.number[self.base])

    def draft(self, k: int) -> Draft:
        base, c = int(self.base[k]), self.candidates
        part = c.part(k, self.bases.segments[self.bases.number[base]])
        values: dict[str, Any] = {name: float(getattr(self, name)[k]) for name in ("likelihood", "similarity", "most")}
        log_p = np.array([0.0, self.words_log_p[k]])
        values |= {"log_p": log_p, "total": float(self.hoped[k])}
        return self.bases.draft(base, part, int(c.count[k]), self.rows[k], **values)


def spread(
    bases: Bases, base: np.ndarray, c: Candidates, style: StyleClassifiers, s: SearchSettings, *, most: int,
    bar: np.ndarray, worth: np.ndarray | None = None,
) -> Spread:  # fmt: skip
    """The drafts that candidates make of bases: up to `most` of a segment, all different, that can be worth more than
    its `bar`. Which of more are taken is said by `worth`; without, by what they are worth at most.
    """
    chosen = np.flatnonzero((c.count >= 0) & bases.have_room(base, c))
    base, c = base[chosen], c.take(chosen)
    similarity, likelihood = bases.similarity(base, c, s.lost), bases.likelihood[base] + c.target_log_p
    best = bound(s, likelihood, similarity)
    number = bases.number[base]
    order = grouped(number, best if worth is None else worth[chosen], best > bar[number], int(MARGIN * most))
    rows = bases.spliced(base[order], c.take(order))
    fresh = _fresh(bases, number[order], rows, style)
    order, rows = order[fresh], rows[fresh]
    few = grouped(number[order], -np.arange(len(order)), np.ones(len(order), bool), most)
    order, rows = order[few], rows[few]
    log_p = style.of_words(rows)
    both = np.stack([np.zeros(len(log_p)), log_p], 1)
    hoped = rank(s, both, likelihood[order], similarity[order])
    last = grouped(number[order], hoped, hoped > bar[number[order]], most)
    order, rows = order[last], rows[last]
    values = likelihood[order], similarity[order], log_p[last], hoped[last], best[order]
    return Spread(bases, base[order], c.take(order), rows, *values)


def grouped(group: np.ndarray, worth: np.ndarray, allowed: np.ndarray, most: int) -> np.ndarray:
    """Indices by group, the worthiest first: up to `most` of those that are allowed in each."""
    chosen = np.flatnonzero(allowed)
    order = chosen[np.lexsort((-worth[chosen], group[chosen]))]
    of = group[order]
    return np.asarray(order[np.arange(len(order)) - np.searchsorted(of, of) < most])


def _fresh(bases: Bases, number: np.ndarray, rows: np.ndarray, style: StyleClassifiers) -> np.ndarray:
    """Those that differ from the segment and from what comes before them, and double no word that was not double."""
    first = np.unique(bases.number, return_index=True)[1]
    of_segment = {int(bases.number[k]): k for k in first.tolist()}
    home = np.array([of_segment[n] for n in number.tolist()], np.int64)
    width = max(rows.shape[1], bases.source.shape[1])
    weights = np.random.default_rng(0).integers(1, 1 << 63, width, dtype=np.uint64) | np.uint64(1)
    keys = (rows.astype(np.uint64) * weights[: rows.shape[1]]).sum(1, dtype=np.uint64)
    known = (bases.source.astype(np.uint64) * weights[: bases.source.shape[1]]).sum(1, dtype=np.uint64)[home]
    doubled = doubles(bases.source, style.lexicon)[home]
    good = np.flatnonzero((keys != known) & (doubles(rows, style.lexicon) <= doubled))
    unique = keys[good] + number[good].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(good[np.sort(np.unique(unique, return_index=True)[1])])


def _spliced(
    rows: np.ndarray, base: np.ndarray, at: np.ndarray, width: np.ndarray, words: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """[N, L + W] rows with `width` elements from `at` on replaced by the first `count` of some words."""
    k = np.arange(rows.shape[1] + words.shape[1])
    at, count = at[:, None], count[:, None]
    behind = k - count + width[:, None]
    from_base = np.where(k < at, k, behind)
    kept = rows[base[:, None], np.clip(from_base, 0, rows.shape[1] - 1)]
    kept[from_base >= rows.shape[1]] = 0
    fresh = np.take_along_axis(words, np.clip(k - at, 0, words.shape[1] - 1), 1)
    return np.where((k >= at) & (k < at + count), fresh, kept)


def _dense(rows: np.ndarray) -> np.ndarray:
    """Rows without the 0s between other elements, as narrow as can be."""
    order = np.argsort(rows == 0, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(rows, order, 1)[:, : max(1, int((rows > 0).sum(1).max(initial=0)))])


def _end(part: Part) -> int:
    """The first word before which another edit can begin: a character has to stay between two of them."""
    return part.span.stop + (part.span.start == part.span.stop or not part.pieces)
