"""One more infill in each of many texts: which of them are worth a closer look, found with arrays alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from masker.core.batching import padded
from masker.core.spans import Span
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.keys import count_of, firsts, row_keys, some_of, within
from masker.search.ranking import bound, doubles, f_score, matches, rank
from masker.search.segments import Draft, Part, Segment

Row = tuple[Any, ...]  # of a draft that has been read: what it is worth, what it could be at most, and more
SPARE = 1.5  # times as many candidates as wanted are spelt out: some of them give the same text


@dataclass(frozen=True)
class Candidates:
    """Infills for words of segments, one a row."""

    base: np.ndarray  # [C] the number of the text that they were found in
    span: np.ndarray  # [C, 2] words of the segment
    pieces: np.ndarray  # [C, n_p], -1 after the last
    words: np.ndarray  # [C, n_p] what they spell, 0 after the last
    count: np.ndarray  # [C] how many words that are
    log_p: np.ndarray  # [C, 4] in the target and in the source domain, and so of the words that go

    def __len__(self) -> int:
        return len(self.base)

    def take(self, chosen: np.ndarray) -> "Candidates":
        return Candidates(*(getattr(self, field.name).take(chosen, 0) for field in fields(self)))

    @classmethod
    def of(cls, some: Sequence["Candidates"]) -> "Candidates":
        return cls(*(np.concatenate([getattr(part, field.name) for part in some]) for field in fields(cls)))

    @property
    def target_log_p(self) -> np.ndarray:
        return self.log_p[:, 0]

    @property
    def sizes(self) -> np.ndarray:
        """[C] how many pieces they have."""
        return count_of(self.pieces >= 0)


class Bases:
    """Texts that infills are put into: segments as they are, or drafts of them."""

    def __init__(self, segments: Sequence[Segment], numbers: Sequence[int], drafts: Sequence[Draft | None]) -> None:
        self.segments, self.drafts = segments, drafts
        self.number = np.array(numbers, np.int64)  # [B] of the segment
        self.pairs = pairs = [(segments[n], draft) for n, draft in zip(numbers, drafts, strict=True)]
        self.spelt = [segment.spelt(draft.parts if draft else ()) for segment, draft in pairs]
        self.rows, inside = padded([x.words for x in self.spelt], 0)
        self.homes, _ = padded([x.homes for x in self.spelt], -1)
        self.source, known = padded([s.ids.tolist() for s, _ in pairs], 0)  # [B, L] the segments' own words
        self.pieces, _ = padded([x.pieces for x in self.spelt], 0)
        self.bounds, _ = padded([x.bounds for x in self.spelt], 0)  # where in these each word begins, and the end
        self.first = np.array([s.words.start for s, _ in pairs], np.int64)  # [B] word of the segments, in their texts
        self.lengths, self.old = inside.sum(1), known.sum(1)
        self.likelihood = np.array([d.likelihood if d else 0.0 for _, d in pairs])
        self.place = np.full((len(pairs), self.source.shape[1] + 1), -1)  # where a word of the segment is now
        at, column = np.nonzero((self.homes >= 0) & (inside > 0))
        self.place[at, self.homes[at, column]] = column
        self.place[np.arange(len(pairs)), self.old] = self.lengths
        self.removed = _dense(np.where(self.place[:, :-1] < 0, self.source, 0))
        self.added = _dense(np.where((self.homes < 0) & (inside > 0), self.rows, 0))
        self.gone = (self.removed > 0).sum(1)
        self.shared = self.old - self.gone + matches(self.removed, self.added)
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
        return room & ~some_of((first >= 0) & (end[:, None] > first) & (free > start[:, None]))

    def similarity(self, base: np.ndarray, c: Candidates, lost: float) -> np.ndarray:
        """[N] F of the words of bases with one more candidate each."""
        start, stop = c.span.T
        word = start[:, None] + np.arange(c.words.shape[1])
        mine = self.source[base[:, None], np.minimum(word, self.source.shape[1] - 1)]
        removed = np.concatenate([self.removed[base], np.where(word < stop[:, None], mine, 0)], 1)
        added = np.concatenate([self.added[base], c.words], 1)
        old = self.old[base]
        shared = old - self.gone[base] - (stop - start) + matches(removed, added)
        return f_score(shared, self.lengths[base] + c.count - (stop - start), old, lost)

    def spliced(self, base: np.ndarray, c: Candidates) -> np.ndarray:
        """[N, L'] the words of bases with one more candidate each."""
        start, stop = c.span.T
        return _spliced(self.rows, base, self.place[base, start], stop - start, c.words, c.count)


@dataclass(frozen=True)
class Spread:
    """Drafts that may be the best of their segments, by segment, those that are hoped most of first; they are rows of
    arrays until the encoder's classifier has read them.
    """

    bases: Bases
    base: np.ndarray  # [N]
    candidates: Candidates
    likelihood: np.ndarray
    similarity: np.ndarray
    log_p: np.ndarray  # [N, 2] what the classifiers say; the encoder's is sure of what it has not read
    total: np.ndarray  # what they are worth then, by which they are sorted
    most: np.ndarray  # and if the words' classifier is sure, too

    @property
    def number(self) -> np.ndarray:
        return np.asarray(self.bases.number[self.base])

    def pieces(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of drafts, one after the other, and how many each has."""
        bases, base, c = self.bases, self.base[rows], self.candidates.take(rows)
        start, stop = c.span.T
        at = bases.place[base, start]
        first, last = bases.bounds[base, at], bases.bounds[base, at + stop - start]
        count = np.where(c.count > 0, c.sizes, 0)
        table = _spliced(bases.pieces, base, first, last - first, c.pieces, count)
        sizes = bases.bounds[base, bases.lengths[base]] + count - (last - first)
        return table[np.arange(table.shape[1]) < sizes[:, None]], sizes

    def read(self, rows: np.ndarray, log_p: np.ndarray, s: SearchSettings) -> Iterator[Row]:
        """What drafts are worth now that the encoder's classifier has read them, and what else `draft` needs."""
        base, c, both = self.base[rows], self.candidates.take(rows), self.log_p[rows]
        both[:, 0] = log_p
        likelihood, similarity = self.likelihood[rows], self.similarity[rows]
        values = rank(s, both, likelihood, similarity), self.most[rows], base, c.span + self.bases.first[base, None]
        more = c.pieces, c.sizes, c.words, c.count, c.log_p, both, likelihood, similarity
        return zip(*(value.tolist() for value in (*values, *more)), strict=True)

    def draft(self, row: Row) -> Draft:
        """One that has been read: most of them are never asked for."""
        total, most, base, span, pieces, size, words, count, log_p, both, likelihood, similarity = row
        part = Part(Span(*span), tuple(pieces[:size]), tuple(words[:count]), *log_p)
        before = self.bases.drafts[base]
        parts = tuple(sorted((*before.parts, part), key=_by_span)) if before else (part,)
        return Draft(parts, likelihood, similarity, both, total, most)


def spread(
    bases: Bases, base: np.ndarray, c: Candidates, style: StyleClassifiers, s: SearchSettings, *, most: int,
    bar: np.ndarray, ordered: bool = False,
) -> Spread:  # fmt: skip
    """The drafts that candidates make of bases: up to `most` of a segment, all different, that can be worth more than
    its `bar`. The first of more are taken, by segment, if they are `ordered`; else those that are worth most, at most.
    """
    number = bases.number[base]
    similarity, likelihood = bases.similarity(base, c, s.lost), bases.likelihood[base] + c.target_log_p
    best = bound(s, likelihood, similarity)
    possible = (c.count >= 0) & (best > bar[number]) & bases.have_room(base, c)
    if ordered:
        order = np.flatnonzero(possible)
        order = order[leading(number[order], int(SPARE * most))]
    else:
        order = grouped(number, best, possible, int(SPARE * most))
    rows = bases.spliced(base[order], c.take(order))
    fresh = _fresh(bases, number[order], rows, style)
    fresh = fresh[leading(number[order[fresh]], most)]
    order, log_p = order[fresh], style.of_words(rows[fresh])
    both = np.stack([np.zeros(len(log_p)), log_p], 1)
    hoped = rank(s, both, likelihood[order], similarity[order])
    last = grouped(number[order], hoped, hoped > bar[number[order]], most)
    order = order[last]
    values = likelihood[order], similarity[order], both[last], hoped[last], best[order]
    return Spread(bases, base[order], c.take(order), *values)


def together(bases: Bases, fresh: Candidates, known: Candidates, most: int) -> tuple[np.ndarray, Candidates]:
    """Up to `most` candidates of a segment, each with its base: those found in context, then others that are likely."""
    wanted = np.zeros(len(bases.segments), bool)
    wanted[bases.number] = True
    likely = grouped(known.base, known.target_log_p, wanted[known.base], most)  # by segment
    start, stop = (np.searchsorted(known.base[likely], bases.number, side) for side in ("left", "right"))
    of = np.repeat(np.arange(len(start)), stop - start)  # each of its segment's, for every base
    others = likely[np.arange(len(of)) - (np.cumsum(stop - start) - stop)[of]]
    base = np.concatenate([fresh.base, of])
    unlikely = np.concatenate([np.full(len(fresh), -np.inf), -known.target_log_p[others]])
    by_segment = np.argsort(bases.number[base], kind="stable")
    keys = (key[by_segment] for key in (np.concatenate([0 * fresh.base, of]), unlikely))
    chosen = by_segment[within(bases.number[base[by_segment]], *keys, most=most)]
    late = chosen >= len(fresh)
    both = Candidates.of([fresh.take(chosen[~late]), known.take(others[chosen[late] - len(fresh)])])
    return base[chosen], both.take(np.argsort(np.argsort(late, kind="stable")))


def grouped(group: np.ndarray, worth: np.ndarray, allowed: np.ndarray, most: int) -> np.ndarray:
    """Indices by group, the worthiest first: up to `most` of those that are allowed in each."""
    chosen = np.flatnonzero(allowed)
    chosen = chosen[np.argsort(group[chosen], kind="stable")]  # mostly they are in order
    return np.asarray(chosen[within(group[chosen], -worth[chosen], most=most)])


def leading(group: np.ndarray, most: int) -> np.ndarray:
    """[N] which are among the first `most` of their group, where those of a group stand together."""
    place = np.arange(len(group))
    first = np.concatenate([[True], group[1:] != group[:-1]])[: len(group)]
    return np.asarray(place - np.maximum.accumulate(np.where(first, place, 0)) < most)


def _fresh(bases: Bases, number: np.ndarray, rows: np.ndarray, style: StyleClassifiers) -> np.ndarray:
    """Those that differ from the segment and from what comes before them, and double no word that was not double."""
    home = np.searchsorted(bases.number, number)  # the first base of their segment
    keys, known = row_keys(rows), row_keys(bases.source)[home]
    doubled = doubles(bases.source, style.lexicon)[home]
    good = np.flatnonzero((keys != known) & (doubles(rows, style.lexicon) <= doubled))
    unique = keys[good] + number[good].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(good[firsts(unique)])


def _spliced(
    rows: np.ndarray, base: np.ndarray, at: np.ndarray, width: np.ndarray, words: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """[N, L + W] rows with `width` elements from `at` on replaced by the first `count` of some words."""
    most = words.shape[1]
    wide = np.pad(rows, ((0, 0), (0, 2 * most)))  # enough that nothing behind a row is asked for
    k = np.arange(rows.shape[1] + most)
    from_base = (base * wide.shape[1])[:, None] + k
    from_base += (k >= at[:, None]) * (width - count)[:, None]
    new = wide.ravel().take(from_base, mode="clip")
    for n in range(most):
        some = np.flatnonzero(count > n)
        new[some, at[some] + n] = words[some, n]
    return np.asarray(new)


def _dense(rows: np.ndarray) -> np.ndarray:
    """Rows without the 0s between other elements, as narrow as can be."""
    order = np.argsort(rows == 0, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(rows, order, 1)[:, : int((rows > 0).sum(1).max(initial=0))])


def _by_span(part: Part) -> Span:
    return part.span


def _end(part: Part) -> int:
    """The first word before which another edit can begin: a character has to stay between two of them."""
    return part.span.stop + (part.span.start == part.span.stop or not part.pieces)
