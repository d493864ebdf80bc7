"""White space as a text has it: counted in it, or in the texts of a model where it says nothing."""

import pytest

from masker.core.prose import plain_text
from masker.core.spacing import (
    Spacing,
    is_mark,
    is_tokenised,
    kind_of,
    may_stand_apart,
    plain,
    usual_gaps,
)

NARROW = "\u202f"


def spacing(source: str, usual: dict[str, str] | None = None) -> Spacing:
    return Spacing.of(plain_text(source), usual or {})


def joined(source: str, words: str, usual: dict[str, str] | None = None) -> str:
    """Words written as the source is."""
    return spacing(source, usual).joined(words.split())


@pytest.mark.parametrize(
    ("source", "tokenised"),
    [
        ("do n't go .", True),
        ("Don't go.", False),
        ("so , so . yes.", True),  # two against one
        ("so , yes.", False),  # as many
        ("a , b. c.", False),
        ("no marks", False),
        ("", False),
    ],
)
def test_a_text_is_tokenised_where_more_marks_stand_apart_than_cling(source: str, tokenised: bool) -> None:
    assert is_tokenised(plain_text(source)) is tokenised


def test_marks_cling_in_natural_text_and_stand_apart_in_tokenised() -> None:
    assert joined("Yes, sir.", "we ( both ) do n't know .") == "we (both) don't know."
    assert joined("yes , sir .", "we ( both ) do n't know .") == "we ( both ) do n't know ."
    assert joined("Yes, sir.", "so - so") == "so - so"


def test_a_clitic_after_a_mark_does_not_cling_to_it() -> None:
    assert spacing("Yes, sir.").between(",", "'s") == " "
    assert spacing("Yes, sir.").between("it", "'s") == ""


def test_french_sets_marks_apart_as_the_text_does() -> None:
    source = f"Oui{NARROW}! Non, merci."
    assert joined(source, "Quoi ?") == f"Quoi{NARROW}?"  # others as the one that is seen
    assert joined(source, "Quoi ,") == "Quoi,"
    assert joined("Oui, non.", "Quoi ?", {"?": NARROW}) == f"Quoi{NARROW}?"  # else as the model's texts have it
    assert joined("Oui! Non! Si.", "Quoi !", {"!": NARROW}) == "Quoi!"  # but what the text shows goes before
    quoted = f"Elle dit «{NARROW}oui{NARROW}», et part."
    assert joined(quoted, "il « sort »") == f"il «{NARROW}sort{NARROW}»"


def test_a_smiley_is_no_mark_that_stands_apart() -> None:
    assert spacing("Good :) food, yes.").apart == {}
    assert spacing("Bon : oui, non.").apart[":"] == " "


def test_the_usual_gaps_are_those_of_most_marks_in_all_texts() -> None:
    french = [f"Oui{NARROW}! Non, merci.", f"Quoi{NARROW}? Rien.", "Ah!", f"Oh{NARROW}!"]
    assert usual_gaps(french) == {"!": NARROW, "?": NARROW}
    assert usual_gaps(["Ah! Oh!", f"Oui{NARROW}! Non, merci."]) == {}
    assert usual_gaps(["yes , sir !", "no , sir ."]) == {}  # all marks stand apart: not French, but tokenised
    assert usual_gaps([f"Oui{NARROW}! Non, merci. Si.", "a , b"]) == {"!": NARROW}  # most cling
    assert usual_gaps([f"Oui{NARROW}! Non, merci.", "a , b . c ,"]) == {}
    assert usual_gaps([]) == {}


def test_quotation_marks_face_as_the_text_has_them() -> None:
    assert joined("Er sagt „ja“, und geht.", "sie „ nein “ so") == "sie „nein“ so"
    assert joined("Er sagt »ja«, und geht.", "sie » nein « so") == "sie »nein« so"
    assert joined("Il dit «oui», il part.", "elle « non » so") == "elle «non» so"


def test_scripts_without_spaces_are_spaced_as_the_text_is() -> None:
    bare, spaced = spacing("我用masker写字"), spacing("我 用 masker 写 字")
    assert (bare.loose("我", "用"), bare.loose("用", "masker"), bare.loose("a", "b")) == ("", "", " ")
    assert (spaced.loose("我", "用"), spaced.loose("用", "masker")) == (" ", " ")
    mixed = spacing("我们用 masker 写字和 python 写字")
    assert (mixed.loose("我", "用"), mixed.loose("用", "masker")) == ("", " ")
    assert mixed.loose("用", "-") == ""


def test_a_no_break_space_belongs_to_its_mark() -> None:
    assert plain("\u00a0") == plain(NARROW) == plain(" \u2007") == ""
    assert plain(" ") == " "
    assert plain("\u2003") == "\u2003"
    assert spacing("Yes, sir.").kept("  ", "a", "b") == "  "
    assert spacing("Yes, sir.").kept(NARROW, "a", "b") == " "
    assert spacing("Yes, sir.").kept("  ", "a", ",") == ""


def test_kinds_of_words() -> None:
    kinds = {
        ",": "closing",
        "'s": "closing",
        "(": "opening",
        "$": "opening",
        "-": "mark",
        "word": "word",
        "...": "closing",
    }
    assert {word: kind_of(word) for word in kinds} == kinds
    assert may_stand_apart("!?")
    assert not may_stand_apart(".")
    assert not may_stand_apart("")
    assert is_mark("?!")
    assert not is_mark("a!")
