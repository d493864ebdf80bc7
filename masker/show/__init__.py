"""How results look: a diff in the terminal and in a notebook, the paper's appendix table, and its Figure 1."""

from masker.show.diff import diff_html, diff_rich, diff_text
from masker.show.picture import plot
from masker.show.table import table

__all__ = ["diff_html", "diff_rich", "diff_text", "plot", "table"]
