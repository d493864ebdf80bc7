"""What all students share: the table of kinds, `fit` on pairs, `edit`, and folders that say which kind they hold."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from masker.core.edits import Rewrite
from masker.core.runtime import Pending
from masker.data.checked import checked, read_versioned
from masker.errors import MaskerError, check_whole, unknown
from masker.runtime.reader import Reader
from masker.training.progress import Report
from masker.training.settings import LoopSettings

CARD = "student.json"
FORMAT = 1
DECODERS = ("feedforward", "autoregressive")
# a new kind is a package and a line here; its class is imported when it is needed
_CLASSES = {
    "lasertagger": "masker.students.lasertagger.student:LaserTagger",
    "felix": "masker.students.felix.student:FelixInsert",
    "bert2bert": "masker.students.bert2bert.student:Bert2Bert",
    "lm": "masker.students.lm.student:LMStudent",
}
_LIGHT = {"lasertagger": "masker.students.lasertagger.light:LightTagger"}
KINDS = tuple(_CLASSES)


@dataclass(frozen=True)
class Pair:
    """A text and what a student is to make of it."""

    source: str
    target: str
    to: str = ""  # the domain of the target, for students that write several


@dataclass(frozen=True, kw_only=True)
class StudentSettings(LoopSettings):
    """How to train a student. Pairs of more than `max_length` pieces are left out.

    Evaluations rewrite the `held_out` share of the pairs; the best weights are those with the highest Exact, or with
    the lowest loss where that is the same.
    """

    warmup: float = 0.1
    dropout: float = 0.1
    max_length: int = 128
    held_out: float = 0.02
    device: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("max_length", above=0)
        self._require("dropout", "held_out", at_least=0, below=1)


class Student(ABC):
    """A rewriter of one direction. `card` tells what it was trained on, and is saved with it in student.json.

    What is said here needs no torch; `training.TorchStudent` is what kinds that learn with it have in common.
    """

    kind: ClassVar[str]
    card: dict[str, Any]

    @property
    @abstractmethod
    def chunk(self) -> int:
        """How many texts at a time suit it, in a stream."""

    @classmethod
    @abstractmethod
    def create(
        cls, base: str | Path | None, pairs: Sequence[Pair], *, settings: StudentSettings | None = None, **options: Any
    ) -> "Student":
        """A fresh student on the encoder of `base`: a model folder or Hugging Face id, None for the embedded model.

        What has to be counted before training, such as the phrases to insert, is taken from `pairs`. `options` are
        those of the kind.
        """

    @abstractmethod
    def fit(
        self,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings | None = None,
        dev: Sequence[Pair] | None = None,
        report: Report = lambda _: None,
    ) -> dict[str, Any]:
        """Train in place; again with other pairs is fine-tuning. Gives what is also added to the card's `made`.

        Without `dev` a share of the pairs is held out.
        """

    @abstractmethod
    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        """Rewrite texts, all at once: for streams see `StudentEditor`. `to` chooses where a student writes several."""

    def rewrites(self, texts: Sequence[str], to: str | None = None) -> list[Rewrite]:
        """The same with what was edited, where a kind of student can tell."""
        return [
            Rewrite(text, new.replace("\n", " "), None, to or "")  # a text stays a line
            for text, new in zip(texts, self.edit(texts, to), strict=True)
        ]

    def use_reader(self, reader: Reader) -> None:
        """Have a reader choose between several rewritings of a text, where a kind of student has them."""
        raise MaskerError(f"a {self.kind} writes one thing only, and leaves a reader no choice; drop `reader`")

    # -- files ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _save(self, folder: Path, *, packed: bool) -> dict[str, Any]:
        """Write all but student.json; gives the fields of it that `_load` wants to have back."""

    @classmethod
    @abstractmethod
    def _load(cls, folder: Path, fields: dict[str, Any], device: str | None, **options: Any) -> "Student":
        """The student in `folder`; its card is set by the caller."""

    def save_pretrained(self, folder: str | Path, *, packed: bool = False) -> None:
        """Safetensors, tokenizer and JSON in one folder. `packed` stores the weights in a quarter of their size."""
        from masker.model.folder import GRAPHS, WEIGHTS, one_line, staged

        folder = Path(folder).expanduser()
        with one_line(f"cannot save the student in {folder}"), staged(folder) as stage:
            fields = {"format": FORMAT, "kind": self.kind, "card": self.card, **self._save(stage, packed=packed)}
            (stage / CARD).write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", "utf-8")
            written = {path.name for path in stage.iterdir()}
        for name in {*WEIGHTS, GRAPHS} - written:  # of an earlier student in this folder
            (folder / name).unlink(missing_ok=True)

    @staticmethod
    def from_pretrained(
        folder: str | Path, *, device: Any = None, exported: bool = True, exact: bool = False
    ) -> "Student":
        """The student of any kind that was saved in a folder.

        On the CPU one that is `exported` (masker export) edits by ONNX Runtime, without torch, in int8 unless `exact`;
        it cannot be taught.
        """
        from masker.model.folder import GRAPHS, one_line
        from masker.runtime import chosen_device

        folder = Path(folder).expanduser()
        if not is_student(folder):
            raise MaskerError(f"{folder} holds no student ({CARD} is missing); make one with masker distill")
        with one_line(f"cannot load the student '{folder}'"):
            kind, fields, card = read_card(folder)
            light = exported and (folder / GRAPHS).is_file() and chosen_device(device) == "cpu"
            options = {"exact": exact} if light else {}
            student = student_class(kind, light=light)._load(folder, fields, device, **options)
            student.card = card
            return student


def read_card(folder: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """What student.json says: the kind, its fields, and what is told of how the student was made."""
    where = folder / CARD
    fields = read_versioned(where, FORMAT)
    own = () if fields.get("kind") in KINDS else None  # kinds that were added may have fields of their own
    said = checked(StudentFile, fields, where, others=own)
    known = {name: value for name, value in fields.items() if name not in ("kind", "card")}
    return said.kind, known, said.card


@dataclass(frozen=True)
class StudentFile:
    """What student.json may say: which of it a student has depends on its kind."""

    kind: str
    card: dict[str, Any]
    shared: bool = False
    targets: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    decoder: str = "feedforward"
    window: int = 1
    rounds: int = 1
    keep_bias: float = 0.0
    max_length: int = 1
    max_inserted: int = 1
    beams: int = 1

    def __post_init__(self) -> None:
        check_whole(
            1, window=self.window, rounds=self.rounds, max_length=self.max_length, max_inserted=self.max_inserted,
            beams=self.beams,
        )  # fmt: skip
        if self.decoder not in DECODERS:
            raise unknown("decoder", self.decoder, list(DECODERS))


def student_class(kind: str, *, light: bool = False) -> type[Student]:
    """The class of a kind; `light` is the one that edits without torch."""
    if kind not in _CLASSES:
        raise unknown("student", kind, list(KINDS))
    module, name = (_LIGHT if light else _CLASSES)[kind].split(":")
    found: type[Student] = getattr(import_module(module), name)
    return found


def owner(folder: Path) -> Path:
    """The folder of the model whose embeddings a student shares: the one that the student's lies in."""
    from masker.model.folder import has_settings

    found = folder.absolute().parent
    if not has_settings(found):
        raise MaskerError(f"the student in {folder} shares the embeddings of a model; put it into the model's folder")
    return found


def check_target(targets: Sequence[str], to: str | None) -> None:
    """Refuse a domain that a student of several does not write."""
    if targets and not to:
        raise MaskerError(f"the student writes {' and '.join(targets)}; choose one with `to`")
    if targets and to not in targets:
        raise unknown("domain of the student", to, targets)


def is_student(folder: str | Path) -> bool:
    """Whether a folder holds a student rather than a model."""
    return (Path(folder).expanduser() / CARD).is_file()


class StudentEditor:
    """A student as an editor."""

    name = "student"
    prefetch = 0

    def __init__(self, student: Student, to: str = "", from_: str | None = None) -> None:
        self.student, self.to, self.from_, self.chunk = student, to, from_, student.chunk

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [
            replace(rewrite, from_=self.from_, to=self.to) for rewrite in self.student.rewrites(texts, self.to or None)
        ]
