"""masker bench: how fast this machine is, always as a ratio to something measured in the same run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice, err


@app.command()
def bench(
    file: Annotated[
        Path | None, typer.Option("--file", help="Texts to edit, one a line [default: Yelp's, if MASKER_DATA is set].")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="Domain to rewrite to.")] = "positive",
    model: o.Model = None,
    student: Annotated[Path | None, typer.Option("--student", help="Also time a student, from its folder.")] = None,
    count: Annotated[int, typer.Option("--count", help="How many texts to time.")] = 32,
    format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw how cost grows into this file.")] = None,
) -> None:
    """Time Masker against a naive loop and against this machine's matmul rate. Takes some minutes."""
    choice("format", format, ["table", "json"])
    from masker import bench as b
    from masker.bench.texts import default_texts
    from masker.data.corpora import read_corpus

    texts = default_texts(count)
    if file is not None:
        texts = [text for text, _ in zip(read_corpus(file), range(count), strict=False)]
    result = b.bench(texts, to=to, model=model, student=str(student) if student else None, report=_report)
    if plot is not None:
        b.plot(result, plot)
    typer.echo(json.dumps(result, indent=2) if format == "json" else b.table(result))


def _report(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)
