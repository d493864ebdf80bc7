"""An explanation in a terminal: what the method considered; for the paper's method, its table."""

from typing import TYPE_CHECKING, Any

from masker.show.table import table
from masker.show.terminal import visible
from masker.show.words import CHECKS, TERMS, chances, check_value, summary, tried_by

if TYPE_CHECKING:
    from masker.core.account import DraftRow, SegmentAccount, TagRound
    from masker.core.explanation import Explanation


def explained(explanation: "Explanation") -> Any:
    """The paper's table, or what another method tells of its work."""
    from rich.console import Group
    from rich.text import Text

    account = explanation.account
    if account is None:
        return table(explanation)
    parts: list[Any] = [Text(visible(summary(explanation)))]
    for one in account.segments:
        parts += [Text(), *_segment(one, explanation.to)]
    for number, tags in enumerate(account.rounds, 1):
        title = "what the student says" + (f", round {number}" if number > 1 else "")
        parts += [Text(), Text(title, "bold"), _tags(tags)]
    return Group(*parts)


def _segment(one: "SegmentAccount", to: str) -> list[Any]:
    from rich.text import Text

    parts: list[Any] = [Text(visible(one.text), "bold"), Text(visible(one.reason)), Text(chances(one, to), "dim")]
    if one.student is not None:
        parts.append(Text(visible(f"{tried_by(one)} writes: {one.student}")))
        grid = _grid("check", "value", "passed")
        for check in one.checks:
            grid.add_row(CHECKS[check.name], check_value(check), "yes" if check.passed else "no")
        parts.append(grid)
    if one.as_it_is is not None and one.drafts:
        names = one.terms
        grid = _grid("draft", "score", *(TERMS[name][0] for name in names), "total")
        for row in (*one.drafts, one.as_it_is):
            numbers = [row.score, *(row.terms.get(name) for name in names), row.total]
            style = "bold" if row.chosen else "" if row.edits else "dim"
            grid.add_row(_draft(row), *("" if number is None else f"{number:.2f}" for number in numbers), style=style)
        parts.append(grid)
    return parts


def _draft(row: "DraftRow") -> Any:
    """The words that a draft changes: the rest of it is that of the text."""
    from rich.text import Text

    out = Text("as it is" if not row.edits else "")
    for k, edit in enumerate(row.edits):
        old, new = visible(edit.old.strip()), visible(edit.new.strip())
        out.append(", " if k else "")
        out.append(f"-{old}" if not new else old, "red")
        out.append(" → " if old and new else "")
        out.append(f"+{new}" if new and not old else new, "green")
    return out


def _tags(tags: "TagRound") -> Any:
    from rich.text import Text

    grid = _grid("word", "probability", "tag", "added before it")
    for row in tags.tags:
        style = "" if row.tag == "keep" and not row.added else "bold"
        grid.add_row(
            Text(visible(row.word) or "(end)"), f"{row.probability:.3f}", row.tag, Text(visible(row.added)), style=style
        )
    return grid


def _grid(*names: str) -> Any:
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="dim")
    for k, name in enumerate(names):
        words = k == 0 or name in ("tag", "added before it", "passed")
        grid.add_column(name, justify="left" if words else "right", no_wrap=k > 0, overflow="fold")
    return grid
