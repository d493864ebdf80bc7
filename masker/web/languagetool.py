"""Rewrites in the form of LanguageTool's HTTP API, so that its editor plug-ins can use Masker as a style checker.

All offsets are in UTF-16 units, as Java and JavaScript count.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import masker
from masker.core.edits import Edit, Rewrite
from masker.data.suggestions import MOST, Rule, alternatives, widened
from masker.errors import MaskerError

CONTEXT = 40  # characters either side
CATEGORY = {"id": "STYLE", "name": "Style"}
_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|\n+")
# what clients may ask for where the model's language is one of these
_VARIANTS = {
    "en": {
        "en": "English",
        "en-US": "English (US)",
        "en-GB": "English (GB)",
        "en-AU": "English (Australian)",
        "en-CA": "English (Canadian)",
        "en-NZ": "English (New Zealand)",
        "en-ZA": "English (South African)",
    }
}


class Part(NamedTuple):
    """Text, or markup that is read as something else."""

    original: str
    read: str
    is_text: bool


class Document:
    """A text as it is read, and where its characters stand in the original, which may have markup."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.text = "".join(part.read for part in parts)
        self.original = "".join(part.original for part in parts)

    @classmethod
    def from_form(cls, form: Mapping[str, str]) -> "Document":
        """Of a request: `text`, or `data` with annotated text in JSON."""
        if "text" in form and "data" not in form:
            return cls([Part(form["text"], form["text"], True)])
        if "data" not in form or "text" in form:
            raise MaskerError("give the text as `text`, or annotated as `data`, and not both")
        try:
            data = json.loads(form["data"])
            given = [{"text": data["text"]}] if "text" in data else data["annotation"]
            parts = [_part(one) for one in given]
            "".join(part.original + part.read for part in parts).encode()  # halves of surrogate pairs are no text
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MaskerError('`data` is no annotated text; it looks like {"annotation": [{"text": "..."}]}') from error
        return cls(parts)

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where characters of the text stand in the original; None if markup is among them, which would be lost."""
        read = original = 0
        for part in self.parts:
            if part.is_text and read <= start and end <= read + len(part.read):
                return original + start - read, original + end - read
            read, original = read + len(part.read), original + len(part.original)
        return None


def _part(one: Mapping[str, Any]) -> Part:
    text, markup, read = one.get("text"), one.get("markup"), one.get("interpretAs", "")
    if not isinstance(read, str) or not isinstance(text if markup is None else markup, str):
        raise TypeError(one)
    return Part(text, text, True) if isinstance(text, str) and markup is None else Part(str(markup), read, False)


def languages(code: str) -> list[dict[str, str]]:
    """The answer of /v2/languages."""
    variants = _VARIANTS.get(code, {code: code})
    return [{"name": name, "code": code, "longCode": long} for long, name in variants.items()]


def answer(
    document: Document, rewrite: Rewrite, language: Mapping[str, str], form: Mapping[str, str]
) -> dict[str, Any]:
    """The answer of /v2/check. `language` is one of `languages`."""
    said = {"name": language["name"], "code": language["longCode"]}
    matches = [_match(document, rewrite, edit) for edit in rewrite.edits] if _enabled(rewrite, form) else []
    return {
        "software": {
            "name": "Masker", "version": masker.__version__, "buildDate": "", "apiVersion": 1, "premium": False,
            "premiumHint": "", "status": "",
        },
        "warnings": {"incompleteResults": False},
        "language": {**said, "detectedLanguage": {**said, "confidence": 1.0}},
        "matches": [match for match in matches if match],
    }  # fmt: skip


def _enabled(rewrite: Rewrite, form: Mapping[str, str]) -> bool:
    """Whether a client wants to hear of this kind of thing."""

    def named(kind: str) -> set[str]:
        return {name.strip() for name in form.get(kind, "").split(",")}

    rule = Rule(rewrite.from_, rewrite.to).id
    if rule in named("disabledRules") or CATEGORY["id"] in named("disabledCategories"):
        return rule in named("enabledRules")
    only = form.get("enabledOnly", "false") in ("true", "yes")
    return not only or rule in named("enabledRules") or CATEGORY["id"] in named("enabledCategories")


def _match(document: Document, rewrite: Rewrite, edit: Edit) -> dict[str, Any] | None:
    start, end, left, right = widened(rewrite.source, edit)
    place = document.place(start, end)
    if place is None:
        return None
    values = [left + e.new + right for e in alternatives(rewrite, edit)][:MOST]
    text, (a, b) = document.original, place
    before, after = text[max(0, a - CONTEXT) : a], text[b : b + CONTEXT]
    context = ("..." if a > CONTEXT else "") + before
    rule = Rule(rewrite.from_, rewrite.to)
    return {
        "message": rule.message(text[a:b], values[0]),
        "shortMessage": rule.title,
        "replacements": [{"value": value} for value in values],
        "offset": _units(text[:a]),
        "length": _units(text[a:b]),
        "context": {
            "text": context + text[a:b] + after + ("..." if b + CONTEXT < len(text) else ""),
            "offset": _units(context),
            "length": _units(text[a:b]),
        },
        "sentence": _sentence(text, a, b),
        "type": {"typeName": "Hint"},
        "rule": {
            "id": rule.id,
            "description": rule.description,
            "issueType": "style",
            "category": CATEGORY,
            "isPremium": False,
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0,
    }


def _sentence(text: str, start: int, end: int) -> str:
    first = max((m.end() for m in _END.finditer(text, 0, start)), default=0)
    found = _END.search(text, end)
    return text[first : found.end() if found else len(text)].strip()


def _units(text: str) -> int:
    """How long a text is in UTF-16 units."""
    return len(text) + sum(char > "\uffff" for char in text)
