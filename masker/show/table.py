"""An explanation as the table of the paper's appendix."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masker.core.explanation import Explanation, SpanRow

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

    from masker.show.terminal import visible

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS:
        if name in ("input", "replacement"):
            grid.add_column(name, overflow="fold", ratio=3 if name == "input" else 2)
        else:
            grid.add_column(name, justify="right", no_wrap=True)
    for row in explanation.spans:
        style = "bold green" if row is explanation.chosen else ("" if row.candidate else "dim")
        cells = (Text(visible(cell)) for cell in _cells(row))  # brackets are text here, not rich's markup
        grid.add_row(*cells, style=style)
    return grid
