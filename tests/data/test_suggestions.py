"""What is said of an edit, and where."""

from dataclasses import replace

import pytest

from masker.core.edits import Edit, Rewrite
from masker.data.suggestions import Rule, alternatives, widened

EDIT = Edit(4, 8, "soup", "cake", 1.0)


def test_a_rule_is_named_after_its_domains() -> None:
    assert Rule("rude", "very civil").id == "MASKER_RUDE_TO_VERY_CIVIL"
    assert Rule(None, "civil").id == "MASKER_ANY_TO_CIVIL"
    assert Rule(None, "civil").title == "Reads something else"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("soup", ["cake"], "“soup” reads rude; for civil: “cake”"),
        ("soup", ["cake", "tea"], "“soup” reads rude; for civil: “cake” or “tea”"),
        (" the\r\n  soup ", [""], "“the soup” reads rude; for civil: nothing"),
    ],
)
def test_a_message_is_one_line(old: str, new: list[str], message: str) -> None:
    assert Rule("rude", "civil").message(old, *new) == message


def test_alternatives_are_those_of_the_same_place_each_once() -> None:
    def draft(*edits: Edit) -> Rewrite:
        return Rewrite("", "", None, "", edits)

    others = (
        draft(replace(EDIT, new="tea")),
        draft(EDIT, replace(EDIT, start=0, new="no")),
        draft(replace(EDIT, new="tea")),
    )
    rewrite = Rewrite("the soup", "the cake", "rude", "civil", (EDIT,), others)
    assert [edit.new for edit in alternatives(rewrite, EDIT)] == ["cake", "tea"]
    assert alternatives(replace(rewrite, alternatives=None), EDIT) == [EDIT]


@pytest.mark.parametrize("at", [0, 3, 4, 8])
def test_what_is_inserted_is_told_of_a_word(at: int) -> None:
    text = "the soup"
    start, end, left, right = widened(text, Edit(at, at, "", "new ", 1.0))
    assert text[start:end] in ("the", "soup", "the ", " soup", "the soup")
    assert text[:start] + left + "new " + right + text[end:] == text[:at] + "new " + text[at:]
    assert widened(text, EDIT) == (4, 8, "", "")
    assert widened("", Edit(0, 0, "", "new", 1.0)) == (0, 0, "", "")
