"""What masker check and masker fix have in common: files are read, and their prose is rewritten, all in one go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli._editing import Failures, rewrites
from masker.cli.edit import make_job
from masker.data.documents import KEEP, KINDS, Document, DocumentRewrite, kind_of
from masker.data.formats import read_text
from masker.errors import MaskerError, unknown

if TYPE_CHECKING:
    from masker.scale.job import Job

STDIN = Path("-")
Files = Annotated[
    list[Path], typer.Argument(help="Markdown, HTML or plain text, as the names end; - is standard input.")
]
Below = Annotated[
    float,
    typer.Option("--below", help="Only sentences in which both style classifiers give --to less than this [0 to 1]."),
]
Kind = Annotated[
    str | None, typer.Option("--kind", help="markdown, html or plain, whatever the names say [default: by name].")
]


@dataclass(frozen=True)
class Rewritten:
    """A file, what became of it, and why parts of it could not be read: the line, and the reason."""

    file: Path
    done: DocumentRewrite
    failed: Sequence[tuple[int, str]]

    @property
    def name(self) -> str:
        return "stdin" if self.file == STDIN else str(self.file)


def checking_job(
    to: str, from_: str | None, model: str | None, max_words: int, exact: bool, *, method: str | None,
    strength: float | None, max_edits: int | None, min_score: float | None, min_confidence: float | None, top: int,
    below: float, protect: str | None, keep: Path | None, forbid: list[str] | None,
) -> "Job":  # fmt: skip
    """What is asked for, as for masker edit. A student alone has one suggestion only, and no classifiers."""
    from masker.students import is_student

    alone = model is not None and is_student(model)
    options: dict[str, Any] = {
        "method": method, "strength": strength, "max_edits": max_edits, "min_score": min_score,
        "min_confidence": min_confidence,
        "protect": protect, "keep": o.terms(keep), "forbid": o.words(forbid),
    }  # fmt: skip
    if not alone:
        options |= {"top": top, "below": below, "keep": [*options["keep"], *KEEP], "confidence": False}
    return replace(make_job(to, from_, model, None, max_words, options), exact=exact)


def rewrite_files(
    job: "Job", files: Sequence[Path], *, kind: str | None, encoding: str, device: str | None, failures: Failures
) -> list[Rewritten]:
    """Rewrite the prose of files. All are read before the model is loaded, so that what is wrong shows at once."""
    if kind is not None and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise MaskerError(f"{'standard input' if twice == STDIN else twice} is named twice; name it once")
    documents = [Document.read(read_text(file, encoding), kind or kind_of(file)) for file in files]
    places = [
        (file, document.position(block.start)[0])
        for file, document in zip(files, documents, strict=True)
        for block in document.prose
    ]
    failures.name = lambda number: f"{places[number - 1][0]}, line {places[number - 1][1]}"
    texts = (text for document in documents for text in document.texts)
    made = rewrites(job, texts, failures, shown=False, device=device, encoding=encoding, unit="paragraphs")
    return [*_by_file(files, documents, made)]


def _by_file(files: Sequence[Path], documents: Sequence[Document], made: Iterator[Any]) -> Iterator[Rewritten]:
    for file, document in zip(files, documents, strict=True):
        some = list(islice(made, len(document.prose)))
        failed = [
            (document.position(block.start)[0], rewrite.error)
            for block, rewrite in zip(document.prose, some, strict=True)
            if rewrite.error
        ]
        yield Rewritten(file, document.rewrite(some), failed)
    list(made)  # its end shows
