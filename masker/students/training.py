"""What students that are torch modules share: how they are made, taught and measured, and what their folders hold."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from masker.core.vocabulary import Vocabulary
from masker.data.corpora import hold_out
from masker.errors import MaskerError, unknown
from masker.model.padded_mlm import EMBEDDINGS, PaddedMLM, embeddings
from masker.runtime.memory import InParts
from masker.students.base import Pair, Student, StudentSettings, owner
from masker.students.network import keep_layers, load_shape, load_weights, save_weights
from masker.training.device import autocast, choose_device
from masker.training.loop import set_dropout, teach
from masker.training.progress import Report, Score
from masker.training.task import RowsTask

MEASURED = 64  # held-out examples whose loss is computed at a time


class Examples(Protocol):
    """Pairs as tensors on the device, from which batches are taken by number."""

    @property
    def lengths(self) -> Sequence[int]:
        """Pieces of each, of the longest of its inputs."""
        ...

    def loss(self, model: Any, rows: Tensor, longest: int) -> Tensor:
        """The mean loss of rows, the longest of which has so many pieces."""
        ...


@dataclass(frozen=True)
class Lesson:
    """What there is to learn from and to measure with, and what the student's card tells of it."""

    examples: Examples
    held_out: Examples
    told: dict[str, Any]


