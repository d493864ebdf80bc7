"""What is edited at a time: a text, or a stretch of sentences of a long one, with the drafts made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.search.infilling import Infill


@dataclass(frozen=True)
class Candidate:
    """One infill written into its text."""

    infill: Infill
    at: Replacement
    old_t: float  # log L2 and log L4
    old_s: float


@dataclass(frozen=True)
class Draft:
    """A segment of a text with some candidates put in, what the classifiers say of it, and its rank."""

    parts: tuple[Candidate, ...]
    text: str
    log_p: np.ndarray  # [2]
    total: float
    misfits: tuple[tuple[float, int], ...] = ()  # words that have become less likely: by how much, and which
    leftovers: tuple[int, ...] = ()  # words that still speak for the source domain, the worst first

    def reaches(self, enough: float) -> bool:
        return bool(self.log_p.min() >= enough)


@dataclass
class Segment:
    """What is edited at a time: a text, or a stretch of sentences of a long one, with the drafts made of it."""

    number: int  # of its text
    text: Text
    words: Span
    log_p: np.ndarray  # [2]
    candidates: list[Candidate] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)  # the best first
    before: dict[Span, float] = field(default_factory=dict)  # likelihood of spans in the source domain, in nats
    passes: int = 1

    @property
    def start(self) -> int:
        return self.text.words[self.words.start].start

    @property
    def end(self) -> int:
        return self.text.words[self.words.stop - 1].end

    @property
    def source(self) -> str:
        return self.text.source[self.start : self.end]

    def has(self, span: Span) -> bool:
        """Whether a span is to be edited here. What could be inserted between two segments belongs to the second."""
        end = self.words.stop + (self.words.stop == len(self.text.words))
        return self.words.start <= span.start < end and span.stop <= self.words.stop

    def with_parts(self, parts: Sequence[Candidate]) -> str:
        """The segment's text with candidates in it."""
        return _put(self.text.source, parts, self.start, self.end)


class Edited:
    """A whole text with candidates put in. `old` tells which of its words were there before, and which they were."""

    def __init__(self, vocabulary: Vocabulary, segment: Segment, parts: Sequence[Candidate]) -> None:
        self.parts = sorted(parts, key=lambda part: part.at.start)
        self.text = vocabulary.read(_put(segment.text.source, parts, 0, len(segment.text.source)))
        places = {(word.start, word.end): i for i, word in enumerate(segment.text.words)}
        homes = {j: self.home(word.start, word.end) for j, word in enumerate(self.text.words)}
        self.old = {j: places[home] for j, home in homes.items() if home in places}
        self._count = len(segment.text.words)

    def home(self, start: int, end: int) -> tuple[int, int] | None:
        """Where in the source characters stand; None if some of them are new."""
        shift = 0
        for part in self.parts:
            begin = part.at.start + shift
            if end <= begin:
                break
            if start < begin + len(part.at.new):
                return None
            shift += len(part.at.new) - (part.at.end - part.at.start)
        return start - shift, end - shift

    def near(self, reach: int) -> list[int]:
        """The old words that stand at most so many words away from an edit."""
        run = [-1, *(self.old.get(j) for j in range(len(self.text.words))), self._count]
        edges = [j for j, (a, b) in enumerate(pairwise(run)) if a is None or b is None or b != a + 1]
        return [j for j in self.old if any(-reach <= j - edge < reach for edge in edges)]


def _put(source: str, parts: Sequence[Candidate], start: int, end: int) -> str:
    """The characters `start` to `end` of a source with candidates in them."""
    pieces = list[str]()
    for part in sorted(parts, key=lambda part: part.at.start):
        pieces += [source[start : part.at.start], part.at.new]
        start = part.at.end
    return "".join([*pieces, source[start:end]])


def split_segments(text: Text, longest: int | None) -> Iterator[Span]:
    """The whole text, or as many whole sentences at a time as fit into `longest` pieces."""
    if not text.words:
        return
    if longest is None or len(text.pieces) <= longest:
        yield Span(0, len(text.words))
        return
    ends = [i + 1 for i in range(len(text.words)) if text.word(i)[-1] in ".!?…" and text.word(i) != "..."]
    start = 0
    for end, after in pairwise([*ends, len(text.words)]):
        if after <= end:
            break
        if text.bounds[after] - text.bounds[start] > longest:
            yield Span(start, end)
            start = end
    yield Span(start, len(text.words))
