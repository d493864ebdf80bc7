"""masker explain: why a text is rewritten as it is."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice, err
from masker.cli.edit import MaxEdits, Method, Strength
from masker.data.output import replacing
from masker.show.terminal import Terminal

if TYPE_CHECKING:
    from masker.core.explanation import Explanation


@app.command()
def explain(
    text: Annotated[str, typer.Argument(help="The text.")],
    to: o.To = ...,  # type: ignore[assignment]
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    method: Method = None,
    format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    html: Annotated[Path | None, typer.Option("--html", help="Write a page into this file; it needs no other.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the paper's Figure 1 into this file.")] = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_score: o.MinScore = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    device: o.Device = None,
) -> None:
    """Show why masker edit makes of a text what it makes.

    Of the search editor the drafts that it considered, with each term of their rank; of a student its tags, with their
    probabilities; of auto which of the two answered, and why. Of --method paper the table of the paper's appendix:
    every span with the likelihoods L1 to L4 and the scores made of them. --format json and --html have them all.
    """
    choice("format", format, ["table", "json"])
    if plot is not None:
        choice("kind of picture", plot.suffix, [".png", ".pdf", ".svg", ".jpg"])
    from masker.api import Masker

    masker = Masker.from_pretrained(model, source_model, device=device, max_words=max_words, exact=exact)
    explanation = masker.explain(
        text, to, from_, method=method, strength=strength, max_edits=max_edits, min_score=min_score,
        source_score=not no_source_score, protect=protect, keep=o.terms(keep), forbid=o.words(forbid),
    )  # fmt: skip
    if plot is not None:
        with replacing(plot) as path:
            explanation.plot(path)
        err.print(f"wrote {plot}", markup=False, soft_wrap=True)
    if html is not None:
        with replacing(html) as path:
            path.write_text(explanation.html(), "utf-8")
        err.print(f"wrote {html}", markup=False, soft_wrap=True)
    if format == "json":
        sys.stdout.write(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=2) + "\n")
    elif html is None:
        _print(explanation, min_score or 0.0)


def _print(explanation: "Explanation", min_score: float) -> None:
    console = Terminal()
    if not console.is_terminal:
        console = Terminal(width=180)
    console.print(explanation)
    rewrite = explanation.rewrite
    if rewrite.edits:
        diff = rewrite if console.is_terminal else rewrite.diff()
        console.print(diff, soft_wrap=True, markup=False, highlight=False)
    else:
        reason = rewrite.reason or f"no edit scores above {min_score:g}"
        console.print(f"nothing is changed: {reason}", highlight=False, markup=False)