class TorchStudent(Student):
    """A student that is one torch module, and a vocabulary.

    A new kind defines `_create` with its options, `_network`, `_fields` (what of them has to be known to load it),
    `_lesson` (how pairs become examples) and `edit` (how what the network puts out becomes text).
    """

    evaluated: ClassVar[int | None] = None  # held-out pairs that are rewritten at an evaluation, at most
    device: torch.device
    shared: bool = False  # whether the embeddings are those of the model that the student's folder lies in

    vocabulary: Any  # of whatever kind the network reads

    def __init__(self, model: Any, vocabulary: Any, device: str | None) -> None:
        self.device = choose_device(device)
        self.model = model.to(self.device).eval()
        self.vocabulary = vocabulary
        self.card = {}
        self._in_parts = InParts()

    @property
    def chunk(self) -> int:
        return 256 if self.device.type == "cpu" else 4096

    # -- where it starts --------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls, base: str | Path | None, pairs: Sequence[Pair], *, settings: StudentSettings | None = None, **options: Any
    ) -> Self:
        parameters = inspect.signature(cls._create).parameters.values()
        known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
        if wrong := next((name for name in options if name not in known), None):
            raise unknown(f"option of a {cls.kind}", wrong, known)
        return cls._create(base, pairs, settings or StudentSettings(), **options)

    @classmethod
    @abstractmethod
    def _create(cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings) -> Self:
        """As `create`, with the options of the kind as keywords."""

    @classmethod
    def _start(
        cls, base: str | Path | None, settings: StudentSettings, fields: dict[str, Any], told: dict[str, Any], *,
        layers: int | None = None, shared: bool = False,
    ) -> Self:  # fmt: skip
        """A student with fresh weights where the base has none. `told` is for its card.

        It has the first `layers` of the base. Where the embeddings are `shared`, they stay as they are.
        """
        start = PaddedMLM.from_pretrained(base)
        if len(targets := fields.get("targets", ())) == 1 and targets[0] not in start.domains:
            fields = fields | {"targets": []}  # there is only one way, and no token is needed to tell it
        for name in fields.get("targets", ()):
            start.check_domain(name)
        torch.manual_seed(settings.seed)
        if layers is not None:
            keep_layers(start.mlm, layers)
        if shared:
            embeddings(start.mlm).requires_grad_(False)
        model = cls._network(start.mlm, start.vocabulary, fields)
        student = cls(model, start.vocabulary, device=settings.device, **fields)
        size = sum(p.numel() for p in model.parameters() if p.requires_grad)
        name = "embedded" if base is None else str(base)
        student.card = {"base": name, **told, "parameters": size, "made": []}
        student.shared = shared
        return student

    @classmethod
    @abstractmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> Any:
        """The module, made of a masked LM; its `config` tells the shape of it."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """What student.json keeps for `__init__`."""

    # -- training ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings | None = None,
        dev: Sequence[Pair] | None = None,
        report: Report = lambda _: None,
    ) -> dict[str, Any]:
        settings = settings or StudentSettings()
        train, held = split_pairs(pairs, dev, settings)
        held = held[: self.evaluated]
        lesson = self._lesson(train, held, settings)
        made = {
            "pairs": len(train), "used": len(lesson.examples.lengths), "held_out": len(held), **lesson.told,
            **self._teach(lesson, held, settings, report),
            "batch_size": settings.batch_size, "lr": settings.lr, "seed": settings.seed,
        }  # fmt: skip
        self.card.setdefault("made", []).append(made)
        return made

    @abstractmethod
    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        """Pairs as examples, those left out that cannot be learnt; an error where none is left to train on."""

    def _draft(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        """As `edit`, for evaluations: a kind that is slow at its best can be quick here."""
        return self.edit(texts, to)

    def _teach(self, lesson: Lesson, held: Sequence[Pair], settings: StudentSettings, report: Report) -> dict[str, Any]:
        set_dropout(self.model, settings.dropout)
        task = RowsTask(
            self.model, np.asarray(lesson.examples.lengths),
            lambda rows, longest: lesson.examples.loss(self.model, rows, longest),
            (lambda: self._measure(held, lesson.held_out)) if held else None, self.device,
        )  # fmt: skip
        state = teach(task, settings, report=report)
        return {
            "steps": state.step, "best_step": state.best_step or state.step, "seconds": round(state.seconds, 1),
            "device": torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type,
            "scores": _rounded(state.best),
        }  # fmt: skip

    @torch.inference_mode()
    def _measure(self, held: Sequence[Pair], examples: Examples) -> Score:
        total, lengths = 0.0, examples.lengths

        def loss(rows: Tensor) -> tuple[Tensor]:
            found = examples.loss(self.model, rows, max(lengths[k] for k in rows.tolist()))
            return (found.expand(len(rows)),)

        for at in range(0, len(lengths), MEASURED):
            part = lengths[at : at + MEASURED]
            with autocast(self.device):
                rows = torch.arange(at, at + len(part), device=self.device)
                total += float(self._in_parts(loss, rows, length=max(part))[0].sum())
        return score(self._draft, held, total / max(1, len(lengths)))

    # -- files ------------------------------------------------------------------------------------------------------

    def _save(self, folder: Path, *, packed: bool) -> dict[str, Any]:
        self.model.config.save_pretrained(folder)
        if not self.shared:
            self.vocabulary.tokenizer.save_pretrained(folder)
        save_weights(self.model, folder, without=EMBEDDINGS if self.shared else None, packed=packed)
        return self._fields() | ({"shared": True} if self.shared else {})

    @classmethod
    def _load(cls, folder: Path, fields: dict[str, Any], device: str | None, **options: Any) -> Self:
        shared = fields.pop("shared", False)
        model, vocabulary = cls._shape(folder, fields, owner(folder) if shared else None)
        load_weights(model, folder, without=EMBEDDINGS if shared else None)
        student = cls(model, vocabulary, device=device, **fields)
        student.shared = shared
        return student

    @classmethod
    def _shape(cls, folder: Path, fields: dict[str, Any], owner: Path | None) -> tuple[Any, Vocabulary]:
        """The module, its weights random, and the vocabulary."""
        mlm, vocabulary = load_shape(folder, owner)
        return cls._network(mlm, vocabulary, fields), vocabulary


def short_lesson(
    encode: Callable[[Sequence[Pair]], Examples], train: Sequence[Pair], held: Sequence[Pair], max_length: int
) -> Lesson:
    """All pairs that are short enough, which `encode` makes examples of."""
    examples = encode(train)
    if not examples.lengths:
        raise MaskerError(f"all {len(train)} pairs are longer than {max_length} pieces; raise `max_length`")
    return Lesson(examples, encode(held), {"too_long": len(train) - len(examples.lengths)})


def split_pairs(
    pairs: Sequence[Pair], dev: Sequence[Pair] | None, settings: StudentSettings
) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on and pairs to measure on; no source that is held out stays among the former."""
    if dev is not None or not settings.held_out:
        train, held = list(pairs), list(dev or [])
    else:
        sources = [pair.source for pair in pairs]
        out = set(hold_out(sources, share=settings.held_out, seed=settings.seed)[1])
        train = [pair for pair in pairs if pair.source.strip() not in out]
        held = [pair for pair in pairs if pair.source.strip() in out]
    if not train:
        raise MaskerError(f"{len(pairs)} pairs are too few to train on; give more")
    return train, held


def same(a: str, b: str) -> bool:
    """Exact counts texts as equal whatever their case and white space."""
    return a.lower().split() == b.lower().split()


def score(edit: Callable[[Sequence[str], str | None], list[str]], pairs: Sequence[Pair], loss: float) -> Score:
    """The value is Exact, the percentage that is rewritten exactly; `keep_only` is that of texts left as they were."""
    pairs = sorted(pairs, key=lambda pair: pair.to)
    groups = [(to, [pair.source for pair in group]) for to, group in groupby(pairs, lambda pair: pair.to)]
    outputs = [output for to, sources in groups for output in edit(sources, to or None)]
    exact = sum(same(output, pair.target) for output, pair in zip(outputs, pairs, strict=True))
    kept = sum(output.split() == pair.source.split() for output, pair in zip(outputs, pairs, strict=True))
    return Score(100 * exact / len(pairs), loss, {"keep_only": 100 * kept / len(pairs)})


def _rounded(best: Score | None) -> dict[str, float]:
    if best is None:
        return {}
    kept = best.details["keep_only"]
    return {"exact": round(best.value, 2), "keep_only": round(kept, 2), "loss": round(best.loss, 4)}
