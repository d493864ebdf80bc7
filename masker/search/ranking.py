"""What the search editor ranks, and by what.

A candidate is one infill written into its text, a draft is a text with one or more candidates put in. Drafts are ranked
by the sum of

    encoder * min(log p, log strength)       p: how sure the encoder's classifier is of the target domain
    bag_of_words * min(log q, log strength)  q: how sure its words alone are (`BagOfWords`)
    likelihood * log Lt      of the infills in the target domain
    similarity * F           of the words that the text shares with its source: a word lost counts for `lost` times as
                             much as a word added
    coherence * coherence    how much less likely the words that stay have become, in nats: they do not go with an
                             edit, or still speak for the source domain (`coherence`)
    residue * residue        how much some of them still speak for the source domain, by themselves as well as where
                             they stand now: the text is turned only in part (`coherence`)
    sure                     if p and q both reach strength
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from masker.core.batching import by_length, padded
from masker.core.padding import Frame
from masker.core.runtime import Runtime, to_numpy
from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.search.infilling import Infill


@dataclass(frozen=True)
class Ranking:
    """What counts for how much; see above. `strength` is how sure is sure enough."""

    strength: float = 0.9
    encoder: float = 2.0
    bag_of_words: float = 4.0
    likelihood: float = 0.4
    similarity: float = 12.0
    lost: float = 2.0
    coherence: float = 0.4
    residue: float = 2.0
    sure: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.strength < 1:
            raise MaskerError(f"strength is {self.strength}: it is a probability, so between 0 and 1")

    @property
    def enough(self) -> float:
        return math.log(self.strength)

    def total(
        self,
        segment: "Segment",
        parts: "Sequence[Candidate]",
        text: str,
        log_p: np.ndarray,
        coherence: float = 0.0,
        residue: float = 0.0,
    ) -> float:
        """The rank of a segment with some candidates put in, which is `text` then."""
        style = float(np.minimum(log_p, self.enough) @ (self.encoder, self.bag_of_words))
        style += self.sure * bool(log_p.min() >= self.enough)
        likelihood = sum(part.infill.target_log_p for part in parts)
        similarity = similarity_of(text, segment.source, self.lost)
        style += self.coherence * coherence + self.residue * residue
        return style + self.likelihood * likelihood + self.similarity * similarity

    def promise(self, segment: "Segment", infill: Infill, gone: int, odds: float) -> float:
        """What an infill will probably be worth: the domains' own odds stand in for the classifiers.

        `gone` is how many words it replaces, and `odds` by how much the source domain prefers them, in nats.
        """
        now = float(log_odds(segment.log_p.mean()))
        log_p = -math.log1p(math.exp(-max(-30.0, min(30.0, now + infill.target_log_p - infill.source_log_p + odds))))
        count = segment.words.stop - segment.words.start
        similarity = (1 + self.lost) * (count - gone) / (count - gone + len(infill.pieces) + self.lost * count)
        style = (self.encoder + self.bag_of_words) * min(log_p, self.enough)
        return style + self.likelihood * infill.target_log_p + self.similarity * similarity


@dataclass(frozen=True)
class Style:
    """Asks both style classifiers how much texts read like the target domain: log p(to | from or to)."""

    runtime: Runtime
    vocabulary: Vocabulary
    frame: Frame
    window: int
    to: int
    from_: int  # columns of the two domains
    bag_of_words: BagOfWords
    batch_tokens: int

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """[n, 2] natural logarithms: the encoder's opinion, and that of the words."""
        return np.stack([self.of_encoder(texts), self.of_words(texts)], 1)

    def of_words(self, texts: Sequence[str]) -> np.ndarray:
        """[n], without asking the model."""
        return self._between(self.bag_of_words.log_probs(texts))

    def of_encoder(self, texts: Sequence[str]) -> np.ndarray:
        """[n], a pass each."""
        start, end = self.frame.start, self.frame.end
        rows = [[*start, *self.vocabulary.read(text).pieces[: self.window], *end] for text in texts]
        result = np.zeros(len(rows))
        for chosen in by_length([len(row) for row in rows], self.batch_tokens):
            inputs = padded([rows[k] for k in chosen.tolist()], self.frame.pad)
            log_p = to_numpy(self.runtime.styles(*map(self.runtime.to_device, inputs)))  # [B, D]
            result[chosen] = self._between(log_p)
        return result

    def _between(self, log_p: np.ndarray) -> np.ndarray:
        return log_p[:, self.to] - np.logaddexp(log_p[:, self.to], log_p[:, self.from_])


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


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """log p - log(1 - p)."""
    return np.asarray(log_p - np.log1p(-np.minimum(np.exp(log_p), 1 - 1e-9)))


def similarity_of(text: str, source: str, lost: float) -> float:
    """F of the words that a text shares with its source: recall counts for `lost` times as much as precision."""
    new, old = Counter(text.lower().split()), Counter(source.lower().split())
    return (1 + lost) * (new & old).total() / max(1, new.total() + lost * old.total())


def doubles(text: str) -> int:
    """Words that are followed by themselves."""
    words = text.lower().split()
    return sum(a == b and a.isalpha() for a, b in pairwise(words))
