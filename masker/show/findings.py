"""What a checker has found, for people, programs and the platforms that show it beside the text."""

import json
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import quote

import masker
from masker.data.documents import Finding
from masker.show.terminal import readable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


class Checked(NamedTuple):
    """A file and what was found in it; `failed` are reasons why parts of it, by their lines, could not be checked."""

    name: str
    findings: Sequence[Finding]
    failed: Sequence[tuple[int, str]] = ()

    @property
    def shown(self) -> str:
        return readable(self.name)


def as_text(files: Sequence[Checked]) -> str:
    """A line each, `FILE:LINE:COLUMN: message`, as compilers have it and editors find it."""
    return "".join(f"{file.shown}:{one.line}:{one.column}: {one.message}\n" for file in files for one in file.findings)


def as_json(files: Sequence[Checked]) -> str:
    """All that is known, as one object."""
    found = [{"file": file.shown, **finding.to_dict()} for file in files for finding in file.findings]
    failed = [{"file": file.shown, "line": line, "error": why} for file in files for line, why in file.failed]
    return _json({"files": [file.shown for file in files], "findings": found, "failed": failed})


# -- GitHub ------------------------------------------------------------------------------------------------------------


def as_github(files: Sequence[Checked]) -> str:
    """Workflow commands that GitHub Actions turns into annotations of the lines."""
    return "".join(_annotation(file.shown, finding) for file in files for finding in file.findings)


def _annotation(name: str, one: Finding) -> str:
    fields: dict[str, Any] = {"file": PurePath(name).as_posix(), "line": one.line, "endLine": one.end_line}
    if one.line == one.end_line:  # columns of several lines would be refused
        fields |= {"col": one.column, "endColumn": one.end_column}
    fields["title"] = f"{one.rule.title} ({one.rule.id})"
    said = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in fields.items())
    return f"::warning {said}::{_escaped(one.message)}\n"


def _escaped(text: str, also: str = "") -> str:
    """Percent signs, line ends, and what else would end a value."""
    return "".join(f"%{ord(char):02X}" if char in "%\r\n" + also else char for char in text)


# -- SARIF -------------------------------------------------------------------------------------------------------------


def as_sarif(files: Sequence[Checked]) -> str:
    """A log of the Static Analysis Results Interchange Format, version 2.1.0, with suggestions as fixes."""
    rules = list({one.rule: None for file in files for one in file.findings})
    notes = [_notification(file.name, line, why) for file in files for line, why in file.failed]
    run = {
        "tool": {
            "driver": {
                "name": "Masker",
                "version": masker.__version__,
                "semanticVersion": masker.__version__,
                "rules": [
                    {
                        "id": rule.id,
                        "shortDescription": {"text": f"{rule.description}."},
                        "defaultConfiguration": {"level": "warning"},
                    }
                    for rule in rules
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "artifacts": [{"location": _artifact(file.name)} for file in files],
        "results": [
            _result(rules.index(finding.rule), _artifact(file.name), finding)
            for file in files
            for finding in file.findings
        ],
    }
    return _json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(index: int, artifact: dict[str, str], one: Finding) -> dict[str, Any]:
    region = {
        "startLine": one.line, "startColumn": one.column, "endLine": one.end_line, "endColumn": one.end_column,
        "charOffset": one.start, "charLength": one.end - one.start,
    }  # fmt: skip
    fixes = [
        {
            "description": {"text": f"Write “{new}”" if new.strip() else "Leave it out"},
            "artifactChanges": [
                {
                    "artifactLocation": artifact,
                    "replacements": [{"deletedRegion": region, "insertedContent": {"text": new}}],
                }
            ],
        }
        for new in one.replacements
    ]
    return {
        "ruleId": one.rule.id,
        "ruleIndex": index,
        "level": "warning",
        "message": {"text": one.message},
        "locations": [
            {"physicalLocation": {"artifactLocation": artifact, "region": {**region, "snippet": {"text": one.old}}}}
        ],
        "fixes": fixes,
    }


def _notification(name: str, line: int, why: str) -> dict[str, Any]:
    place = {"artifactLocation": _artifact(name), "region": {"startLine": line}}
    return {"level": "error", "message": {"text": why}, "locations": [{"physicalLocation": place}]}


def _artifact(name: str) -> dict[str, str]:
    path = PurePath(name)
    return {"uri": path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))}


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


FORMATS = {"text": as_text, "json": as_json, "sarif": as_sarif, "github": as_github}
