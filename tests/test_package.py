"""What the distribution is made of: one version, complete metadata, licence files, optional parts."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import masker

ROOT = Path(__file__).parent.parent
BILL = ROOT / "masker-nlp.cdx.json"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_version_is_written_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "masker/__init__.py"}
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", masker.__version__)


def test_the_changelog_knows_the_version() -> None:
    released = re.findall(r"^## \[?([\d.]+|Unreleased)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert released[0] == "Unreleased"
    assert masker.__version__.partition(".dev")[0] in released


def test_licence_files_travel_with_the_package() -> None:
    assert PROJECT["project"]["license-files"] == ["LICENSE", "NOTICE"]
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")
    assert "CC BY-SA" in (ROOT / "NOTICE").read_text("utf-8")


def test_what_the_tests_are_run_with_is_pinned() -> None:
    """Every package that `make` installs has its version in constraints.txt."""
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(line for lines in extras.values() for line in lines)]
    pinned = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert _names(wanted) - {"masker-nlp"} <= _names(pinned)


def test_the_bill_of_materials_has_the_pinned_versions() -> None:
    """What `make sbom` writes now is what is there, and the wheel carries it."""
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["sbom-files"] == [BILL.name]
    bill = json.loads(BILL.read_text("utf-8"))
    assert bill["metadata"]["component"]["version"] == masker.__version__
    listed = {part["name"]: part["version"] for part in bill["components"]}
    assert _names(PROJECT["project"]["dependencies"]) <= listed.keys()
    pinned = {line.lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    assert {f"{name}=={version}" for name, version in listed.items()} <= pinned
    if any(version(name) != number for name, number in listed.items()):
        pytest.skip("other versions than the pinned ones are installed")
    script = [sys.executable, ROOT / ".ci" / "sbom.py"]
    assert subprocess.run(script, check=True, capture_output=True, text=True).stdout == BILL.read_text("utf-8")


def test_extras_that_errors_name_can_be_installed() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "masker").rglob("*.py")]
    named = {extra for source in sources for extra in re.findall(r"\bmissing\(\"(\w+)\"", source)}
    assert named
    assert named <= set(PROJECT["project"]["optional-dependencies"])


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=; ]", line)[0].lower().replace("_", "-") for line in requirements}
