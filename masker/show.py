"""How results look: a diff in the terminal and in a notebook, the paper's appendix table, and its Figure 1."""

import html
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.core.edits import Rewrite
    from masker.core.explanation import Explanation, SpanRow


def _parts(rewrite: "Rewrite") -> Iterator[tuple[str, str, str]]:
    """The source cut at its edits: (unchanged text, old, new)."""
    at = 0
    for edit in rewrite.edits:
        yield rewrite.source[at : edit.start], edit.old, edit.new
        at = edit.end
    yield rewrite.source[at:], "", ""


def diff_rich(rewrite: "Rewrite") -> Any:
    """Old words struck through in red, new ones in green."""
    from rich.text import Text

    text = Text()
    for same, old, new in _parts(rewrite):
        text.append(same)
        text.append(old.rstrip(), "red strike")
        text.append(" " if old.strip() and new.strip() else old[len(old.rstrip()) :])
        text.append(new.strip() if old.strip() else new, "bold green")
        text.append(new[len(new.rstrip()) :] if old.strip() and new.strip() else "")
    return text


def diff_text(rewrite: "Rewrite") -> str:
    """The same for print(): colours on a terminal, [-old-] and {+new+} elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console(soft_wrap=True)
        with console.capture() as capture:
            console.print(diff_rich(rewrite), end="")
        return capture.get()
    pieces = []
    for same, old, new in _parts(rewrite):
        pieces += [same, f"[-{old}-]" if old else "", f"{{+{new}+}}" if new else ""]
    return "".join(pieces)


def diff_html(rewrite: "Rewrite") -> str:
    """The same for a notebook, with the score as a tooltip."""
    scores = [f"{edit.score:.3f}" for edit in rewrite.edits] + [""]
    added = "color:#1e8449;text-decoration:none;font-weight:600"
    out = []
    for (same, old, new), score in zip(_parts(rewrite), scores, strict=True):
        title = f'title="Score {score}"'
        out.append(html.escape(same))
        out.append(f'<del {title} style="color:#c0392b">{html.escape(old)}</del>' if old else "")
        out.append(f'<ins {title} style="{added}">{html.escape(new)}</ins>' if new else "")
    note = f' <small style="color:#888">({html.escape(rewrite.reason)})</small>' if rewrite.reason else ""
    return f'<div style="font-family:sans-serif;white-space:pre-wrap">{"".join(out)}{note}</div>'


_COLUMNS = ("i", "words", "input", "replacement", "TargetScore", "SourceScore", "Score", "L1", "L2", "L3", "L4")


def _cells(row: "SpanRow") -> list[str]:
    numbers = [row.target_score, row.source_score, row.score, row.L1, row.L2, row.L3, row.L4]
    return [
        str(row.i),
        str(row.words),
        row.masked,
        row.replacement,
        *("" if n is None else f"{n:.3f}" for n in numbers),
    ]


def table(explanation: "Explanation") -> Any:
    """The table of the paper's appendix, the chosen row marked."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS:
        if name in ("input", "replacement"):
            grid.add_column(name, overflow="fold", ratio=3 if name == "input" else 2)
        else:
            grid.add_column(name, justify="right", no_wrap=True)
    for row in explanation.spans:
        style = "bold green" if row is explanation.chosen else ("" if row.candidate else "dim")
        grid.add_row(*map(Text, _cells(row)), style=style)  # brackets are text here, not rich's markup
    return grid


def table_html(explanation: "Explanation") -> str:
    """The same for a notebook, under the diff."""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    lines = []
    for row in explanation.spans:
        style = (
            "font-weight:600;color:#1e8449" if row is explanation.chosen else ("" if row.candidate else "color:#888")
        )
        lines.append(f'<tr style="{style}">' + "".join(f"<td>{html.escape(c)}</td>" for c in _cells(row)) + "</tr>")
    return f"{diff_html(explanation.rewrite)}<table><tr>{head}</tr>{''.join(lines)}</table>"


def plot(explanation: "Explanation", path: str | Path) -> None:
    """The paper's Figure 1: scores by the word that a span begins with and the number of words that it deletes."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ImportError as error:
        raise MaskerError("plotting needs matplotlib: pip install 'masker-nlp[plot]'") from error
    words, spans, chosen = explanation.words, explanation.spans, explanation.chosen
    panels = {"TargetScore": [row.target_score for row in spans]}
    if any(row.L3 is not None for row in spans):
        panels |= {"SourceScore": [row.source_score for row in spans], "Score": [row.score for row in spans]}
    columns, lines = len(words) + 1, max(row.words for row in spans) + 1
    limit = max(0.01, *(abs(value) for values in panels.values() for value in values))
    few = columns <= 40  # so few that labels and numbers have room
    width = 2.5 + (0.62 if few else 0.25) * columns
    fig = Figure(figsize=(width, 1.2 + len(panels) * (0.5 + 0.28 * lines)), layout="constrained")
    axes = fig.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        grid = np.full((lines, columns), np.nan)
        for row, value in zip(spans, values, strict=True):
            grid[row.words, row.i] = value
            if few and abs(value) >= 0.1 * limit:
                strong = "white" if abs(value) > 0.6 * limit else "black"
                ax.text(row.i, row.words, f"{value:.2f}", ha="center", va="center", fontsize=8, color=strong)
        image = ax.imshow(grid, cmap="BrBG", vmin=-limit, vmax=limit, aspect="auto")
        if chosen is not None:
            ax.add_patch(Rectangle((chosen.i - 0.5, chosen.words - 0.5), 1, 1, fill=False, linewidth=2, clip_on=False))
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_yticks(range(lines), ["insert", *map(str, range(1, lines))])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes[len(axes) // 2].set_ylabel("words deleted")
    axes[-1].set_xlabel("first word of the span")
    slanted = {} if few and max(map(len, words)) <= 8 else {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    # a user's $ is no formula
    labels = axes[-1].set_xticks(range(columns), [*words, "(end)"], parse_math=False, **slanted)
    fig.colorbar(image, ax=axes, aspect=40, pad=0.01).outline.set_visible(False)
    title = "nothing is changed"
    if chosen is not None:
        old = " ".join(words[chosen.i : chosen.i + chosen.words])
        title = f"“{old}” → “{chosen.infill}”" if old else f"“{chosen.infill}” is inserted"
        for label in labels[chosen.i : chosen.i + max(1, chosen.words)]:
            label.label1.set_weight("bold")
    domains = [explanation.to] if explanation.from_ is None else [explanation.from_, explanation.to]
    fig.suptitle(f"{title}      ({' → '.join(domains)})", weight="bold", parse_math=False)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a script that the font lacks
            fig.savefig(path, dpi=min(150, 60_000 / width), format=Path(path).suffix.lstrip(".") or "png")
    except ValueError as error:
        raise MaskerError(f"cannot draw into {path}: {error}") from error
