from typing import Any

import pytest
from conftest import FIGURE_1

from masker.core.edits import Edit
from masker.core.explanation import Explanation, SpanRow


@pytest.fixture
def explanation(figure_1: list[dict[str, Any]]) -> Explanation:
    """The paper's own, built from its table."""
    names = ("target_score", "source_score", "score", "L1", "L2", "L3", "L4")
    rows = [
        SpanRow(
            i=row["i"], words=row["words_deleted"], masked=row["masked_input"], replacement=row["replacement"],
            infill=row["replacement"].replace("[PAD]", "").strip(), candidate=row["i"] != 0,
            **{name: row[name] for name in names},
        )
        for row in figure_1
    ]  # fmt: skip
    chosen = max(rows, key=lambda row: row.score)
    edit = Edit(31, 36, ". she", "and", 0.488, 0.488, 0.0)
    return Explanation(FIGURE_1, "unfused", "fused", FIGURE_1.split(), rows, chosen, edit)
