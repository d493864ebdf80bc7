"""What is asked for: from which domain to which, and what may not be touched or inserted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from masker.core.matching import Pattern, Range
from masker.core.padding import Frame
from masker.core.scoring import DomainScorer, ScoreTable
from masker.core.spans import Span
from masker.core.text import Text, split_words
from masker.core.vocabulary import Vocabulary

__all__ = ["Range", "Task"]


@dataclass(frozen=True)
class Task:
    """From which domain to which, with what model, and what may not be touched or inserted."""

    vocabulary: Vocabulary
    frame: Frame
    window: int
    to: str
    from_: str | None
    target: DomainScorer
    source: DomainScorer | None  # None: a single domain, or the ablation without SourceScore
    protect: tuple[Pattern, ...] = ()
    forbid: Collection[str] = field(default_factory=frozenset)
    batch_tokens: int = 8192

    def keep(self, text: Text) -> list[Range]:
        """Character ranges that no edit may touch."""
        return self.kept_in(text.source)

    def kept_in(self, source: str) -> list[Range]:
        return [span for pattern in self.protect for span in pattern.spans(source)]

    @cached_property
    def forbidden(self) -> frozenset[tuple[str, ...]]:
        """What may not be inserted, as words in small letters."""
        return frozenset(tuple(word[a:b].lower() for a, b in split_words(word)) for word in self.forbid)

    def allowed(self) -> np.ndarray:
        """[V] which pieces may be infilled: the forbidden words of one piece are left out beforehand."""
        allowed = self.vocabulary.infillable.copy()
        for word in self.forbid:
            for spaced in (True, False):
                pieces = [p for w in self.vocabulary.chunk(word, spaced=spaced) for p in w[2]]
                if len(pieces) == 1:
                    allowed[pieces] = False
        return allowed

    def table(self, texts: Sequence[Text], spans: Sequence[Sequence[Span]]) -> ScoreTable:
        """The spans of texts, to be asked about."""
        return ScoreTable(
            texts, spans, target=self.target, source=self.source, frame=self.frame, window=self.window,
            allowed=self.allowed(), batch_tokens=self.batch_tokens,
        )  # fmt: skip
