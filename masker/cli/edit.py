"""masker edit: rewrite lines."""

import itertools
import json
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice, err, writer


@app.command()
def edit(
    file: Annotated[Path, typer.Argument(help="Text, one a line; gz and xz too; - is standard input.")] = Path("-"),
    to: o.To = ...,  # type: ignore[assignment]
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Annotated[str, typer.Option("--format", help="lines, tsv (source and rewrite) or jsonl.")] = "lines",
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of to standard output.")] = None,
    max_edits: Annotated[int, typer.Option("--max-edits", help="Up to so many edits a text.")] = 1,
    min_score: o.MinScore = 0.0,
    top: Annotated[int, typer.Option("--top", help="Also list the K best edits (jsonl: alternatives).")] = 0,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    forbid: o.Forbid = None,
    max_words: o.MaxWords = 2000,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Rewrite every line in the style of --to.

    As few words as possible are changed; everything else comes out as it went in.
    """
    choice("format", format, ["lines", "tsv", "jsonl"])
    from masker.api import Masker
    from masker.training.corpora import numbered_lines

    endings: deque[str] = deque()  # of the lines that are being worked on

    def texts() -> Iterator[str]:
        for _, line in numbered_lines(file, encoding):
            text = line.rstrip("\r\n")
            endings.append(line[len(text) :])
            yield text

    source = texts()
    first = list(itertools.islice(source, 1))  # a bad file shows before the model is loaded
    masker = Masker.from_pretrained(model, source_model, device=device, max_words=max_words)
    rewrites = masker.edit_stream(
        itertools.chain(first, source), to, from_, max_edits=max_edits, min_score=min_score, top=top,
        source_score=not no_source_score, protect=protect, forbid=o.words(forbid),
    )  # fmt: skip
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    mixed = out is None and sys.stdout.isatty()  # the rewrites themselves show the progress
    with (
        writer(out) as sink,
        Progress(*columns, console=err, transient=True, disable=mixed or not err.is_terminal) as bar,
    ):
        task = bar.add_task("0 lines")
        for done, rewrite in enumerate(rewrites, 1):
            ending = endings.popleft()
            if format == "jsonl":
                sink.write(json.dumps(rewrite.to_dict(), ensure_ascii=False) + "\n")
            else:
                pair = [rewrite.source.replace("\t", " "), rewrite.text.replace("\t", " ")]
                sink.write(("\t".join(pair) if format == "tsv" else rewrite.text) + ending)
            bar.update(task, description=f"{done:,} lines")
            if out is None and not endings:  # a chunk is complete
                sink.flush()
