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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from masker.model.settings import SearchSettings
from masker.search.classifiers import log_odds
from masker.search.infilling import Infill
from masker.search.segments import Candidate, Segment


@dataclass(frozen=True)
class Ranking:
    """What counts for how much; see above."""

    settings: SearchSettings

    @property
    def enough(self) -> float:
        return self.settings.enough

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
        style = float(np.minimum(log_p, self.enough) @ (self.settings.encoder, self.settings.bag_of_words))
        style += self.settings.sure * bool(log_p.min() >= self.enough)
        likelihood = sum(part.infill.target_log_p for part in parts)
        similarity = similarity_of(text, segment.source, self.settings.lost)
        style += self.settings.coherence * coherence + self.settings.residue * residue
        return style + self.settings.likelihood * likelihood + self.settings.similarity * similarity

    def promise(self, segment: "Segment", infill: Infill, gone: int, odds: float) -> float:
        """What an infill will probably be worth: the domains' own odds stand in for the classifiers.

        `gone` is how many words it replaces, and `odds` by how much the source domain prefers them, in nats.
        """
        now = float(log_odds(segment.log_p.mean()))
        log_p = -math.log1p(math.exp(-max(-30.0, min(30.0, now + infill.target_log_p - infill.source_log_p + odds))))
        count = segment.words.stop - segment.words.start
        similarity = (
            (1 + self.settings.lost) * (count - gone) / (count - gone + len(infill.pieces) + self.settings.lost * count)
        )
        style = (self.settings.encoder + self.settings.bag_of_words) * min(log_p, self.enough)
        return style + self.settings.likelihood * infill.target_log_p + self.settings.similarity * similarity


def similarity_of(text: str, source: str, lost: float) -> float:
    """F of the words that a text shares with its source: recall counts for `lost` times as much as precision."""
    new, old = Counter(text.lower().split()), Counter(source.lower().split())
    return (1 + lost) * (new & old).total() / max(1, new.total() + lost * old.total())


def doubles(text: str) -> int:
    """Words that are followed by themselves."""
    words = text.lower().split()
    return sum(a == b and a.isalpha() for a, b in pairwise(words))
