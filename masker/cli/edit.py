"""masker edit: rewrite lines."""

import gc
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice, err, writer
from masker.errors import MaskerError


@app.command()
def edit(
    file: Annotated[Path, typer.Argument(help="Text, one a line; gz and xz too; - is standard input.")] = Path("-"),
    to: Annotated[
        str | None, typer.Option("--to", help="Domain to rewrite to; a student knows only one way, and needs none.")
    ] = None,
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Annotated[str, typer.Option("--format", help="lines, tsv (source and rewrite) or jsonl.")] = "lines",
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of to standard output.")] = None,
    method: Annotated[str | None, typer.Option("--method", help="search (the default) or paper.")] = None,
    strength: Annotated[
        float | None,
        typer.Option("--strength", help="Edit until both style classifiers are so sure of --to [0 to 1]."),
    ] = None,
    max_edits: Annotated[
        int | None, typer.Option("--max-edits", help="Up to so many edits a text [default: 2, or 1 with paper].")
    ] = None,
    min_score: o.MinScore = None,
    top: Annotated[int, typer.Option("--top", help="Also list the K best edits (jsonl: alternatives).")] = 0,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    forbid: o.Forbid = None,
    max_words: o.MaxWords = 2000,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes to share the work; 0: one a GPU or core. Needs --out.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run with --workers that was killed.")] = False,
) -> None:
    """Rewrite every line in the style of --to.

    As few words as possible are changed; everything else comes out as it went in.
    """
    from masker.data.formats import LINE_WRITERS, Lines

    choice("format", format, list(LINE_WRITERS))
    from masker.scale.job import Job, render
    from masker.students import is_student

    endings: deque[str] = deque()  # of the lines that are being worked on

    def texts() -> Iterator[str]:
        for record in Lines().read(file, None, encoding):
            endings.append(record.ending)
            yield record.text

    options: dict[str, Any] = {
        "method": method, "strength": strength, "max_edits": max_edits, "min_score": min_score, "top": top,
        "source_score": not no_source_score, "protect": protect, "forbid": o.words(forbid),
    }  # fmt: skip
    taught = is_student(model) if model is not None else False
    if taught and (given := [name for name, value in options.items() if value and name != "source_score"]):
        raise MaskerError(f"a student has no --{given[0].replace('_', '-')}; it writes what it was taught")
    if to is None and not taught:
        raise MaskerError("name the domain to rewrite to with --to (masker info lists them)")
    job = Job(to or "", from_, model, str(source_model) if source_model else None, max_words, options)
    if workers is not None or resume:
        if out is None:
            raise MaskerError(
                "several workers write to a file that a killed run can be continued in; name it with --out"
            )
        from masker.scale.parallel import edit_file

        lines = (record.line for record in Lines().read(file, None, encoding))
        edit_file(job, lines, out, format=format, workers=workers or 0, device=device, resume=resume, source=str(file))
        return

    source = texts()
    first = list(itertools.islice(source, 1))  # a bad file shows before the model is loaded
    editor = job.load(device)
    gc.freeze()  # or else the collector looks through all of the libraries again and again
    rewrites = editor.stream(itertools.chain(first, source))
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    mixed = out is None and sys.stdout.isatty()  # the rewrites themselves show the progress
    with (
        writer(out) as sink,
        Progress(*columns, console=err, transient=True, disable=mixed or not err.is_terminal) as bar,
    ):
        task = bar.add_task("0 lines")
        for done, rewrite in enumerate(rewrites, 1):
            ending = endings.popleft()
            sink.write(render(rewrite, ending, format))
            bar.update(task, description=f"{done:,} lines")
            if out is None and not endings:  # a chunk is complete
                sink.flush()
