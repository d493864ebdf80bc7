"""Settings of a model, and what follows from them without its weights: an exported model has these too."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from masker.core.padding import Frame
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError, unknown

# knobs of the search editor as models of version 0.1 have them
_RENAMED = {"style": "encoder", "words": "bag_of_words", "fit": "coherence", "rest": "residue"}


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """The knobs of the search editor: what it goes for, and what counts for how much in the rank of a draft.

    The first three are also options of `masker edit`, and set by `masker tune`. The weights were chosen on the Yelp
    development set by style accuracy and self-BLEU (`experiments/yelp`); `search.ranking` says what they weigh.
    """

    strength: float = 0.9  # a text is good enough when both classifiers give the target domain this probability
    max_edits: int = 2  # with three, style gains half a point and self-BLEU loses more
    min_score: float = 0.0
    encoder: float = 2.0  # the two classifiers are wrong in different places, the words' one less often
    bag_of_words: float = 4.0
    likelihood: float = 0.4
    similarity: float = 12.0  # 8 before the close look came in
    lost: float = 2.0  # 4 for split and fused, where next to nothing may be lost
    coherence: float = 0.4
    residue: float = 2.0
    sure: float = 1.0  # worth 2 and 5.5 points of style by the two judges, and 4 of self-BLEU

    def __post_init__(self) -> None:
        for knob in fields(self):
            value = getattr(self, knob.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise MaskerError(f"`{knob.name}` is {value!r}: it is a number")
        if not 0 < self.strength < 1:
            raise MaskerError(f"`strength` is {self.strength}: it is a probability, so between 0 and 1")
        if self.max_edits < 1:
            raise MaskerError(f"`max_edits` is {self.max_edits}: need at least 1")

    @classmethod
    def of(cls, *knobs: Mapping[str, float]) -> "SearchSettings":
        """From knobs by name; those that come later win."""
        values = {_RENAMED.get(name, name): value for some in knobs for name, value in some.items()}
        known = [knob.name for knob in fields(cls)]
        for name in values:
            if name not in known:
                raise unknown("knob of the search editor", name, known)
        return cls(**values)  # type: ignore[arg-type]

    @property
    def enough(self) -> float:
        return math.log(self.strength)


@dataclass
class Settings:
    """What is saved beside the weights in masker.json.

    `domains` gives each domain its default counterpart; `window` is the longest text, in pieces, seen in training;
    `made` tells stage by stage how the model was made, and is what the model card is written from. `domain_as` is how
    the model learns of the domain: by a token before the text, or by that token's embedding added to every position.
    `longest` is how many pieces all but 1 % of a domain's texts have at most, and `search` has the knobs of the search
    editor as tuned for a target domain.
    """

    n_p: int = 4
    window: int = 128
    domains: dict[str, str | None] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    domain_as: str = "token"
    longest: dict[str, int] = field(default_factory=dict)
    search: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.domain_as not in ("token", "embedding"):
            raise unknown("way to tell the domain", self.domain_as, ["token", "embedding"])
        if self.n_p < 1 or self.window < 4 * self.n_p:
            raise MaskerError(f"n_p is {self.n_p} and window {self.window}: need n_p >= 1 and window >= 4 n_p")

        self.search = {to: {_RENAMED.get(k, k): v for k, v in knobs.items()} for to, knobs in self.search.items()}
        for knobs in self.search.values():
            SearchSettings.of(knobs)  # what is wrong shows when a model is loaded

    def to_dict(self) -> dict[str, Any]:
        return {"format": 1, **asdict(self)}


class WithDomains:
    """A model as the editor sees it: a vocabulary, settings, and named domains."""

    vocabulary: Vocabulary
    settings: Settings

    @property
    def frame(self) -> Frame:
        v = self.vocabulary
        return Frame(tuple(v.start), tuple(v.end), v.mask, v.pad, self.settings.n_p)

    @property
    def domains(self) -> list[str]:
        return list(self.settings.domains)

    def check_domain(self, name: str) -> str:
        if name not in self.settings.domains:
            raise unknown("domain", name, self.domains)
        return name

    def counterpart(self, to: str) -> str | None:
        """The domain that texts are taken to come from when only the target is named; None for a single domain."""
        self.check_domain(to)
        if len(self.domains) == 1:
            return None
        other = self.settings.domains[to]
        if other is None:
            others = ", ".join(d for d in self.domains if d != to)
            raise MaskerError(
                f"domain '{to}' names no counterpart; say where the text comes from with `from_` ({others})"
            )
        return other
