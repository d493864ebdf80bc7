"""Attribute markers by salience (Li et al. 2018): n-grams that a domain has much more of than the others.

    salience(u, a) = (count(u, D_a) + 1) / (count(u, all others) + 1)

An n-gram of up to four words is a marker of `a` where this is above 15; AC-MLM takes the 7,000 most salient.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from masker.baselines.base import words_of

LONGEST, ABOVE, AT_MOST = 4, 15.0, 7000
FILE = "markers.json"
Slot = tuple[int, int]  # words of a text, from and up to


@dataclass(frozen=True)
class Markers:
    """The markers of each domain with their salience, the most salient first."""

    salience: Mapping[str, Mapping[str, float]]

    @classmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, above: float = ABOVE, at_most: int = AT_MOST) -> "Markers":
        texts = {domain: [words_of(line) for line in lines] for domain, lines in corpora.items()}
        found = {}
        for domain, own in texts.items():
            counts = _frequent(own, max(1, int(above)))  # fewer could not be salient enough
            others = Counter[str]()
            for other in texts:
                if other != domain:
                    others.update(gram for words in texts[other] for gram in _grams(words) if gram in counts)
            salience = {gram: (count + 1) / (others[gram] + 1) for gram, count in counts.items()}
            best = sorted((gram for gram in salience if salience[gram] > above), key=lambda gram: -salience[gram])
            found[domain] = {gram: salience[gram] for gram in best[:at_most]}
        return cls(found)

    def find(self, words: Sequence[str], domain: str, longest: int = LONGEST) -> list[Slot]:
        """Where the markers of a domain are, the longest at each place from the left; those that touch are apart."""
        known, slots, i = self.salience[domain], list[Slot](), 0
        while i < len(words):
            sizes = range(min(longest, len(words) - i), 0, -1)
            size = next((size for size in sizes if " ".join(words[i : i + size]) in known), 0)
            if size:
                slots.append((i, i + size))
            i += size or 1
        return slots

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(self.salience, ensure_ascii=False, indent=0), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Markers":
        return cls(json.loads((folder / FILE).read_text("utf-8")))


def _grams(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, LONGEST + 1):
        for i in range(len(words) - size + 1):
            yield " ".join(words[i : i + size])


def _frequent(texts: Sequence[Sequence[str]], least: int) -> dict[str, int]:
    """The n-grams that occur at least so often. A longer one is only counted where both of its shorter ones do."""
    found: dict[str, int] = {}
    for size in range(1, LONGEST + 1):
        counts = Counter[str]()
        for words in texts:
            if size == 1:
                counts.update(words)
                continue
            known = [" ".join(words[i : i + size - 1]) in found for i in range(len(words) - size + 2)]
            counts.update(" ".join(words[i : i + size]) for i, (a, b) in enumerate(pairwise(known)) if a and b)
        found |= {gram: count for gram, count in counts.items() if count >= least}
    return found
