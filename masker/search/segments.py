"""What is edited at a time: a text, or a stretch of sentences of a long one, with the drafts made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from masker.core.candidates import written
from masker.core.spans import Span, protected_words
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text


@dataclass(frozen=True)
class Part:
    """An infill for some words of a text, with the log-likelihoods L1 and L3 of it, L2 and L4 of the words."""

    span: Span
    pieces: tuple[int, ...]
    target_log_p: float
    source_log_p: float
    old_target_log_p: float
    old_source_log_p: float


@dataclass(eq=False)
class Draft:
    """A segment with some infills put in, what the classifiers say of it, and its rank; best known when looked at."""

    parts: tuple[Part, ...]  # in order
    words: np.ndarray  # [L] as the lexicon numbers them
    home: np.ndarray  # [L] which word of the segment each of them is, -1 for new ones
    spelt: list[tuple[int, ...]]  # [L] their pieces; all of an infill stand with its first word
    likelihood: float  # of all parts
    similarity: float
    log_p: np.ndarray  # [2]
    total: float
    most: float  # what it would be worth if the classifiers were sure
    replacements: tuple[Replacement, ...] = ()  # of the parts, once they are written out
    misfits: tuple[tuple[float, int], ...] = ()  # words that have become less likely: by how much, and which
    leftovers: tuple[int, ...] = ()  # words that still speak for the source domain, the worst first

    @property
    def pieces(self) -> list[int]:
        return [piece for word in self.spelt for piece in word]


@dataclass
class Segment:
    """A stretch of words of a text."""

    number: int  # of its text
    text: Text
    words: Span
    ids: np.ndarray  # [L] its words, as the lexicon numbers them
    log_p: np.ndarray  # [2]
    drafts: list[Draft] = field(default_factory=list)  # that have been looked at, the best first
    before: dict[int, float] = field(default_factory=dict)  # likelihood of words in the source domain, in nats
    known: dict[tuple[Span, tuple[int, ...]], Replacement | None] = field(default_factory=dict)

    @property
    def spelt(self) -> list[tuple[int, ...]]:
        return [word.pieces for word in self.text.words[self.words.start : self.words.stop]]

    @property
    def pieces(self) -> list[int]:
        return [piece for word in self.spelt for piece in word]

    def has(self, span: Span) -> bool:
        """Whether a span is to be edited here. What could be inserted between two segments belongs to the second."""
        end = self.words.stop + (self.words.stop == len(self.text.words))
        return self.words.start <= span.start < end and span.stop <= self.words.stop

    def write(self, task: Task, draft: Draft) -> bool:
        """Write out the parts of a draft; whether that can be done."""
        found = []
        for part in draft.parts:
            key = part.span, part.pieces
            if key not in self.known:
                fixed = protected_words(self.text, task.keep(self.text))
                self.known[key] = written(task, self.text, part.span, part.pieces, fixed)
            if (at := self.known[key]) is None:
                return False
            found.append(at)
        draft.replacements = tuple(sorted(found, key=lambda r: (r.start, r.end)))
        return all(a.end < b.start for a, b in pairwise(draft.replacements))


class Edited:
    """A whole text with replacements made. `old` tells which of its words were there before, and which they were."""

    def __init__(self, task: Task, segment: Segment, replacements: Sequence[Replacement]) -> None:
        source, pieces, at = segment.text.source, list[str](), 0
        self._shifts = []  # from where on in the edited text how much is new, and how far the rest is moved
        shift = 0
        for r in replacements:
            pieces += [source[at : r.start], r.new]
            begin, shift = r.start + shift, shift + len(r.new) - (r.end - r.start)
            self._shifts.append((begin, begin + len(r.new), shift))
            at = r.end
        self.text = task.vocabulary.read("".join([*pieces, source[at:]]))
        places = {(word.start, word.end): i for i, word in enumerate(segment.text.words)}
        homes = {j: self.home(word.start, word.end) for j, word in enumerate(self.text.words)}
        self.old = {j: places[home] for j, home in homes.items() if home in places}
        self._count = len(segment.text.words)

    def home(self, start: int, end: int) -> tuple[int, int] | None:
        """Where in the source characters stand; None if some of them are new."""
        by = 0
        for begin, stop, shift in self._shifts:
            if end <= begin:
                break
            if start < stop:
                return None
            by = shift
        return start - by, end - by

    def near(self, reach: int) -> list[int]:
        """The old words that stand at most so many words away from an edit."""
        run = [-1, *(self.old.get(j) for j in range(len(self.text.words))), self._count]
        edges = [j for j, (a, b) in enumerate(pairwise(run)) if a is None or b is None or b != a + 1]
        around = {j for edge in edges for j in range(edge - reach, edge + reach)}
        return [j for j in self.old if j in around]
