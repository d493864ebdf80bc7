"""Settings of a model, and what follows from them without its weights: an exported model has these too."""

from dataclasses import asdict, dataclass, field
from typing import Any

from masker.core.padding import Frame
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError, unknown

# knobs of the search editor as models of version 0.1 have them
_RENAMED = {"style": "encoder", "words": "bag_of_words", "fit": "coherence", "rest": "residue"}


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
