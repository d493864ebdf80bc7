"""masker edit: rewrite texts."""

import gc
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from masker.cli import _options as o
from masker.cli import app
from masker.cli._options import as_flags
from masker.cli._output import choice, err, writer
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.data.formats import Record
    from masker.scale.job import Job


File = Annotated[
    Path,
    typer.Argument(
        help="Texts: one per line, or a column of a .jsonl, .csv, .tsv or .parquet file; gz and xz too; "
        "- is standard input."
    ),
]
To = Annotated[
    str | None, typer.Option("--to", help="Domain to rewrite to; a student that knows only one way needs none.")
]
Shape = Annotated[str, typer.Option("--format", help="lines, tsv (source and rewrite) or jsonl.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write here instead of to standard output.")]
Method = Annotated[str | None, typer.Option("--method", help="auto (the default), fast, search or paper.")]
Strength = Annotated[
    float | None, typer.Option("--strength", help="Edit until both style classifiers are so sure of --to [0 to 1].")
]
MaxEdits = Annotated[
    int | None, typer.Option("--max-edits", help="Up to so many edits per text [default: 2, or 1 with paper].")
]
Top = Annotated[int, typer.Option("--top", help="Also list the K best edits (jsonl: alternatives).")]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Processes to share the work; 0: one per GPU or core. Needs --out.")
]
TOLD = 10  # texts that could not be edited are told of one by one, up to so many
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run with --workers that was killed.")]


@app.command()
def edit(
    file: File = Path("-"),
    to: To = None,
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Shape = "lines",
    out: Out = None,
    method: Method = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_score: o.MinScore = None,
    top: Top = 0,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
    workers: Workers = None,
    resume: Resume = False,
) -> None:
    """Rewrite every text in the style of --to.

    As few words as possible are changed; everything else comes out as it went in. Of a table the column --column is
    read, or without it the column `text` or the only one there is. A text that cannot be edited comes out as it went
    in (jsonl: error), and the exit code is 3.
    """
    from masker.data.formats import LINE_WRITERS, read_records

    choice("format", format, list(LINE_WRITERS))
    options: dict[str, Any] = {
        "method": method, "strength": strength, "max_edits": max_edits, "min_score": min_score, "top": top,
        "source_score": not no_source_score, "protect": protect, "keep": o.terms(keep),
        "forbid": o.words(forbid),
    }  # fmt: skip
    job = replace(_job(to, from_, model, source_model, max_words, options), exact=exact)
    records = read_records(file, column=column, encoding=encoding)
    failures = _Failures()
    if workers is None and not resume:
        _stream(job, records, format, out, device, failures)
        failures.end()
        return
    if out is None:
        raise MaskerError("several workers write to a file that a killed run can be continued in; name it with --out")
    from masker.scale.parallel import edit_file

    edit_file(
        job, records, out, format=format, workers=workers or 0, device=device, resume=resume, source=str(file),
        column=column, encoding=encoding, on_failure=failures.note,
    )  # fmt: skip
    failures.end()


class _Failures:
    """Texts that could not be edited: the first are told of, all are counted, and the exit code is 3."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, line: int, why: str) -> None:
        self.count += 1
        if self.count <= TOLD:
            err.print(f"masker: text {line}: {as_flags(why, _command())}", markup=False, soft_wrap=True)

    def end(self) -> None:
        if self.count:
            texts = "1 text" if self.count == 1 else f"{self.count:,} texts"
            err.print(f"masker: {texts} could not be edited, and came out unchanged", markup=False, soft_wrap=True)
            raise typer.Exit(3)


def _command() -> Any:
    return typer.main.get_command(app).commands["edit"]  # type: ignore[attr-defined]


def _job(
    to: str | None, from_: str | None, model: str | None, source_model: str | None, max_words: int,
    options: dict[str, Any],
) -> "Job":  # fmt: skip
    from masker.scale.job import Job
    from masker.students import is_student

    taught = is_student(model) if model is not None else False
    if taught and (given := [name for name, value in options.items() if value and name != "source_score"]):
        raise MaskerError(f"a student has no --{given[0].replace('_', '-')}; it writes what it was taught")
    if to is None and not taught:
        raise MaskerError("name the domain to rewrite to with --to (masker info lists them)")
    return Job(to or "", from_, model, source_model, max_words, options)


def _stream(
    job: "Job", records: Iterator["Record"], format: str, out: Path | None, device: str | None, failures: "_Failures"
) -> None:
    """In this process, text by text: what is done is written as soon as a chunk of texts is."""
    from masker.scale.job import render

    endings: deque[str] = deque()  # of the texts that are being worked on

    def texts(records: Iterator["Record"]) -> Iterator[str]:
        for record in records:
            endings.append(record.ending)
            yield record.text

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    mixed = out is None and sys.stdout.isatty()  # the rewrites themselves show the progress
    with (
        writer(out) as sink,
        Progress(*columns, console=err, transient=True, disable=mixed or not err.is_terminal) as bar,
    ):
        first = list(itertools.islice(records, 1))  # a bad file shows before the model is loaded
        editor = job.load(device, keep_going=True)
        gc.freeze()  # or else the collector looks through all of the libraries again and again
        task = bar.add_task("0 lines")
        for done, rewrite in enumerate(editor.stream(texts(itertools.chain(first, records))), 1):
            sink.write(render(rewrite, endings.popleft(), format))
            if rewrite.error:
                failures.note(done, rewrite.error)
            bar.update(task, description=f"{done:,} lines")
            if out is None and not endings:  # a chunk is complete
                sink.flush()
