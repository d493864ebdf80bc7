"""Which sentence of the target domain is most like a text (Li et al. 2018, "Delete, Retrieve, Generate").

Two sentences are alike where what is left of them without their markers is: by the cosine of their words, weighted by
how rare these are (TF-IDF), one of the two distances of the paper.
"""

import gzip
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from masker.baselines.base import Baseline, words_of
from masker.baselines.markers import Markers, Slot
from masker.core.segments import Passage
from masker.core.spans import protected_words
from masker.core.text import is_punctuation
from masker.training.progress import Report

_SEPARATOR = "\t"


class Index:
    """The sentences of a domain that have markers: the words without them, and the markers in order."""

    def __init__(self, contents: Sequence[Sequence[str]], markers: Sequence[Sequence[str]]) -> None:
        self.contents, self.markers = contents, markers
        seen = Counter(word for words in contents for word in {*words})
        self._idf = {word: math.log(len(contents) / count) for word, count in seen.items()}
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for k, words in enumerate(contents):
            weights = {word: count * self._idf[word] for word, count in Counter(words).items()}
            norm = math.sqrt(sum(weight * weight for weight in weights.values()))
            for word, weight in weights.items():
                if weight:
                    postings[word].append((k, weight / norm))
        self._postings = {
            word: (np.array([k for k, _ in places]), np.array([weight for _, weight in places]))
            for word, places in postings.items()
        }

    def nearest(self, words: Sequence[str], most: int = 1) -> list[Sequence[str]]:
        """The markers of the sentences most like these words, at most so many; none if no sentence has one of them."""
        found = np.zeros(len(self.contents))
        for word, count in Counter(words).items():
            if word in self._postings:
                rows, weights = self._postings[word]
                found[rows] += count * self._idf[word] * weights
        best = np.argsort(-found, kind="stable")[:most]
        return [self.markers[k] for k in best.tolist() if found[k] > 0]


@dataclass(frozen=True)
class Retrieval(Baseline):
    """The markers of all domains, and an index of the sentences of each."""

    markers: Markers
    indexes: Mapping[str, Index]

    @classmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path) -> "Retrieval":
        markers = Markers.fit(corpora)
        indexes = {}
        for domain, lines in corpora.items():
            texts = map(without_end, map(words_of, dict.fromkeys(lines)))
            parts = [split(words, markers.find(words, domain)) for words in texts]
            kept = [(content, found) for content, found in parts if found]
            indexes[domain] = Index([content for content, _ in kept], [found for _, found in kept])
        return cls(markers, indexes)

    def save(self, folder: Path) -> None:
        self.markers.save(folder)
        for domain, index in self.indexes.items():
            rows = zip(index.contents, index.markers, strict=True)
            text = "".join(f"{_SEPARATOR.join([' '.join(content), *found])}\n" for content, found in rows)
            (folder / f"{domain}.tsv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))

    @classmethod
    def load(cls, folder: Path) -> "Retrieval":
        markers = Markers.load(folder)
        indexes = {}
        for domain in markers.salience:
            lines = gzip.decompress((folder / f"{domain}.tsv.gz").read_bytes()).decode().splitlines()
            rows = [line.split(_SEPARATOR) for line in lines]
            indexes[domain] = Index([row[0].split() for row in rows], [row[1:] for row in rows])
        return cls(markers, indexes)


def without_end(words: list[str]) -> list[str]:
    """Without the final mark, which no edit touches."""
    return words[:-1] if words and all(map(is_punctuation, words[-1])) else words


def split(words: Sequence[str], slots: Sequence[Slot]) -> tuple[list[str], list[str]]:
    """The words outside of slots, and what is in each slot."""
    inside = {i for start, stop in slots for i in range(start, stop)}
    return [word for i, word in enumerate(words) if i not in inside], [" ".join(words[a:b]) for a, b in slots]


@dataclass(frozen=True)
class Parts:
    """What a passage is rewritten from: its words without the final mark, the places of those markers that may go, and
    the words outside of them; `fixed` are words of the whole text that must stay.
    """

    words: Sequence[str]
    places: Sequence[Slot]
    content: Sequence[str]
    fixed: Sequence[bool]


def parts_of(p: Passage, markers: Markers, domain: str) -> Parts:
    fixed = protected_words(p.text, p.keep)
    words = [p.text.word(i).lower() for i in range(p.words.start, p.words.stop)]
    words = words[:-1] if words and fixed[p.words.stop - 1] else words  # before a final mark
    slots = markers.find(words, domain)
    free = [(a, b) for a, b in slots if not any(fixed[a + p.words.start : b + p.words.start])]
    return Parts(words, free, split(words, free)[0], fixed)
