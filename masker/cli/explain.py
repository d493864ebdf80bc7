"""masker explain: every span of a text with its scores."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice, err
from masker.data.output import replacing


@app.command()
def explain(
    text: Annotated[str, typer.Argument(help="The text.")],
    to: o.To = ...,  # type: ignore[assignment]
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the paper's Figure 1 into this file.")] = None,
    min_score: o.MinScore = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    forbid: o.Forbid = None,
    max_words: o.MaxWords = 2000,
    device: o.Device = None,
) -> None:
    """Show the scores of every span of a text, by the paper's method.

    The table of the paper's appendix: likelihoods L1 to L4, the scores made of them, and the edit that they lead to
    (what masker edit --method paper makes).
    """
    choice("format", format, ["table", "json"])
    if plot is not None:
        choice("kind of picture", plot.suffix, [".png", ".pdf", ".svg", ".jpg"])
    from masker.api import Masker

    masker = Masker.from_pretrained(model, source_model, device=device, max_words=max_words)
    explanation = masker.explain(
        text, to, from_, min_score=min_score, source_score=not no_source_score, protect=protect, forbid=o.words(forbid)
    )
    if plot is not None:
        with replacing(plot) as path:
            explanation.plot(path)
        err.print(f"wrote {plot}", markup=False, soft_wrap=True)
    if format == "json":
        sys.stdout.write(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=2) + "\n")
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=180)
    console.print(explanation)
    if explanation.edit is None:
        console.print(f"nothing is changed: no edit scores above {min_score or 0:g}", highlight=False)
    else:
        diff = explanation.rewrite if console.is_terminal else explanation.rewrite.diff()
        console.print(diff, soft_wrap=True, markup=False, highlight=False)
