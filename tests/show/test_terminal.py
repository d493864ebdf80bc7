"""No control character of a text reaches a terminal, whoever shows it and however."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from masker.core.account import Account, Check, DraftRow, SegmentAccount, TagRound, TagRow
from masker.core.edits import Edit, Rewrite
from masker.core.explanation import Explanation, SpanRow
from masker.show.terminal import Terminal, visible

EVIL = "\x1b]0;renamed\x07 \x1b[2J \x9b31m \x08 \x00 \x7f"
SOURCE = f"a {EVIL} b"
EDIT = Edit(0, 1, f"a{EVIL}", f"good{EVIL}", 0.5)
MADE = Rewrite(SOURCE, f"good{EVIL} {EVIL} b", "negative", "positive", (EDIT,), method="auto")
DRAFT = DraftRow(MADE.text, (EDIT,), {}, 1.0, 1.0, chosen=True)
SEGMENT = SegmentAccount(
    0, 9, SOURCE, "search", f"why {EVIL}", {"encoder": 0.5}, MADE.text, (Check("encoder", 0.5, 0.4, True),),
    DraftRow(SOURCE, (), {}, 0.0, 0.0), (DRAFT,),
)  # fmt: skip
ACCOUNT = Account((TagRound(SOURCE, (TagRow(0, 1, EVIL, "keep", EVIL, 0.5),)),), (SEGMENT,))
ROW = SpanRow(0, 1, f"[MASK] {EVIL}", EVIL, EVIL, 0.1, 0.2, 0.3, 0.4, 0.5, None, None, True, 0, 1, "good")
PAPER = Explanation(SOURCE, "negative", "positive", ["a"], [ROW], ROW, EDIT, [(0, 1)])
OTHER = Explanation(SOURCE, "negative", "positive", ["a"], [ROW], ROW, EDIT, [(0, 1)], "auto", MADE, ACCOUNT)


def shown(value: Any, console: Callable[..., Console] = Console) -> str:
    """What a terminal without colours is sent."""
    file = io.StringIO()
    console(file=file, force_terminal=True, color_system=None, width=300).print(value)
    return file.getvalue()


@pytest.mark.parametrize("value", [MADE, PAPER, OTHER], ids=["rewrite", "paper", "account"])
def test_values_show_control_characters_as_numbers_in_any_terminal(value: Any) -> None:
    text = shown(value)
    assert not {*text} & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
    assert "\\x1b]0;renamed\\x07" in text


def test_a_terminal_shows_those_of_anything(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    table.add_row(EVIL)
    for value in (EVIL, table):
        text = shown(value, Terminal)
        assert "\x1b" not in text
        assert "\x9b" not in text
        assert "\\x1b]0;renamed" in text
    coloured = io.StringIO()
    Terminal(file=coloured, force_terminal=True, color_system="standard").print("[red]so[/red]")
    assert coloured.getvalue() == "\x1b[31mso\x1b[0m\n"


def test_what_is_text_stays_as_it_is() -> None:
    assert visible("größe\t日本語 😀\n") == "größe\t日本語 😀\n"
    assert visible("a\x1bb\x85") == "a\\x1bb\\x85"
