"""SARI (Xu et al. 2016): how well n-grams of the source were kept and deleted, and new ones added.

Choices, where implementations differ: n-grams count as present or absent (the indicator functions of the paper); with
several references an n-gram is kept or deleted by the share of them that do so, and added if any of them adds it; 0/0
is 1, so that nobody is blamed where nothing was to be done (as in LaserTagger). Deletion is precision alone, as in the
paper; LaserTagger uses its F1, which is reported beside it.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from statistics import fmean

ORDERS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Sari:
    """The parts of the score, each from 0 to 1."""

    add: float
    keep: float
    delete: float
    delete_f1: float

    @property
    def score(self) -> float:
        """SARI as defined by Xu et al."""
        return (self.add + self.keep + self.delete) / 3

    @property
    def lasertagger(self) -> float:
        """SARI as LaserTagger reports it."""
        return (self.add + self.keep + self.delete_f1) / 3


def sari(source: str, output: str, references: Sequence[str]) -> Sari:
    """SARI of one tokenised sentence, averaged over n-grams of 1 to 4 words."""
    parts = [_order(n, source.split(), output.split(), [r.split() for r in references]) for n in ORDERS]
    return Sari(*(fmean(values) for values in zip(*map(astuple, parts), strict=True)))


def _order(n: int, source: list[str], output: list[str], references: list[list[str]]) -> Sari:
    before, after = _ngrams(source, n), _ngrams(output, n)
    # References shorter than n words have no opinion on n-grams.
    targets = [grams for grams in (_ngrams(reference, n) for reference in references) if grams]
    wanted = set().union(*targets)
    share = {g: sum(g in target for target in targets) / max(len(targets), 1) for g in before}  # that keep g

    added, kept, deleted = after - before, before & after, before - after
    add = _f1(len(added & wanted), len(added), len(wanted - before))
    keep = _f1(sum(share[g] for g in kept), len(kept), sum(share.values()))
    right = sum(1 - share[g] for g in deleted)
    delete_f1 = _f1(right, len(deleted), sum(1 - s for s in share.values()))
    return Sari(add, keep, _divide(right, len(deleted)), delete_f1)


def _ngrams(words: list[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(right: float, selected: float, relevant: float) -> float:
    precision, recall = _divide(right, selected), _divide(right, relevant)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
