"""How results look: a diff in the terminal and in a notebook, the paper's appendix table, and its Figure 1."""

import html
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.api import Explanation
    from masker.editing import Rewrite


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
    out = []
    for (same, old, new), score in zip(_parts(rewrite), scores, strict=True):
        title = f'title="Score {score}"'
        out.append(html.escape(same))
        out.append(f'<del {title} style="color:#c0392b">{html.escape(old)}</del>' if old else "")
        out.append(f'<ins {title} style="color:#1e8449;text-decoration:none;font-weight:600">{html.escape(new)}</ins>' if new else "")  # fmt: skip
    note = f' <small style="color:#888">({html.escape(rewrite.reason)})</small>' if rewrite.reason else ""
    return f'<div style="font-family:sans-serif;white-space:pre-wrap">{"".join(out)}{note}</div>'


def table(explanation: "Explanation") -> Any:
    """The table of the paper's appendix, the chosen row marked."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold", title=None)
    grid.add_column("i", justify="right", style="dim")
    grid.add_column("words", justify="right", style="dim")
    grid.add_column("input", overflow="fold", ratio=3)
    grid.add_column("replacement", overflow="fold", ratio=2)
    for name in ("TargetScore", "SourceScore", "Score", "L1", "L2", "L3", "L4"):
        grid.add_column(name, justify="right", no_wrap=True)
    for row in explanation.spans:
        numbers = [row.target_score, row.source_score, row.score, row.L1, row.L2, row.L3, row.L4]
        cells = ["" if n is None else f"{n:.3f}" for n in numbers]
        style = "bold green" if row is explanation.chosen else ("" if row.candidate else "dim")
        # brackets are text here, not rich's markup
        cells = [str(row.i), str(row.words), *(c.replace("[", r"\[") for c in (row.masked, row.replacement)), *cells]
        grid.add_row(*cells, style=style)
    return grid


def plot(explanation: "Explanation", path: str | Path) -> None:
    """The paper's Figure 1: a bar for each span's Score over the words, the chosen span marked."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MaskerError("plotting needs matplotlib: pip install 'masker-nlp[plot]'") from error
    words, n = explanation.words, len(explanation.words)
    rows = sorted(explanation.spans, key=lambda r: (r.words, r.i))
    deepest = max((r.words for r in rows), default=0)
    fig, (top, bottom) = plt.subplots(
        2, 1, figsize=(max(7.0, 0.72 * n + 2), 6.2), sharex=True, height_ratios=[3, 1.0 + 0.42 * (deepest + 1)]
    )
    kinds = (
        ("target_score", "TargetScore", "#4c8bc9"),
        ("source_score", "SourceScore", "#d9822b"),
        ("score", "Score", "#333333"),
    )
    best: dict[float, Any] = {}  # where a span's middle is shared, the one with the highest Score is drawn
    for row in rows:
        middle = row.i - 0.5 if row.words == 0 else row.i + (row.words - 1) / 2
        if middle not in best or best[middle].score < row.score:
            best[middle] = row
    for offset, (field, label, colour) in zip((-0.13, 0.0, 0.13), kinds, strict=True):
        top.bar([m + offset for m in best], [getattr(r, field) for r in best.values()], 0.13, label=label, color=colour)
    top.axhline(0, color="black", linewidth=0.8)
    top.set_ylabel("score of the best span\ncentred here")
    top.legend(frameon=False, ncols=3, loc="upper left", bbox_to_anchor=(0, 1.14))
    top.spines[["top", "right", "bottom"]].set_visible(False)

    limit = max([abs(r.score) for r in rows] + [1e-9])
    colours, norm = plt.get_cmap("RdYlGn"), plt.Normalize(-limit, limit)
    for row in rows:
        left, width = (row.i - 0.62, 0.24) if row.words == 0 else (row.i - 0.42, row.words - 0.16)
        lane = row.words + (0 if row.words < 2 else 0)
        height = 0.8 / (row.words if row.words > 1 else 1)
        shift = (row.i % row.words) * height if row.words > 1 else 0.0  # long spans overlap: give each its own strip
        chosen = row is explanation.chosen
        bottom.barh(
            lane - 0.4 + shift + height / 2, width, height, left, color=colours(norm(row.score)),
            edgecolor="black" if chosen else "white", linewidth=2 if chosen else 0.6, zorder=3 if chosen else 2,
        )  # fmt: skip
    bottom.set_yticks(range(deepest + 1), ["insert", *[f"{k} word{'s' * (k > 1)}" for k in range(1, deepest + 1)]])
    bottom.invert_yaxis()
    bottom.set_xticks(range(n), words, rotation=0 if n < 16 else 60, ha="center" if n < 16 else "right")
    bottom.set_xlim(-0.9, n - 0.1)
    bottom.tick_params(length=0)
    bottom.spines[:].set_visible(False)
    bottom.set_ylabel("spans by Score")
    bar = fig.colorbar(plt.cm.ScalarMappable(norm, colours), ax=[top, bottom], shrink=0.5, pad=0.015)
    bar.outline.set_visible(False)
    if chosen_row := explanation.chosen:
        old = " ".join(words[chosen_row.i : chosen_row.i + chosen_row.words])
        title = f"“{old}” → “{chosen_row.infill}”" if old else f"insert “{chosen_row.infill}”"
        where = chosen_row.i - 0.5 if chosen_row.words == 0 else chosen_row.i + (chosen_row.words - 1) / 2
        top.annotate(title, (where, chosen_row.score), (0, 14), textcoords="offset points", ha="center", weight="bold",
                     arrowprops={"arrowstyle": "-", "color": "black"})  # fmt: skip
        top.margins(y=0.22)
    fig.suptitle(
        f"to {explanation.to}" + (f", from {explanation.from_}" if explanation.from_ else ""), x=0.98, ha="right"
    )
    fig.savefig(path, dpi=150, bbox_inches="tight", format=Path(path).suffix.lstrip(".") or "png")
    plt.close(fig)
