"""Settings of a model, and what follows from them without its weights: an exported model has these too."""

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from masker.core.padding import Frame
from masker.core.unspaced import segmenter
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError, check_number, check_whole, missing, unknown

_FORMAT = 1
NO_SEGMENTER = "none"  # texts without spaces were there, but not what cuts them
ALIKE = 1.15  # two domains are alike in sentences, or words of one, where the one has at most so many times the other's
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
    convinced: float = 0.0  # what no edits make this probable, to both classifiers, is left alone
    # with a reader (`search.reader`), as first guessed: read blind, 60 of 100 rewrites were acceptable instead of 52
    reader_drafts: int = 24  # of a segment, that it reads
    reader_likelihood: float = 0.5
    reader_odds: float = 2.0
    reader_margin: float = 3.0
    reader_kept: float = 20.0
    # with a critic (`search.confidence`)
    critic: float = 8.0
    critic_drafts: int = 6  # of a segment, that it reads
    critic_least: float = 0.5  # what the student writes stands if it is at least so probably accepted

    def __post_init__(self) -> None:
        for knob in fields(self):
            check_number(**{knob.name: getattr(self, knob.name)})
        if not 0 < self.strength < 1:
            raise MaskerError(f"`strength` is {self.strength}: it is a probability, so between 0 and 1")
        if not 0 <= self.convinced < 1:
            raise MaskerError(f"`convinced` is {self.convinced}: it is a probability, from 0 up to 1")
        check_whole(
            1, max_edits=self.max_edits, reader_drafts=self.reader_drafts, critic_drafts=self.critic_drafts
        )

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
    Texts may only come from the domains in `sources_only`, and are never rewritten to them; and `forbid` has words that
    are never inserted on the way to a domain.
    `longest` is how many pieces all but 1 % of a domain's texts have at most, `shape` how many `sentences` they have on
    average and how many `words` a sentence; `search` has the knobs of the search editor as tuned for a target domain.
    `gaps` are marks that the texts set apart from words, as French does, with their white space; `segmenter` is what
    cut texts without spaces into words, if there were any.
    """

    n_p: int = 4
    window: int = 128
    domains: dict[str, str | None] = field(default_factory=dict)
    sources_only: list[str] = field(default_factory=list)
    forbid: dict[str, list[str]] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    domain_as: str = "token"
    longest: dict[str, int] = field(default_factory=dict)
    shape: dict[str, dict[str, float]] = field(default_factory=dict)
    search: dict[str, dict[str, float]] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)
    segmenter: str | None = None

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
        for name in (*self.sources_only, *self.forbid):
            if name not in self.domains:
                raise unknown("domain", name, list(self.domains))
        for name, shape in self.shape.items():
            if shape.keys() != {"sentences", "words"}:
                raise MaskerError(f"`shape` of '{name}' has {', '.join(shape)}: it needs sentences and words")

    def by_sentence(self, *domains: str) -> bool:
        """Whether sentences can be edited one by one: not where it is in them that domains differ, as split and fused
        texts do. Some texts are just longer than others: their sentences are not, and only their number differs.
        """
        known = [self.shape[name] for name in domains if name in self.shape]
        return len(known) == len(domains) and not all(
            max(shape[of] for shape in known) > ALIKE * min(shape[of] for shape in known)
            for of in ("sentences", "words")
        )

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

    def check_words(self) -> None:
        """Words are cut as they were in training, or the model would be asked about others than it knows."""
        cut, where = self.settings.segmenter, self.folder or "in memory"
        if cut == NO_SEGMENTER and segmenter():
            logging.getLogger("masker").warning(
                f"masker: warning: the model {where} was fitted without what cuts text without spaces into words; "
                "fit it again, for it does not know the words that are cut now"
            )
        elif cut and cut != NO_SEGMENTER and segmenter() is None:
            raise missing("languages", f"the model {where}, for text without spaces,")

    def check_domain(self, name: str) -> str:
        if name not in self.settings.domains:
            raise unknown("domain", name, self.domains)
        return name

    def check_target(self, name: str) -> str:
        """A domain that texts may be rewritten to."""
        if self.check_domain(name) in self.settings.sources_only:
            others = ", ".join(d for d in self.domains if d not in self.settings.sources_only)
            raise MaskerError(
                f"the model does not write '{name}', it only reads it; choose another domain ({others}), "
                "or fit a model of your own (masker fit)"
            )
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
