"""Judges of style: classifiers that say which domain a text belongs to.

Two kinds, so that no figure rests on one opinion: logistic regression on word n-grams, and a fine-tuned transformer.
Both are saved without pickles, beside a judge.json that tells how good they are.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from masker.data.checked import checked, read_object
from masker.errors import MaskerError, unknown
from masker.evaluation.normalise import normalise
from masker.model.folder import one_line, staged
from masker.training.settings import LoopSettings

# a new kind is a module and a line here; its class is imported when it is needed
_CLASSES = {
    "ngram": "masker.evaluation.judges.ngram:NgramJudge",
    "transformer": "masker.evaluation.judges.transformer:TransformerJudge",
}
KINDS = tuple(_CLASSES)
CARD, WEIGHTS = "judge.json", "model.safetensors"
Corpora = Mapping[str, Sequence[str]]  # domain name -> texts
OnStep = Callable[[int, int], None]  # step, steps in all


@dataclass(frozen=True, kw_only=True)
class Training(LoopSettings):
    """How a transformer judge is fine-tuned from the encoder `base`; n-gram judges need nothing but the seed.

    Texts are read up to `max_length` word pieces, and the development lines measured after every epoch.
    """

    base: str | Path | None = None
    batch_size: int = 256
    lr: float = 1e-4
    warmup: float = 0.1
    patience: int | None = None
    max_length: int = 64
    device: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("max_length", at_least=3)


@dataclass(frozen=True)
class Card:
    """What is known about a judge; saved as judge.json. The accuracy is in per cent."""

    kind: str
    domains: tuple[str, ...]
    normalised: bool  # whether texts are normalised before they are read
    train_lines: int
    dev_lines: int
    dev_accuracy: float
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Labelled:
    """Texts, and the number of the domain of each."""

    texts: list[str]
    labels: np.ndarray  # [n]

    @classmethod
    def of(cls, corpora: Corpora, *, normalised: bool) -> "Labelled":
        """The texts of all domains in one list."""
        texts = [normalise(text) if normalised else text for lines in corpora.values() for text in lines]
        return cls(texts, np.repeat(np.arange(len(corpora)), [len(lines) for lines in corpora.values()]))

    def accuracy(self, log_probs: np.ndarray) -> float:
        """Per cent of the texts whose most probable domain is theirs."""
        return float(100 * np.mean(log_probs.argmax(1) == self.labels))


class Judge(ABC):
    """A classifier of texts by domain. `fit` and `from_pretrained` give the kind that is asked for."""

    card: Card

    @staticmethod
    def fit(
        corpora: Corpora,
        *,
        dev: Corpora | None = None,
        kind: str = "ngram",
        training: Training | None = None,
        normalised: bool = True,
        on_step: OnStep | None = None,
    ) -> "Judge":
        """Train a judge. What there is to choose is chosen on `dev`, or on 5 % of the lines if there is none.

        Texts are normalised as for the metrics, then and later; not so where case and spacing are a matter of style.
        """
        training = training or Training()
        made = _kind(kind)
        if len(corpora) < 2:
            raise MaskerError(
                f"a judge needs at least two domains, but `corpora` has {len(corpora)}; give the texts of more"
            )
        if dev is None:
            corpora, dev = _split(corpora, training.seed)
        elif set(dev) != set(corpora):
            raise MaskerError(
                f"development lines for {', '.join(dev)} but domains {', '.join(corpora)}; give the same names"
            )
        dev = {domain: dev[domain] for domain in corpora}
        for domain in corpora:
            if not corpora[domain] or not dev[domain]:
                raise MaskerError(f"domain '{domain}' has no lines to learn from or none to be measured on; give more")
        train_set, dev_set = (Labelled.of(c, normalised=normalised) for c in (corpora, dev))
        judge, settings = made._fit(train_set, dev_set, tuple(corpora), training, on_step)
        accuracy = dev_set.accuracy(judge._log_probs(dev_set.texts))
        counts = len(train_set.texts), len(dev_set.texts)
        judge.card = Card(kind, tuple(corpora), normalised, *counts, dev_accuracy=round(accuracy, 3), settings=settings)
        return judge

    @staticmethod
    def from_pretrained(folder: str | Path) -> "Judge":
        """Load a judge that `save_pretrained` wrote; nothing in it can run code."""
        folder = Path(folder).expanduser()
        if not (folder / CARD).is_file():
            raise MaskerError(f"no judge at {folder}: it has no {CARD}; make one with 'masker judge fit'")
        if not (folder / WEIGHTS).is_file():
            raise MaskerError(f"the judge at {folder} has no {WEIGHTS}; fit it again (pickles are not read)")
        card = checked(Card, read_object(folder / CARD), folder / CARD)
        with one_line(f"cannot load the judge at {folder}"):
            judge = _kind(card.kind)._load(folder)
        judge.card = replace(card, domains=tuple(card.domains))
        if (outputs := judge._log_probs([""]).shape[1]) != len(card.domains):
            raise MaskerError(
                f"{folder} tells {outputs} domains apart, but {CARD} names {len(card.domains)}; fit it again"
            )
        return judge

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the judge to a folder; the card comes last, so that half a judge is not taken for one."""
        folder = Path(folder).expanduser()
        with one_line(f"cannot save the judge in {folder}"), staged(folder) as stage:
            self._save(stage)
            (stage / CARD).write_text(json.dumps(asdict(self.card), indent=2, ensure_ascii=False) + "\n", "utf-8")

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return self.card.kind

    @property
    def domains(self) -> tuple[str, ...]:
        """The names of the domains, in the order of the columns of `log_probs`."""
        return self.card.domains

    @property
    def dev_accuracy(self) -> float:
        """Per cent of the development lines that were judged rightly."""
        return self.card.dev_accuracy

    def log_probs(self, texts: Sequence[str]) -> np.ndarray:
        """Natural log-probabilities of the domains, [n, domains]."""
        return self._log_probs([normalise(text) if self.card.normalised else text for text in texts])

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The most probable domain of each text."""
        return [self.domains[i] for i in self.log_probs(texts).argmax(1)]

    @classmethod
    @abstractmethod
    def _fit(
        cls, train: Labelled, dev: Labelled, domains: tuple[str, ...], training: Training, on_step: OnStep | None
    ) -> tuple["Judge", dict[str, Any]]: ...

    @classmethod
    @abstractmethod
    def _load(cls, folder: Path) -> "Judge": ...

    @abstractmethod
    def _save(self, folder: Path) -> None: ...

    @abstractmethod
    def _log_probs(self, texts: list[str]) -> np.ndarray: ...


def _kind(name: str) -> type[Judge]:
    if name not in _CLASSES:
        raise unknown("kind of judge", name, list(KINDS))
    module, class_name = _CLASSES[name].split(":")
    found: type[Judge] = getattr(import_module(module), class_name)
    return found


def _split(corpora: Corpora, seed: int) -> tuple[Corpora, Corpora]:
    """Training lines and development lines of every domain."""
    from masker.data.corpora import hold_out

    parts = {domain: hold_out(lines, share=0.05, seed=seed) for domain, lines in corpora.items()}
    return {d: train for d, (train, _) in parts.items()}, {d: held for d, (_, held) in parts.items()}
