from typing import Any

import pytest

from masker.core.explanation import Explanation, SpanRow
from masker.show.table import table
from show.printing import printed


def test_the_table_of_the_paper_in_a_terminal(explanation: Explanation, figure_1: list[dict[str, Any]]) -> None:
    shown = printed(explanation, width=300)
    lines = shown.splitlines()
    assert len(lines) == 55
    assert lines[0].split() == "i words input replacement TargetScore SourceScore Score L1 L2 L3 L4".split()  # noqa: SIM905
    for line, row in zip(lines[1:], figure_1, strict=True):
        assert row["masked_input"] in line
        assert row["replacement"] in line
        expected = [row[k] for k in ("target_score", "source_score", "score", "L1", "L2", "L3", "L4")]
        assert [float(x) for x in line.split()[-7:]] == pytest.approx(expected, abs=0.0005)


def test_the_chosen_row_is_marked(explanation: Explanation) -> None:
    lines = printed(explanation, width=300, force_terminal=True, color_system="standard").splitlines()
    marked = [line for line in lines if "\x1b[1;32m" in line]
    assert len(marked) == 1
    assert "0.488" in marked[0]
    assert sum("\x1b[2m" in line for line in lines) == 4  # those that are no candidates


def test_brackets_and_backslashes_in_the_table_are_text(explanation: Explanation) -> None:
    row = SpanRow(0, 0, r"\[bold] [MASK] \\[x]", "[PAD]", "", 0.1, 0.0, 0.1, 0.1, 0.0, None, None, True)
    shown = printed(table(Explanation("", None, "x", [], [row], None, None)))
    assert r"\[bold] [MASK] \\[x]" in shown
    assert "None" not in shown
