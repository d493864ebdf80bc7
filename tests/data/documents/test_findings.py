"""Where a checker says that something is, and what becomes of a document of which some edits were chosen."""

import re
from dataclasses import replace

import pytest

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents import Document, decided

from .fake import edit, rewrite

WIDE = "\ufeff日本 is bad 😀, ne\u0301 bad.\r\n\r\n> so\r\n> very\r\n> bad **bad**\rand bad\n"


def lines_of(text: str) -> list[str]:
    """As an editor counts them."""
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


@pytest.mark.parametrize("kind", ["plain", "markdown"])
def test_places_are_right_with_wide_characters_and_any_line_ends(kind: str) -> None:
    found = edit(WIDE, kind).findings()
    assert len(found) == 5
    lines = lines_of(WIDE)
    for one in found:
        assert WIDE.removeprefix("\ufeff")[one.start : one.end] == one.old
        assert lines[one.line - 1][one.column - 1 :].startswith(lines_of(one.old)[0])
        assert lines[one.end_line - 1][: one.end_column - 1].endswith(lines_of(one.old)[-1])
    assert [(one.line, one.column) for one in found] == [(1, 7), (1, 18), (4, 3), (5, 9), (6, 5)]


def test_what_is_inserted_and_deleted_is_told_of_a_word_and_can_be_made() -> None:
    source = "It was *fun*.\n\nAnd really odd.\n"
    document = Document.read(source, "markdown")
    first, second = document.texts
    rewrites = [
        Rewrite(first, "It was great fun.", "a", "b", (Edit(7, 7, "", "great ", 1.0),)),
        Rewrite(second, "And odd.", "a", "b", (Edit(4, 11, "really ", "", 1.0),)),
    ]
    one, two = document.rewrite(rewrites).findings()
    assert (one.old, one.replacements) == ("fun", ("great fun",))
    assert (two.old, two.replacements) == ("really ", ("",))
    assert two.message == "“really” reads a; for b: nothing"
    assert one.to_dict()["replacements"] == ["great fun"]


def with_alternatives(text: str) -> Rewrite:
    made = rewrite(text)
    others = tuple(replace(made, edits=(replace(e, new=new),)) for e in made.edits for new in ("fine_", "good"))
    return replace(made, alternatives=others)


def test_other_suggestions_are_written_as_the_document_has_it_and_can_be_chosen() -> None:
    source = "It is *bad* and bad.\n\nVery bad.\n"
    document = Document.read(source, "markdown")
    done = document.rewrite(with_alternatives(text) for text in document.texts)
    found = done.findings()
    assert [one.replacements for one in found] == [
        ("good", "fine\\_"),
        ("good", "fine\\_"),
        ("Great", "fine\\_", "good"),
    ]
    assert found[2].first(1).replacements == ("Great",)
    assert decided(done, {}).text == source
    every = {one.place: one.edits[0] for one in found}
    assert decided(done, every).text == done.text == "It is *good* and good.\n\nGreat.\n"
    some = {found[1].place: found[1].edits[1], found[2].place: found[2].edits[0]}
    assert decided(done, some).text == "It is *bad* and fine\\_.\n\nGreat.\n"
    assert apply_edits(source, decided(done, some).edits) == decided(done, some).text
