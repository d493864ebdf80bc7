"""Names of files that a diff, JSON or a stream does not take as they are."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from masker.cli.fix import unified

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
USUAL = ("--to", "positive", "--method", "fast")
RAW = os.fsdecode(b"bad\xff.txt")


@pytest.fixture
def folder(here: Path) -> Path:
    try:
        (here / RAW).write_text("The food was terrible.\n")
    except OSError as error:  # Windows and macOS have no such names
        pytest.skip(f"this file system takes UTF-8 only: {error}")
    return here


@pytest.mark.usefixtures("loaded_once")
@pytest.mark.parametrize(
    ("format", "shown"),
    [
        ("text", r"bad\xff.txt:1:14: "),
        ("json", r'"bad\\xff.txt"'),
        ("sarif", '"bad%FF.txt"'),
        ("github", r"=bad\xff.txt,"),
    ],
)
def test_a_name_that_is_no_utf_8_is_shown(masker: Cli, folder: Path, format: str, shown: str) -> None:
    result = masker("check", RAW, *USUAL, "--format", format)
    assert (result.code, result.err) == (1, "")
    assert shown in result.text


@pytest.mark.usefixtures("loaded_once")
def test_a_name_that_is_no_utf_8_is_fixed(masker: Cli, folder: Path) -> None:
    assert masker("fix", RAW, *USUAL).text.startswith('--- "a/bad\\377.txt"\n+++ "b/bad\\377.txt"\n')
    assert masker("fix", RAW, *USUAL, "--in-place").code == 0
    assert "terrible" not in (folder / RAW).read_text()


@pytest.mark.usefixtures("loaded_once")
def test_a_run_over_a_name_that_is_no_utf_8_is_continued(masker: Cli, folder: Path) -> None:
    command = ("edit", RAW, *USUAL, "--out", os.fsdecode(b"new\xff.txt"), "--resume")
    assert [masker(*command).code for _ in range(2)] == [0, 0]
    assert r"cannot read no\xff.txt" in masker("edit", os.fsdecode(b"no\xff.txt"), *USUAL).err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its names in Unicode")
def test_a_utf_8_name_in_a_locale_that_has_none(folder: Path) -> None:
    (folder / "bäd.txt").write_text("The food was terrible.\n")
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "masker", "check", "bäd.txt", *USUAL, "--format", "json"]
    done = subprocess.run(command, env=plain, capture_output=True)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["files"] == ["bäd.txt"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("a b.txt", "a/a b.txt\t"),
        ("tab\there.txt", r'"a/tab\there.txt"'),
        ('a "b" \\c.txt', r'"a/a \"b\" \\c.txt"' + "\t"),
        ("line\nend\x7f.txt", r'"a/line\nend\177.txt"'),
        ("bäd.txt", r'"a/b\303\244d.txt"'),
        (RAW, r'"a/bad\377.txt"'),
    ],
)
def test_patch_applies_a_diff_of_any_name(folder: Path, name: str, label: str) -> None:
    diff = "".join(unified(name, "bad\nsoup\n", "good\nsoup\n"))
    assert diff.startswith(f"--- {label}\n+++ ")
    if (patch := shutil.which("patch")) is None:
        pytest.skip("patch is not installed: whether it applies the diff was not tried")
    if "\n" in name:  # which patch refuses, and git does not
        patch = shutil.which("git")
    (folder / name).write_text("bad\nsoup\n")
    command = [patch or "git", *(["apply", "-"] if "\n" in name else ["-p1"])]
    done = subprocess.run(command, input=diff.encode(), cwd=folder, capture_output=True)
    assert done.returncode == 0, done
    assert (folder / name).read_text() == "good\nsoup\n"


def test_a_model_is_not_fitted_into_a_folder_of_such_a_name(fails: Callable[..., str], folder: Path) -> None:
    corpora = ("--domain", "a=negative.txt", "--domain", "b=positive.txt")
    assert r"the folder fit\xff is no UTF-8" in fails("fit", *corpora, "--out", os.fsdecode(b"fit\xff"), "--steps", "1")
