"""Which words AC-MLM masks (Wu et al. 2019, "Mask and Infill"): by frequency, by attention, by both."""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from masker.baselines.attention import AttentionClassifier
from masker.baselines.base import Baseline, domains_of
from masker.baselines.markers import AT_MOST, LONGEST, Markers, Slot
from masker.errors import missing
from masker.training.progress import Report

RESCORED, CANDIDATES = 5.0, 20_000  # of n-grams above that salience, so many are shown to the classifier
CONTENT = 5  # words that are to be left, or else shorter n-grams are masked


class Selector(Baseline):
    """Chooses the words of a text that speak for its domain."""

    @abstractmethod
    def select(self, words: Sequence[str], domain: str) -> set[int]: ...


@dataclass(frozen=True)
class FrequencyRatio(Selector):
    """The markers by salience: above 15, and of these the 7,000 most salient. Without any, a word at random."""

    markers: Markers

    @classmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path) -> "FrequencyRatio":
        return cls(Markers.fit(corpora))

    def select(self, words: Sequence[str], domain: str) -> set[int]:
        return _inside(self.markers.find(words, domain)) or _any(words)

    def save(self, folder: Path) -> None:
        self.markers.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "FrequencyRatio":
        return cls(Markers.load(folder))


@dataclass(frozen=True)
class AttentionBased(Selector):
    """The words that an attention classifier looks at more than on average."""

    classifier: AttentionClassifier

    @classmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path) -> "AttentionBased":
        return cls(_classifier(corpora, seed, report, beside.parent))

    def select(self, words: Sequence[str], domain: str) -> set[int]:
        if not words:
            return set()
        share, _ = self.classifier.attend(words)
        return {*np.flatnonzero(share > share.mean()).tolist()} or {int(share.argmax())}

    def save(self, folder: Path) -> None:
        self.classifier.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "AttentionBased":
        return cls(AttentionClassifier.load(folder))


@dataclass(frozen=True)
class Fusion(Selector):
    """N-grams whose salience, times the classifier's confidence in them, is among the 7,000 highest; and attention
    where none of them is in a text, or where fewer than five words of it would be left.
    """

    markers: Markers
    attention: AttentionBased

    @classmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path) -> "Fusion":
        attention = beside / "acmlm-attention"  # if it is there, its classifier has learnt the same
        there = domains_of(attention) == list(corpora)
        classifier = AttentionClassifier.load(attention) if there else _classifier(corpora, seed, report, beside.parent)
        found = {}
        for domain, known in Markers.fit(corpora, above=RESCORED, at_most=CANDIDATES).salience.items():
            scores = {gram: ratio * classifier.confidence(gram.split(), domain) for gram, ratio in known.items()}
            best = sorted((gram for gram in scores if scores[gram] > 1), key=lambda gram: -scores[gram])
            found[domain] = {gram: scores[gram] for gram in best[:AT_MOST]}
        return cls(Markers(found), AttentionBased(classifier))

    def select(self, words: Sequence[str], domain: str) -> set[int]:
        for longest in range(LONGEST, 0, -1):
            chosen = _inside(self.markers.find(words, domain, longest))
            if len(words) - len(chosen) >= CONTENT:
                return chosen or self.attention.select(words, domain)
        return self.attention.select(words, domain)

    def save(self, folder: Path) -> None:
        self.markers.save(folder)
        self.attention.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Fusion":
        return cls(Markers.load(folder), AttentionBased.load(folder))


def _classifier(corpora: Mapping[str, Sequence[str]], seed: int, report: Report, model: Path) -> AttentionClassifier:
    try:
        from masker.baselines.attention_training import SETTINGS, fit_classifier, vectors_of
    except ImportError as error:
        raise missing("train", "fitting an attention classifier") from error
    return fit_classifier(corpora, vectors_of(model), settings=replace(SETTINGS, seed=seed), report=report)


def _any(words: Sequence[str]) -> set[int]:
    """A word at random, no mark; the same one whenever a text comes."""
    spoken = [i for i, word in enumerate(words) if any(map(str.isalnum, word))]
    drawn = int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest())
    return {spoken[drawn % len(spoken)]} if spoken else set()


def _inside(slots: Sequence[Slot]) -> set[int]:
    return {*chain.from_iterable(range(start, stop) for start, stop in slots)}
