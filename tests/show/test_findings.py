"""Findings in the formats that programs read: what each of them asks for is there."""

import json
from typing import Any

import pytest

from masker.data.documents import Finding
from masker.data.suggestions import Rule
from masker.show.findings import Checked, as_github, as_json, as_sarif, as_text

RULE = Rule("rude", "civil")
ONE = Finding(4, 8, 1, 5, 1, 9, "fool", ("person", "one", ""), RULE, 2.0, "search")
LONG = Finding(10, 19, 2, 1, 3, 4, "shut,\nup: 100%", ("be quiet",), RULE, 1.0, "fast")
FILES = [Checked("a b/é,:.md", [ONE, LONG]), Checked("empty.txt", []), Checked("/x/y.md", [ONE], [(7, "too long")])]


def test_text_is_a_line_each() -> None:
    first, second, third = as_text(FILES).splitlines()
    assert first == "a b/é,:.md:1:5: “fool” reads rude; for civil: “person” or “one” or nothing"
    assert second == "a b/é,:.md:2:1: “shut, up: 100%” reads rude; for civil: “be quiet”"
    assert third.startswith("/x/y.md:1:5: ")
    assert as_text([Checked("empty.txt", [])]) == ""


def test_json_has_it_all() -> None:
    record = json.loads(as_json(FILES))
    assert record["files"] == ["a b/é,:.md", "empty.txt", "/x/y.md"]
    assert record["failed"] == [{"file": "/x/y.md", "line": 7, "error": "too long"}]
    assert record["findings"][0] == {
        "file": "a b/é,:.md", "line": 1, "column": 5, "end_line": 1, "end_column": 9, "start": 4, "end": 8,
        "old": "fool", "replacements": ["person", "one", ""], "from": "rude", "to": "civil", "score": 2.0,
        "method": "search", "rule": "MASKER_RUDE_TO_CIVIL",
        "message": "“fool” reads rude; for civil: “person” or “one” or nothing",
    }  # fmt: skip


def test_annotations_of_github_are_escaped_and_have_columns_on_one_line_only() -> None:
    first, second, _ = as_github(FILES).splitlines()
    assert first == (
        "::warning file=a b/é%2C%3A.md,line=1,endLine=1,col=5,endColumn=9,title=Reads rude (MASKER_RUDE_TO_CIVIL)"
        "::“fool” reads rude; for civil: “person” or “one” or nothing"
    )
    assert second.startswith("::warning file=a b/é%2C%3A.md,line=2,endLine=3,title=")
    assert second.endswith("::“shut, up: 100%25” reads rude; for civil: “be quiet”")


def keys(record: Any, wanted: dict[str, type], *, optional: dict[str, type] | None = None) -> None:
    """An object of SARIF has what it must have, and nothing that it may not."""
    for name, kind in wanted.items():
        assert isinstance(record[name], kind), name
    for name in record.keys() - wanted.keys():
        assert isinstance(record[name], (optional or {})[name]), name


def test_sarif_is_of_the_shape_that_the_standard_asks_for() -> None:
    log = json.loads(as_sarif(FILES))
    keys(log, {"version": str, "runs": list}, optional={"$schema": str})
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    keys(run, {"tool": dict}, optional={"columnKind": str, "invocations": list, "artifacts": list, "results": list})
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    keys(driver, {"name": str}, optional={"version": str, "semanticVersion": str, "rules": list})
    for rule in driver["rules"]:
        keys(rule, {"id": str}, optional={"shortDescription": dict, "defaultConfiguration": dict})
        keys(rule["shortDescription"], {"text": str})
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    (invocation,) = run["invocations"]
    keys(invocation, {"executionSuccessful": bool}, optional={"toolExecutionNotifications": list})
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"] == {"text": "too long"}
    assert [one["location"]["uri"] for one in run["artifacts"]] == [
        "a%20b/%C3%A9%2C%3A.md", "empty.txt", "file:///x/y.md",
    ]  # fmt: skip
    assert len(run["results"]) == 3
    for result in run["results"]:
        check_result(result, driver["rules"])


def check_result(result: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    keys(
        result,
        {"message": dict},
        optional={"ruleId": str, "ruleIndex": int, "level": str, "locations": list, "fixes": list},
    )
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    keys(result["message"], {"text": str})
    (location,) = result["locations"]
    place = location["physicalLocation"]
    keys(place, {"artifactLocation": dict}, optional={"region": dict})
    region = place["region"]
    numbers = ("startLine", "startColumn", "endLine", "endColumn")
    assert all(region[name] >= 1 for name in numbers)
    assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])
    assert region["charOffset"] >= 0
    assert region["charLength"] >= 0
    for fix in result["fixes"]:
        keys(fix, {"artifactChanges": list}, optional={"description": dict})
        (change,) = fix["artifactChanges"]
        keys(change, {"artifactLocation": dict, "replacements": list})
        assert change["artifactLocation"] == place["artifactLocation"]
        (replacement,) = change["replacements"]
        keys(replacement, {"deletedRegion": dict}, optional={"insertedContent": dict})
        assert replacement["deletedRegion"].items() <= region.items()
        keys(replacement["insertedContent"], {"text": str})


@pytest.mark.parametrize("shape", [as_json, as_sarif, as_github])
def test_nothing_found_is_an_answer_too(shape: Any) -> None:
    said = shape([Checked("empty.txt", [])])
    assert shape is as_github or json.loads(said)
    if shape is as_sarif:
        assert json.loads(said)["runs"][0]["results"] == []
