"""masker edit: rewrite texts."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._editing import Failures, rewrites, tell_finished
from masker.cli._output import choice, err, is_stdout, writer
from masker.errors import MaskerError, check_whole

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
Shape = Annotated[
    str | None,
    typer.Option("--format", help="lines, tsv (source and rewrite) or jsonl [default: lines; of a table, the table]."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write here instead of to standard output.")]
Method = Annotated[
    str | None,
    typer.Option("--method", help="auto (the default), fast, search or paper; or a baseline that was fitted."),
]
Strength = Annotated[
    float | None, typer.Option("--strength", help="Edit until both style classifiers are so sure of --to [0 to 1].")
]
MaxEdits = Annotated[
    int | None,
    typer.Option("--max-edits", help="Up to so many edits per sentence [default: 2]; by paper per text [1]."),
]
Top = Annotated[int, typer.Option("--top", help="Also list the K best edits (jsonl: alternatives).")]
ReaderFolder = Annotated[
    str | None,
    typer.Option(
        "--reader", metavar="DIR",
        help="A reader (masker reader) to choose among the drafts, or an lm student's beams; none: do without "
        "[default: the model's own].",
    ),
]  # fmt: skip
Writers = Annotated[
    list[str] | None,
    typer.Option(
        "--writer", metavar="DIR",
        help="An lm student (masker distill --student lm) whose drafts compete with those of auto; repeatable.",
    ),
]  # fmt: skip
Workers = Annotated[
    int | None, typer.Option("--workers", help="Processes to share the work; 0: one per GPU or core. Needs --out.")
]
IsDocument = Annotated[
    bool,
    typer.Option("--document", help="Edit the prose of a whole file: Markdown, HTML or plain paragraphs."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run with --workers that was killed.")]


@app.command()
def edit(
    file: File = Path("-"),
    to: To = None,
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Shape = None,
    out: Out = None,
    method: Method = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_score: o.MinScore = None,
    top: Top = 0,
    reader: ReaderFolder = None,
    writer: Writers = None,
    min_confidence: o.MinConfidence = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    column: o.Column = None,
    document: IsDocument = False,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
    workers: Workers = None,
    resume: Resume = False,
) -> None:
    """Rewrite every text in the style of --to.

    As few words as possible are changed; everything else comes out as it went in. Of a table the column --column is
    rewritten, or without it the column `text` or the only one there is; with --format its rewrites alone come out. A
    text that cannot be edited comes out as it went in (jsonl: error), and the exit code is 3.
    """
    from masker.data.formats import LINE_WRITERS, Table, format_of, read_records

    out = None if out is None or is_stdout(out) else out
    if format is not None:
        choice("format", format, list(LINE_WRITERS))
    options: dict[str, Any] = {
        "method": method, "strength": strength, "max_edits": max_edits, "min_score": min_score, "top": top,
        "reader": reader, "writer": writer, "min_confidence": min_confidence, "confidence": format == "jsonl",
        "source_score": not no_source_score, "protect": protect, "keep": o.terms(keep),
        "forbid": o.words(forbid),
    }  # fmt: skip
    job = replace(make_job(to, from_, model, source_model, max_words, options), exact=exact)
    if top > 0 and format != "jsonl" and not document:
        raise MaskerError("--top lists alternatives, which only jsonl has room for; add --format jsonl")
    if workers is not None:
        check_whole(0, workers=workers)
    failures, shared = Failures(), workers is not None or resume
    if document:
        _refuse(column=column, workers=workers is not None, resume=resume, top=top)
        from masker.cli._documents import edit_document

        edit_document(job, file, out, failures, format=format, device=device, encoding=encoding)
    elif shared and out is None:
        raise MaskerError("several workers write to a file that a killed run can be continued in; name it with --out")
    elif format is None and isinstance(format_of(file), Table):
        from masker.cli._tables import edit_table

        edit_table(
            job, file, out, failures, column=column, encoding=encoding, device=device, workers=workers, resume=resume
        )
    else:
        records = read_records(file, column=column, encoding=encoding)
        if out is None or not shared:
            _stream(job, records, format or "lines", out, device, failures)
        else:
            from masker.scale.parallel import edit_file

            written = edit_file(
                job, records, out, format=format or "lines", workers=workers or 0, device=device, resume=resume,
                source=str(file), column=column, encoding=encoding, on_failure=failures.note,
            )  # fmt: skip
            if resume and not written:
                tell_finished(out, known=False)
    failures.end()


def _refuse(**options: Any) -> None:
    """Options that a document has no use for."""
    if given := [name for name, value in options.items() if value]:
        raise MaskerError(f"a document has no --{given[0]}; drop it")


def make_job(
    to: str | None, from_: str | None, model: str | None, source_model: str | None, max_words: int,
    options: dict[str, Any],
) -> "Job":  # fmt: skip
    """What is to be done with every text; what a student cannot do is refused."""
    from masker.scale.job import Job
    from masker.students import is_student

    taught = is_student(model) if model is not None else False
    own = ("source_score", "reader", "confidence")
    if taught and (given := [name for name, value in options.items() if value and name not in own]):
        raise MaskerError(f"a student has no --{given[0].replace('_', '-')}; it writes what it was taught")
    if to is None and not taught:
        raise MaskerError("name the domain to rewrite to with --to (masker info lists them)")
    return Job(to or "", from_, model, source_model, max_words, options)


def _stream(
    job: "Job", records: Iterator["Record"], format: str, out: Path | None, device: str | None, failures: Failures
) -> None:
    """In this process, text by text: what is done is written as soon as a chunk of texts is."""
    from masker.scale.job import render

    waiting: deque[Record] = deque()  # the texts that are being worked on
    parted = 0

    def texts() -> Iterator[str]:
        for record in records:
            waiting.append(record)
            yield record.text

    with writer(out) as sink:
        for rewrite in rewrites(job, texts(), failures, shown=out is None, device=device):
            parted += format == "tsv" and "\t" in rewrite.source
            record = waiting.popleft()
            sink.write(render(rewrite, record.ending, format, record.mark))
            if out is None and not waiting:  # a chunk is complete
                sink.flush()
    if parted:
        many = "1 text has" if parted == 1 else f"{parted:,} texts have"
        err.print(f"masker: warning: {many} tabs, which are spaces in tsv; --format jsonl keeps them", soft_wrap=True)
