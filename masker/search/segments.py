"""What is edited at a time, a sentence or a text, with the drafts made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from masker.core.candidates import written
from masker.core.spans import Span, protected_words
from masker.core.surface import Replacement
from masker.core.task import Range, Task
from masker.core.text import Text, is_punctuation
from masker.search.edited import Patch


class Part(NamedTuple):
    """An infill for some words of a text, with the log-likelihoods L1 and L3 of it, L2 and L4 of the words."""

    span: Span
    pieces: tuple[int, ...]
    words: tuple[int, ...]  # that they spell, as the lexicon numbers them
    target_log_p: float
    source_log_p: float
    old_target_log_p: float
    old_source_log_p: float


@dataclass(eq=False)
class Draft:
    """A segment with some infills put in, what the classifiers say of it, and its rank; best known when looked at."""

    parts: tuple[Part, ...]  # in order
    likelihood: float  # of all parts
    similarity: float
    log_p: Sequence[float]  # [2]
    total: float
    most: float  # what it would be worth if the classifiers were sure
    replacements: tuple[Replacement, ...] = ()  # of the parts, once they are written out
    coherence: float = 0.0  # of the close look, in nats
    residue: float = 0.0
    acceptance: float | None = None  # what the critic makes of it, besides its rank, if it has read it
    reading: float = 0.0  # what the reader makes of it
    misfits: tuple[tuple[float, int], ...] = ()  # the words that have become least likely: by how much, and which
    leftovers: tuple[int, ...] = ()  # words that still speak for the source domain, the worst first

    @property
    def least(self) -> float:
        """What the classifier says that is less sure of it."""
        return min(self.log_p)


@dataclass(frozen=True)
class Spelt:
    """A segment or a draft word by word."""

    words: list[int]  # as the lexicon numbers them
    homes: list[int]  # which word of the segment each of them is, -1 for new ones
    pieces: list[int]
    bounds: list[int]  # where in the pieces each word begins, and the end; all of an infill stand with its first word


@dataclass
class Segment:
    """A stretch of words of a text, to be edited."""

    number: int  # of the text that it is of
    text: Text  # what the model sees of that
    words: Span
    ids: np.ndarray  # [L] its words, as the lexicon numbers them
    log_p: np.ndarray  # [2]
    drafts: list[Draft] = field(default_factory=list)  # that have been looked at, the best first
    before: np.ndarray = field(default_factory=lambda: np.zeros(0))  # how likely the source domain finds words of it
    known: dict[tuple[Span, tuple[int, ...]], Replacement | None] = field(default_factory=dict)
    patches: dict[Replacement, Patch] = field(default_factory=dict)
    alone: dict[bytes, np.ndarray] = field(default_factory=dict)  # see `coherence`
    keep: Sequence[Range] = ()  # characters that no edit may touch
    offset: int = 0  # characters before its text, in the text that it is of
    wanted: bool = True  # whether it is to be edited at all
    reading: float = 0.0  # what the reader makes of it as it is

    @cached_property
    def fixed(self) -> list[bool]:
        """Which words of its text no edit may touch."""
        return protected_words(self.text, self.keep)

    @cached_property
    def lower(self) -> list[str]:
        """Its words in small letters."""
        source, (first, stop) = self.text.source, self.words
        return [source[start:end].lower() for start, end, _, _ in self.text.words[first:stop]]

    @property
    def pieces(self) -> list[int]:
        return self.text.pieces[self.text.bounds[self.words.start] : self.text.bounds[self.words.stop]]

    @property
    def place(self) -> Range:
        """The characters of its words in the text that it is of."""
        words, (first, stop) = self.text.words, self.words
        return words[first].start + self.offset, words[stop - 1].end + self.offset

    @property
    def room(self) -> Range:
        """Those with the white space around them."""
        first = self.words.start
        start = self.text.words[first - 1].end if first else 0
        return start + self.offset, self.stretch[1] + self.offset

    @property
    def stretch(self) -> Range:
        """The characters from its first word, or from the beginning, up to the next segment, in what is seen."""
        words, (first, stop) = self.text.words, self.words
        return words[first].start if first else 0, words[stop].start if stop < len(words) else len(self.text.source)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its text."""
        return self.words == (0, len(self.text.words))

    def has(self, span: Span) -> bool:
        """Whether a span is to be edited here. What could be inserted between two segments belongs to the second."""
        end = self.words.stop + (self.words.stop == len(self.text.words))
        return self.words.start <= span.start < end and span.stop <= self.words.stop

    def spelt(self, parts: Sequence[Part] = ()) -> Spelt:
        """The segment with parts put in, word by word."""
        first, ids, known, bounds = self.words.start, self.ids.tolist(), self.text.pieces, self.text.bounds
        made, at = Spelt([], [], [], [0]), 0  # `at`: words of the segment that have gone by

        def keep(up_to: int) -> None:
            made.words.extend(ids[at:up_to])
            made.homes.extend(range(at, up_to))
            by = made.bounds[-1] - bounds[first + at]
            made.pieces.extend(known[bounds[first + at] : bounds[first + up_to]])
            made.bounds.extend(bound + by for bound in bounds[first + at + 1 : first + up_to + 1])

        for part in parts:
            keep(part.span.start - first)
            if part.words:
                made.words.extend(part.words)
                made.homes.extend([-1] * len(part.words))
                made.pieces.extend(part.pieces)
                made.bounds.extend([len(made.pieces)] * len(part.words))
            at = part.span.stop - first
        keep(len(ids))
        return made

    def _written(self, task: Task, part: Part) -> Replacement | None:
        """A part written into the text, or None if that cannot be. As a final mark is never touched, it is no edit to
        put one where there is none, or another after it, either: "ok!" is no rewrite of "ok".
        """
        found = written(task, self.text, part.span, part.pieces, self.fixed)
        if found and part.span.stop == len(self.text.words):
            old = self.text.source[found.start : found.end]
            return None if _spoken(old) == _spoken(found.new) else found
        return found

    def write(self, task: Task, draft: Draft) -> bool:
        """Write out the parts of a draft; whether that can be done."""
        found = []
        for part in draft.parts:
            key = part.span, part.pieces
            if key not in self.known:
                self.known[key] = self._written(task, part)
            if (at := self.known[key]) is None:
                return False
            found.append(at)
        draft.replacements = tuple(sorted(found, key=_place)) if len(found) > 1 else tuple(found)
        return all(a.end < b.start for a, b in pairwise(draft.replacements))


def _place(r: Replacement) -> Range:
    return r.start, r.end


def _spoken(words: str) -> str:
    """What is left without marks and spaces."""
    return "".join(c for c in words.lower() if not is_punctuation(c) and not c.isspace())
