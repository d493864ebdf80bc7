"""LanguageTool's HTTP API, by itself and as a real client of it sees it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from masker.api import Masker
from masker.core.edits import Edit, Rewrite
from masker.errors import MaskerError
from masker.web.languagetool import Document, answer, languages

from .conftest import TEXT, TO

ENGLISH = languages("en")[1]


def rewrite(source: str, *edits: tuple[str, str], **fields: Any) -> Rewrite:
    """Each word is where it is first found."""
    made = [Edit(source.index(old), source.index(old) + len(old), old, new, 1.0) for old, new in edits]
    return Rewrite(source, source, "rude", "civil", tuple(made), **fields)


def matches(document: Document, *edits: tuple[str, str], **form: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer(document, rewrite(document.text, *edits), ENGLISH, form)["matches"]
    return found


def utf16(text: str, match: dict[str, Any]) -> str:
    """What a program that counts in UTF-16 units sees at a match."""
    units, start = text.encode("utf-16-le"), 2 * match["offset"]
    return units[start : start + 2 * match["length"]].decode("utf-16-le")


def test_a_match_has_all_that_clients_read() -> None:
    text = "Hello. Shut up now, you! Bye."
    (match,) = matches(Document.from_form({"text": text}), ("Shut up", "Be quiet"))
    assert text[match["offset"] :][: match["length"]] == "Shut up"
    assert match["replacements"] == [{"value": "Be quiet"}]
    assert match["message"] == "“Shut up” reads rude; for civil: “Be quiet”"
    assert match["shortMessage"] == "Reads rude"
    assert match["sentence"] == "Shut up now, you!"
    context = match["context"]
    assert context["text"][context["offset"] :][: context["length"]] == "Shut up"
    assert match["rule"]["id"] == "MASKER_RUDE_TO_CIVIL"
    assert match["rule"]["category"] == {"id": "STYLE", "name": "Style"}
    assert match["rule"]["issueType"] == "style"


def test_offsets_are_in_utf_16_units() -> None:
    text = "😀😀 naïve 𝒳 fools, " + "😀" * 60 + " idiots."
    first, second = matches(Document.from_form({"text": text}), ("fools", "people"), ("idiots", "others"))
    assert (utf16(text, first), utf16(text, second)) == ("fools", "idiots")
    assert utf16(second["context"]["text"], second["context"]) == "idiots"
    assert second["context"]["text"].startswith("...")


def test_annotated_text_is_placed_in_the_original() -> None:
    annotation = [
        {"text": "You "}, {"markup": "<b>😀"}, {"text": "fools"}, {"markup": "</b><p>", "interpretAs": "\n\n"},
        {"text": "Go a"}, {"markup": "<i>"}, {"text": "way"},
    ]  # fmt: skip
    document = Document.from_form({"data": json.dumps({"annotation": annotation})})
    assert document.text == "You fools\n\nGo away"
    (match,) = matches(document, ("fools", "people"), ("Go away", "Leave"))  # the second would lose <i>
    assert utf16(document.original, match) == "fools"
    assert document.original == "You <b>😀fools</b><p>Go a<i>way"
    assert Document.from_form({"data": json.dumps({"text": "plain"})}).text == "plain"


@pytest.mark.parametrize(
    "form",
    [{}, {"text": "a", "data": "{}"}, {"data": "{"}, {"data": "[]"}, {"data": "null"}, {"data": "{}"},
     {"data": '{"annotation": [{"text": 3}]}'}, {"data": '{"annotation": [{}]}'}, {"data": '{"annotation": "x"}'},
     {"data": '{"text": "\\ud800"}'}, {"data": "[" * 100_000}],
)  # fmt: skip
def test_what_is_no_text_is_refused(form: dict[str, str]) -> None:
    with pytest.raises(MaskerError, match=r"`data`"):
        Document.from_form(form)


def test_an_insertion_is_shown_at_a_word() -> None:
    """Editors cannot mark what is not there."""
    for source, start, new, shown, value in (
        ("Give me that.", 7, " please", "me", "me please"),
        ("Give me that.", 0, "Please ", "Give", "Please Give"),
        ("a  b", 2, "x", " b", "x b"),
    ):
        made = Rewrite(source, "", "rude", "civil", (Edit(start, start, "", new, 1.0),))
        (match,) = answer(Document.from_form({"text": source}), made, ENGLISH, {})["matches"]
        assert (utf16(source, match), match["replacements"]) == (shown, [{"value": value}])


def test_alternatives_are_further_replacements() -> None:
    source = "You fools."
    others = tuple(rewrite(source, ("fools", new)) for new in ("people", "folks", "people"))
    made = rewrite(source, ("fools", "people"), alternatives=others)
    (match,) = answer(Document.from_form({"text": source}), made, ENGLISH, {})["matches"]
    assert match["replacements"] == [{"value": "people"}, {"value": "folks"}]


@pytest.mark.parametrize(
    ("form", "count"),
    [
        ({}, 1),
        ({"disabledRules": "A,MASKER_RUDE_TO_CIVIL"}, 0),
        ({"disabledCategories": "STYLE"}, 0),
        ({"disabledCategories": "STYLE", "enabledRules": "MASKER_RUDE_TO_CIVIL"}, 1),
        ({"enabledOnly": "true", "enabledRules": "OTHER"}, 0),
        ({"enabledOnly": "true", "enabledCategories": "STYLE"}, 1),
    ],
)
def test_clients_choose_their_rules(form: dict[str, str], count: int) -> None:
    assert len(matches(Document.from_form({"text": "You fools."}), ("fools", "people"), **form)) == count


def test_check(client: TestClient, embedded: Masker) -> None:
    told = client.post("/v2/check", data={"text": "😀 " + TEXT, "language": "en-US"}).json()
    assert told["software"]["apiVersion"] == 1
    assert told["language"]["code"] == told["language"]["detectedLanguage"]["code"] == "en-US"
    edits = embedded.edit("😀 " + TEXT, to=TO, method="fast").edits
    assert edits
    assert [(m["offset"], m["replacements"][0]["value"]) for m in told["matches"]] == [
        (e.start + 1, e.new) for e in edits
    ]
    picky = client.post("/v2/check", data={"text": TEXT, "language": "auto", "level": "picky"}).json()
    assert picky["matches"]


def test_what_cannot_be_checked_is_told(client: TestClient, client_of: Callable[..., TestClient]) -> None:
    for form, reason in (
        ({"text": TEXT, "language": "xx"}, "unknown language 'xx'"),
        ({"language": "en"}, "give the text as `text`"),
        ({"text": "bad " * 3000, "language": "en"}, "the text has 12,000 characters"),
    ):
        refused = client.post("/v2/check", data=form)
        assert (refused.status_code, refused.json()["error"][: len(reason)]) == (422, reason)
    aimless = client_of().post("/v2/check", data={"text": TEXT, "language": "en"})
    assert "masker serve --to" in aimless.json()["error"]


def test_another_language_is_named_as_it_was(client_of: Callable[..., TestClient], embedded: Masker) -> None:
    client = client_of(to=TO, language="de-DE")
    assert client.get("/v2/languages").json() == [{"name": "de-DE", "code": "de-DE", "longCode": "de-DE"}]
    assert client.post("/v2/check", data={"text": "", "language": "de-DE"}).json()["matches"] == []


def test_a_real_client(service_url: str) -> None:
    """language_tool_python, which counts characters as Python does."""
    tool = pytest.importorskip("language_tool_python")
    text = f"😀 {TEXT} 😀"
    with tool.LanguageTool("en-US", remote_server=service_url) as checker:
        found = checker.check(text)
        assert {text[m.offset : m.offset + m.error_length] for m in found} >= {"slow", "bland"}
        assert all(m.category == "STYLE" and m.rule_issue_type == "style" for m in found)
        corrected = checker.correct(text)
    assert "slow" not in corrected
    assert "bland" not in corrected
    assert corrected.count("😀") == 2
