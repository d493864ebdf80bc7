"""An explanation as the paper's Figure 1: scores by the first word of a span and the number of words it deletes."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from masker.errors import MaskerError, missing

if TYPE_CHECKING:
    from masker.core.explanation import Explanation

_ROOM = 40  # so few columns that labels and numbers have room


def plot(explanation: "Explanation", path: str | Path) -> None:
    """Write the picture; its format is that of the file's name."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing("plot", "a picture") from error
    panels = _panels(explanation)
    columns, lines = len(explanation.words) + 1, max(row.words for row in explanation.spans) + 1
    limit = max(0.01, *(abs(value) for values in panels.values() for value in values))
    width = 2.5 + (0.62 if columns <= _ROOM else 0.25) * columns
    fig = Figure(figsize=(width, 1.2 + len(panels) * (0.5 + 0.28 * lines)), layout="constrained")
    axes = fig.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        ax.set_title(name, loc="left", fontsize=10)
        image = _draw(ax, explanation, values, np.full((lines, columns), np.nan), limit)
    fig.colorbar(image, ax=axes, aspect=40, pad=0.01).outline.set_visible(False)
    _label(fig, axes, explanation)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a script that the font lacks
            fig.savefig(path, dpi=min(150, 60_000 / width), format=Path(path).suffix.lstrip(".") or "png")
    except ValueError as error:
        raise MaskerError(f"cannot draw into {path}: {error}") from error


def _panels(explanation: "Explanation") -> dict[str, list[float]]:
    """The scores to draw; TargetScore is all there is where no source domain was asked."""
    spans = explanation.spans
    panels = {"TargetScore": [row.target_score for row in spans]}
    if any(row.L3 is not None for row in spans):
        panels |= {"SourceScore": [row.source_score for row in spans], "Score": [row.score for row in spans]}
    return panels


def _draw(ax: Any, explanation: "Explanation", values: list[float], grid: np.ndarray, limit: float) -> Any:
    """One score of all spans, the chosen one framed."""
    from matplotlib.patches import Rectangle

    lines, columns = grid.shape
    for row, value in zip(explanation.spans, values, strict=True):
        grid[row.words, row.i] = value
        if columns <= _ROOM and abs(value) >= 0.1 * limit:
            strong = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(row.i, row.words, f"{value:.2f}", ha="center", va="center", fontsize=8, color=strong)
    image = ax.imshow(grid, cmap="BrBG", vmin=-limit, vmax=limit, aspect="auto")
    if (chosen := explanation.chosen) is not None:
        ax.add_patch(Rectangle((chosen.i - 0.5, chosen.words - 0.5), 1, 1, fill=False, linewidth=2, clip_on=False))
    ax.set_yticks(range(lines), ["insert", *map(str, range(1, lines))])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return image


def _label(fig: Any, axes: Any, explanation: "Explanation") -> None:
    """The words under the last panel, and what was chosen above the first."""
    words, chosen = explanation.words, explanation.chosen
    axes[len(axes) // 2].set_ylabel("words deleted")
    axes[-1].set_xlabel("first word of the span")
    level = len(words) < _ROOM and max(map(len, words)) <= 8
    turned = {} if level else {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    # a user's $ is no formula
    labels = axes[-1].set_xticks(range(len(words) + 1), [*words, "(end)"], parse_math=False, **turned)
    title = "nothing is changed"
    if chosen is not None:
        old = " ".join(words[chosen.i : chosen.i + chosen.words])
        title = f"“{old}” → “{chosen.infill}”" if old else f"“{chosen.infill}” is inserted"
        for label in labels[chosen.i : chosen.i + max(1, chosen.words)]:
            label.label1.set_weight("bold")
    domains = [explanation.to] if explanation.from_ is None else [explanation.from_, explanation.to]
    fig.suptitle(f"{title}      ({' → '.join(domains)})", weight="bold", parse_math=False)
