"""Settings of a model, and what follows from them without its weights: an exported model has these too."""

import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from masker.core.padding import Frame
from masker.core.unspaced import segmenter
from masker.core.vocabulary import Vocabulary
from masker.data.checked import checked
from masker.errors import MaskerError, check_number, check_whole, missing, unknown
from masker.model.seen import odds, unpacked, unpacked_counts

_FORMAT = 1
NO_SEGMENTER = "none"  # texts without spaces were there, but not what cuts them
MOST_MASKS, LONGEST_WINDOW = 64, 100_000  # more makes no sense, and would fill the memory
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
    counted: float = 0.5  # what each domain's share of a piece counts for, beside what the masked LM makes of it
    sure: float = 1.0  # worth 2 and 5.5 points of style by the two judges, and 4 of self-BLEU
    convinced: float = 0.0  # what no edits make this probable, to both classifiers, is left alone
    clear: float = 0.0  # drafts that are this probable go before those that are better otherwise
    # with a reader (`search.reader`), as first guessed: read blind, 60 of 100 rewrites were acceptable instead of 52
    reader_drafts: int = 24  # of a segment, that it reads
    reader_likelihood: float = 0.5
    reader_odds: float = 2.0
    reader_margin: float = 3.0
    reader_kept: float = 20.0
    # with a critic (`search.confidence`): of dev lines 65 % had an acceptable draft chosen with 8, 59 % with 0
    critic: float = 8.0
    critic_drafts: int = 12  # of a segment, that it reads
    critic_least: float = 0.5  # what the student writes stands if it is at least so probably accepted

    def __post_init__(self) -> None:
        for knob in fields(self):
            check_number(**{knob.name: getattr(self, knob.name)})
        if not 0 < self.strength < 1:
            raise MaskerError(f"`strength` is {self.strength}: it is a probability, so between 0 and 1")
        for name in ("convinced", "clear", "critic_least"):
            if not 0 <= getattr(self, name) < 1:
                raise MaskerError(f"`{name}` is {getattr(self, name)}: it is a probability, from 0 up to 1")
        check_whole(1, max_edits=self.max_edits, reader_drafts=self.reader_drafts, critic_drafts=self.critic_drafts)

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
    `gaps` are marks that the texts set apart from words, as French does, with their white space, and `names` words that
    they write with capitals; `segmenter` is what cut texts without spaces into words, if there were any. `seen` are the
    pieces of a domain's texts, as `packed`, and `counts` how often they are there.
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
    names: list[str] = field(default_factory=list)
    segmenter: str | None = None
    seen: dict[str, str] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.domain_as not in ("token", "embedding"):
            raise unknown("way to tell the domain", self.domain_as, ["token", "embedding"])
        if not 1 <= self.n_p <= MOST_MASKS or not 4 * self.n_p <= self.window <= LONGEST_WINDOW:
            raise MaskerError(
                f"`n_p` is {self.n_p} and `window` {self.window}: need `n_p` from 1 to {MOST_MASKS} and `window` from "
                f"4 times `n_p` to {LONGEST_WINDOW:,}"
            )
        self._check_domains()
        self.search = {to: {_RENAMED.get(k, k): v for k, v in knobs.items()} for to, knobs in self.search.items()}
        for knobs in self.search.values():
            SearchSettings.of(knobs)  # what is wrong shows when a model is loaded
        for name, shape in self.shape.items():
            if shape.keys() != {"sentences", "words"} or min(shape.values()) < 0:
                raise MaskerError(f"`shape` of '{name}' is {shape}: it needs sentences and words, above 0")
        for name, longest in self.longest.items():
            check_whole(0, **{f"longest of {name}": longest})
        for name, seen in self.seen.items():
            unpacked(f"seen of {name}", seen)
        for name, counts in self.counts.items():
            unpacked_counts(f"counts of {name}", counts)

    def _check_domains(self) -> None:
        others = [other for other in self.domains.values() if other is not None]
        for name in (*others, *self.sources_only, *self.forbid):
            if name not in self.domains:
                raise unknown("domain", name, list(self.domains))
        for name, other in self.domains.items():
            if name == other:
                raise MaskerError(f"the domain '{name}' is its own counterpart; name another one")

    @property
    def has_style(self) -> bool:
        """Whether the model was made with style classifiers, as far as the newest stage tells."""
        scores = self.made[-1].get("scores") if self.made else None
        return bool(self.domains) and isinstance(scores, dict) and "style_accuracy" in scores

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
    def from_dict(cls, fields: Any, where: object = "settings") -> "Settings":
        """From what a file says, which may be of any shape."""
        if not isinstance(fields, dict) or "format" not in fields:
            raise MaskerError(f"{where} is no object with a format; save the model again")
        values = dict(fields)
        if (version := values.pop("format")) != _FORMAT:
            raise MaskerError(f"{where} has format {version!r:.40}, this version reads {_FORMAT}; update masker-nlp")
        return checked(cls, values, where)

    def to_dict(self) -> dict[str, Any]:
        return {"format": _FORMAT, **asdict(self)}


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

    def known_pieces(self, domains: Collection[str]) -> np.ndarray:
        """The pieces that the texts of some domains have, and `[PAD]`; all where that is not known."""
        seen = self.settings.seen
        if any(name not in seen for name in domains):
            return np.arange(len(self.vocabulary))
        needed = np.array([0, self.vocabulary.pad])  # 0 is asked about where there is nothing to ask
        pieces = np.unique(np.concatenate([needed, *(unpacked(name, seen[name]) for name in domains)]))
        return pieces[pieces < len(self.vocabulary)]

    def odds(self, *domains: str) -> np.ndarray | None:
        """[D, V] by how much some domains prefer each piece to what they have on average; None if that is not known."""
        known = self.settings.counts
        if any(name not in known for name in domains):
            return None
        return odds([unpacked_counts(name, known[name]) for name in domains], len(self.vocabulary))

    def check_domain(self, name: str) -> str:
        if not isinstance(name, str) or name not in self.settings.domains:
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
