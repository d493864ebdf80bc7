"""masker check: places that read like the source domain."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._checking import Below, Files, Kind, checking_job, rewrite_files
from masker.cli._editing import Failures
from masker.cli._output import choice, err, writer
from masker.cli.edit import MaxEdits, Method, Strength

TOP = 20  # drafts that suggestions are taken from
Shape = Annotated[str, typer.Option("--format", help="text, json, sarif, or github (annotations).")]
Suggestions = Annotated[
    int, typer.Option("--suggestions", min=1, max=5, help="Up to so many for a place: more than 1 take longer.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Write here instead of to standard output.")]


@app.command()
def check(
    files: Files,
    to: Annotated[str, typer.Option("--to", help="Domain that texts should read like.")],
    from_: o.From = None,
    model: o.Model = None,
    format: Shape = "text",
    out: Out = None,
    suggestions: Suggestions = 1,
    below: Below = 0.5,
    method: Method = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_score: o.MinScore = None,
    min_confidence: o.MinConfidence = None,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    kind: Kind = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """List what does not read like --to, with suggestions.

    Only prose is looked at: code, links and markup are not. The exit code is 0 if nothing is found, 1 if something is,
    2 for wrong usage, and 3 if nothing is found but a paragraph could not be checked.
    """
    from masker.show.findings import FORMATS, Checked

    choice("format", format, list(FORMATS))
    job = checking_job(
        to, from_, model, max_words, exact, method=method, strength=strength, max_edits=max_edits,
        min_score=min_score, min_confidence=min_confidence, top=TOP if suggestions > 1 else 0, below=below,
        protect=protect, keep=keep, forbid=forbid,
    )  # fmt: skip
    failures = Failures("could not be checked")
    done = rewrite_files(job, files, kind=kind, encoding=encoding, device=device, failures=failures)
    checked = [Checked(one.name, [f.first(suggestions) for f in one.done.findings()], one.failed) for one in done]
    with writer(out) as sink:
        sink.write(FORMATS[format](checked))
    count = sum(len(file.findings) for file in checked)
    if count and format == "text" and sys.stderr.isatty():
        some = sum(bool(file.findings) for file in checked)
        err.print(f"{_many(count, 'place')} in {_many(some, 'file')}: masker fix shows or makes the edits")
    failures.tell()
    if count or failures.count:
        raise typer.Exit(1 if count else 3)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
