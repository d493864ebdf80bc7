"""Settings of a model, and what follows from them without its weights: an exported model has these too."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from masker.core.padding import Frame
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError, unknown

_FORMAT = 1
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
            raise MaskerError(
                f"`n_p` is {self.n_p} and `window` {self.window}: need `n_p` >= 1 and `window` >= 4 times `n_p`"
            )

        self.search = {to: {_RENAMED.get(k, k): v for k, v in knobs.items()} for to, knobs in self.search.items()}
        for knobs in self.search.values():
            SearchSettings.of(knobs)  # what is wrong shows when a model is loaded

    @classmethod
    def from_dict(cls, fields: Any) -> "Settings":
        """From what a file says, which may be of any shape."""
        if not isinstance(fields, dict) or "format" not in fields:
            raise MaskerError("this is no object with a format; save the model again")
        values = dict(fields)
        if (version := values.pop("format")) != _FORMAT:
            raise MaskerError(f"its format is {version}, this version reads {_FORMAT}; update masker-nlp")
        kinds = get_type_hints(cls)
        for key, value in values.items():
            if key not in kinds:
                raise unknown("key", key, list(kinds))
            if not _fits(value, kinds[key]):
                kind = kinds[key].__name__ if isinstance(kinds[key], type) else kinds[key]
                raise MaskerError(f"'{key}' is {value!r:.60}; it should be of the type {kind}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return {"format": _FORMAT, **asdict(self)}


def _fits(value: Any, kind: Any) -> bool:
    """Whether what JSON gave is of a type, in all of its parts."""
    parts, origin = get_args(kind), get_origin(kind)
    if kind is Any:
        return True
    if origin is dict:
        return isinstance(value, dict) and all(_fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items())
    if origin is list:
        return isinstance(value, list) and all(_fits(part, parts[0]) for part in value)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if isinstance(value, bool):  # to Python a whole number, too
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


class WithDomains:
    """A model as the editor sees it: a vocabulary, settings, and named domains.

    `architecture` is its family's name, `size` the number of its weights; `folder` is where it was read from, if it was
    read from one.
    """

    vocabulary: Vocabulary
    settings: Settings
    folder: Path | None

    @property
    def architecture(self) -> str:
        raise NotImplementedError

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def frame(self) -> Frame:
        v = self.vocabulary
        return Frame(tuple(v.start), tuple(v.end), v.mask, v.pad, self.settings.n_p)

    @property
    def domains(self) -> list[str]:
        return list(self.settings.domains)

    def check_tokens(self, where: str | Path) -> None:
        """Files of different models in one folder would give nonsense, or an index error much later."""
        for name in self.domains:
            if self.vocabulary.domain(name) == self.vocabulary.tokenizer.unk_token_id:
                raise MaskerError(
                    f"the tokenizer of {where} has no token for the domain '{name}'; save the model again"
                )

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
