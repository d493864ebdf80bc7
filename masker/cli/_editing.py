"""What lines, tables and documents have in common when they are edited: progress, and texts that fail."""

import gc
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from masker.cli import app
from masker.cli._options import as_flags
from masker.cli._output import err

if TYPE_CHECKING:
    from masker.core.edits import Rewrite
    from masker.scale.job import Job

FEW = (4, 16)  # texts after the first that are edited together, before as many are as suit the method
TOLD = 10  # texts that could not be edited are told of one by one, up to so many


class Failures:
    """Texts that could not be edited: the first are told of, all are counted, and the exit code is 3."""

    def __init__(self, ended: str = "could not be edited, and came out unchanged") -> None:
        self.count, self.ended = 0, ended
        self.name: Callable[[int], str] = lambda number: f"text {number}"

    def note(self, number: int, why: str) -> None:
        self.count += 1
        if self.count <= TOLD:
            err.print(f"masker: {self.name(number)}: {as_flags(why, _command())}", markup=False, soft_wrap=True)

    def end(self) -> None:
        self.tell()
        if self.count:
            raise typer.Exit(3)

    def tell(self) -> None:
        """How many there were, if there were any."""
        if self.count:
            texts = "1 text" if self.count == 1 else f"{self.count:,} texts"
            err.print(f"masker: {texts} {self.ended}", markup=False, soft_wrap=True)


def _command() -> Any:
    return typer.main.get_command(app).commands["edit"]  # type: ignore[attr-defined]


def counter(*, quiet: bool = False) -> Progress:
    """A count of what is done, on a terminal only."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal)


def tell_finished(out: Path, *, known: bool = True) -> None:
    """For a run that was to be continued. Its options are `known` only where a card stays that tells them."""
    compared = "" if known else " (as many texts as the input has; with what options it was made is not known)"
    said = f"masker: {out} is complete{compared}, and nothing is left to do; without --resume it is made anew"
    err.print(said, markup=False, soft_wrap=True)


def rewrites(
    job: "Job",
    texts: Iterable[str],
    failures: Failures,
    *,
    shown: bool,
    device: str | None,
    encoding: str = "utf-8",
    unit: str = "lines",
) -> Iterator["Rewrite"]:
    """Rewrite texts in this process as they come, with a count of them on stderr.

    Not if they are `shown` on a terminal, which tells as much. What `encoding` has no characters for is not written.
    """
    with counter(quiet=shown and sys.stdout.isatty()) as bar:
        source = iter(texts)
        first = list(itertools.islice(source, 1))  # a bad file shows before the model is loaded
        editor = job.load(device, keep_going=True)
        gc.freeze()  # or else the collector looks through all of the libraries again and again
        task = bar.add_task(f"0 {unit}")
        for done, rewrite in enumerate(_soon(editor.stream, first, source), 1):
            rewrite = _written(rewrite, encoding)
            if rewrite.error:
                failures.note(done, rewrite.error)
            bar.update(task, description=f"{done:,} {unit}")
            yield rewrite


def _soon(
    stream: Callable[[Iterable[str]], Iterator["Rewrite"]], first: Iterable[str], rest: Iterator[str]
) -> Iterator["Rewrite"]:
    """Rewrites of a stream that is begun with few texts at a time, so that the first of them come soon."""
    yield from stream(first)
    for size in FEW:
        if not (part := list(itertools.islice(rest, size))):
            return
        yield from stream(part)
    yield from stream(rest)


def _written(rewrite: "Rewrite", encoding: str) -> "Rewrite":
    try:
        rewrite.text.encode(encoding)
    except UnicodeEncodeError as error:
        why = f"{encoding} has no {error.object[error.start]!r}, which its rewrite has; convert the file to utf-8"
        return replace(rewrite, text=rewrite.source, edits=(), error=why)
    return rewrite
