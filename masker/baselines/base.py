"""What all baselines share: the table of their names, and folders in a model's folder: MODEL/baselines/NAME."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from masker.core.text import split_words
from masker.errors import MaskerError, unknown
from masker.model.folder import BASELINES as FOLDER
from masker.model.folder import one_line, staged
from masker.training.progress import Report

CARD = "baseline.json"
_CLASSES = {
    "acmlm-frequency": "masker.baselines.selectors:FrequencyRatio",
    "acmlm-attention": "masker.baselines.selectors:AttentionBased",
    "acmlm-fusion": "masker.baselines.selectors:Fusion",
    "delete-template": "masker.baselines.retrieval:Retrieval",
    "delete-retrieve": "masker.baselines.rewriting:RetrievalAndGenerator",
}
NAMES = tuple(_CLASSES)


class Baseline(ABC):
    """What a baseline has learnt from the texts of domains, and how it is kept in a folder."""

    @classmethod
    @abstractmethod
    def fit(cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path) -> "Baseline":
        """Learn from texts; `beside` is the folder that has the other baselines of the model, if any."""

    @abstractmethod
    def save(self, folder: Path) -> None: ...

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> "Baseline": ...


def words_of(text: str) -> list[str]:
    """The words that baselines count."""
    return [text[a:b].lower() for a, b in split_words(text)]


def fit_baseline(
    name: str,
    corpora: Mapping[str, Sequence[str]],
    model: Path,
    *,
    seed: int = 0,
    command: str = "",
    report: Report = lambda _: None,
) -> Path:
    """Learn a baseline from the texts of two domains or more, into the folder of a model; gives where it is."""
    if len(corpora) < 2:
        raise MaskerError(f"the baseline {name} tells domains apart: give two or more with `corpora`")
    baseline = _class(name).fit(corpora, seed=seed, report=report, beside=model / FOLDER)
    folder = model / FOLDER / name
    with one_line(f"cannot save {folder}"), staged(folder) as stage:
        baseline.save(stage)
        card = {"baseline": name, "domains": list(corpora), "lines": {to: len(texts) for to, texts in corpora.items()}}
        (stage / CARD).write_text(json.dumps({**card, "command": command}, indent=2) + "\n", "utf-8")
    return folder


def baseline_folder(name: str, model: Path | None) -> Path | None:
    return model and model / FOLDER / name


def domains_of(folder: Path | None) -> list[str]:
    """The domains that the baseline in a folder was fitted to; none if there is none."""
    card = folder and folder / CARD
    if not card or not card.is_file():
        return []
    with one_line(f"cannot read {card}"):
        return list(json.loads(card.read_text("utf-8"))["domains"])


def load_baseline(name: str, model: Path) -> Any:
    """The baseline of a model's folder. It is remembered until it is fitted again."""
    folder = model / FOLDER / name
    return _loaded(name, folder, (folder / CARD).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(name: str, folder: Path, made: int) -> Baseline:
    with one_line(f"cannot read the baseline in {folder}"):
        return _class(name).load(folder)


def _class(name: str) -> type[Baseline]:
    if name not in _CLASSES:
        raise unknown("baseline", name, NAMES)
    module, _, cls = _CLASSES[name].partition(":")
    found: type[Baseline] = getattr(import_module(module), cls)
    return found
