"""masker check and masker fix, by the student in the package."""

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from masker.cli.fix import unified

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
TEXT = "# Soup\r\n\r\nIt was the worst *soup* 😀 in `worst()`,\r\nand terrible service.\r\n\r\nI hate it here."
pytestmark = pytest.mark.usefixtures("loaded_once")
USUAL = ("--to", "positive", "--method", "fast")


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "bad.md").write_bytes(TEXT.encode())
    (here / "good.txt").write_text("The soup was delicious.\n")
    return here


@pytest.fixture
def check(masker: Cli, folder: Path) -> Cli:
    return lambda *arguments, **more: masker("check", *arguments, *USUAL, **more)


@pytest.fixture
def fix(masker: Cli, folder: Path) -> Cli:
    return lambda *arguments, **more: masker("fix", *arguments, *USUAL, **more)


# -- check -------------------------------------------------------------------------------------------------------------


def test_the_exit_code_says_whether_something_was_found(check: Cli) -> None:
    assert (good := check("good.txt")).code == 0, good
    assert good.out == b""
    found = check("good.txt", "bad.md")
    assert found.code == 1
    assert found.text.splitlines()[0].startswith("bad.md:3:12: “worst” reads negative; for positive: “")
    assert [line.split(":")[1] for line in found.text.splitlines()] == ["3", "4", "6"]
    assert found.err == ""


def test_standard_input_and_kinds(check: Cli, folder: Path) -> None:
    shown = check("-", "--format", "json", "--kind", "markdown", stdin=TEXT.encode())
    named = check("bad.md", "--format", "json")
    assert shown.code == named.code == 1
    one, other = json.loads(shown.text), json.loads(named.text)
    assert one["files"] == ["stdin"]
    assert [f["start"] for f in one["findings"]] == [f["start"] for f in other["findings"]]
    for finding in other["findings"]:
        assert TEXT[finding["start"] : finding["end"]] == finding["old"]
        assert finding["method"] == "fast"
    assert check("-", stdin=b"").code == 0


@pytest.mark.parametrize("format", ["sarif", "github"])
def test_formats_of_programs_go_to_files_too(check: Cli, folder: Path, format: str) -> None:
    result = check("bad.md", "good.txt", "--format", format, "--out", "found")
    assert (result.code, result.out) == (1, b"")
    said = (folder / "found").read_text("utf-8")
    assert said == check("bad.md", "good.txt", "--format", format).text
    assert said.count("::warning ") == 3 or len(json.loads(said)["runs"][0]["results"]) == 3


def test_several_suggestions(masker: Cli, folder: Path) -> None:
    result = masker(
        "check", "-", "--to", "positive", "--suggestions", "3", "--format", "json", stdin=b"The soup was bland."
    )
    (finding,) = json.loads(result.text)["findings"]
    assert finding["method"] == "search"
    assert len(set(finding["replacements"])) == 3


def test_what_cannot_be_checked_does_not_pass(check: Cli, folder: Path) -> None:
    (folder / "long.txt").write_text("The soup was delicious.\n\n" + "nice " * 50 + "\n")
    result = check("good.txt", "long.txt", "--max-words", "20", "--format", "json")
    assert result.code == 3
    assert "masker: long.txt, line 3: it has 50 words" in result.err
    assert result.err.endswith("masker: 1 text could not be checked\n")
    assert [one["line"] for one in json.loads(result.text)["failed"]] == [3]
    assert check("bad.md", "long.txt", "--max-words", "20").code == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nowhere.md"], "nowhere.md"),
        (["bad.md", "bad.md"], "bad.md is named twice"),
        (["bad.md", "--format", "xml"], "known: text, json, sarif, github"),
        (["bad.md", "--kind", "markdwn"], "did you mean 'markdown'"),
        (["bad.md", "--suggestions", "2"], "--suggestions belongs to the method search or paper"),
        (["."], "cannot read ."),
    ],
)
def test_wrong_usage(fails: Fails, folder: Path, arguments: list[str], named: str) -> None:
    assert named in fails("check", *arguments, *USUAL)


def test_files_and_a_domain_are_needed(masker: Cli) -> None:
    assert masker("check", "--to", "positive").code == 2
    assert masker("check", "x.md").code == 2


# -- fix ---------------------------------------------------------------------------------------------------------------


def test_in_place_writes_what_the_diff_shows_and_keeps_mode_and_line_ends(fix: Cli, folder: Path) -> None:
    path = folder / "bad.md"
    path.chmod(0o750)
    shown = fix("bad.md", "good.txt")
    assert shown.code == 0
    assert path.read_bytes() == TEXT.encode()
    assert shown.out == fix("bad.md", "good.txt", "--diff").out
    before = folder / "copy"
    before.mkdir()
    shutil.copy(path, before)
    (folder / "diff").write_bytes(shown.out)
    result = fix("bad.md", "good.txt", "--in-place")
    assert (result.code, result.out, result.err) == (0, b"", "bad.md: 3 edits\n")
    new = path.read_bytes()
    assert new.count(b"\r\n") == TEXT.count("\r\n") == new.count(b"\n")
    assert not new.endswith(b"\n")
    assert "`worst()`" in new.decode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    git = shutil.which("git")
    if git:
        subprocess.run(
            [git, "apply", "--unsafe-paths", "../diff"], cwd=before, check=True, env={**os.environ, "GIT_DIR": "/none"}
        )
        assert (before / "bad.md").read_bytes() == new
    assert sorted(p.name for p in folder.iterdir() if p.suffix in (".md", ".lock")) == ["bad.md"]


def test_edit_by_edit(fix: Cli, folder: Path) -> None:
    result = fix("bad.md", "--interactive", stdin=b"n\nwhat?\n7\ny\nq\n")
    assert result.code == 0
    assert result.err.count("change it? [y/n/a/q]") == 5
    assert result.err.count("y: yes   n: no") == 2
    assert result.err.endswith("bad.md: 1 edit\n")
    new = (folder / "bad.md").read_bytes().decode()
    assert new.startswith("# Soup\r\n\r\nIt was the worst *soup*")
    assert "terrible" not in new
    assert new.endswith("I hate it here.")
    assert fix("bad.md", "--interactive", stdin=b"").code == 0  # nobody answers: nothing more is changed
    assert (folder / "bad.md").read_bytes().decode() == new
    fix("bad.md", "--interactive", stdin=b"a\n")
    assert "worst *soup*" not in (folder / "bad.md").read_text()


def test_another_candidate(masker: Cli, folder: Path) -> None:
    """Without a method, the one that knows of several."""
    (folder / "one.txt").write_text("The soup was bland.\n")
    result = masker("fix", "one.txt", "--to", "positive", "--interactive", stdin=b"3\n")
    third = next(line.strip() for line in result.err.splitlines() if line.startswith("  3: "))
    assert (folder / "one.txt").read_text() == f"The soup was {third.removeprefix('3: ')}.\n"


def test_a_file_that_changes_meanwhile_is_left_alone(
    fails: Fails, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masker.cli.fix.read_text", lambda *_: "other")
    assert "was changed while it was looked at" in fails("fix", "bad.md", "--in-place", *USUAL)
    assert (folder / "bad.md").read_bytes() == TEXT.encode()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["bad.md", "--diff", "--in-place"], "choose one"),
        (["-", "--in-place"], "standard input cannot be written to"),
        (["bad.md.gz", "--interactive"], "bad.md.gz is packed"),
    ],
)
def test_what_cannot_be_fixed(fails: Fails, folder: Path, arguments: list[str], named: str) -> None:
    assert named in fails("fix", *arguments, *USUAL)


@pytest.mark.parametrize(
    ("old", "new"),
    [("a\nb", "a\nc"), ("a\n", "b\n"), ("a", ""), ("a\x0bb\u2028c\n", "a\x0bb\u2028d\n"), ("x\r\ny", "x\r\nz")],
)
def test_a_diff_ends_its_lines(old: str, new: str) -> None:
    shown = "".join(unified("f", old, new))
    assert shown.startswith("--- a/f\n+++ b/f\n")
    assert shown.endswith("\n")
    assert shown.count("\\ No newline at end of file\n") == (not old.endswith("\n")) + (
        bool(new) and not new.endswith("\n")
    )
    assert not list(unified("f", old, old))


def test_what_reads_like_neither_is_not_told_of(check: Cli) -> None:
    """The student would write something into the heading."""
    text = b"# Our evening\n\nI hate it here.\n"
    found = json.loads(check("-", "--kind", "markdown", "--format", "json", stdin=text).text)["findings"]
    assert [one["line"] for one in found] == [3]
    found = json.loads(check("-", "--kind", "markdown", "--format", "json", "--below", "1", stdin=text).text)[
        "findings"
    ]
    assert [one["line"] for one in found] == [1, 3]


def test_the_hooks_of_pre_commit_are_verbs_with_their_options() -> None:
    yaml = pytest.importorskip("yaml")
    from typer.main import get_command

    from masker.cli import app

    hooks = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["masker-check", "masker-fix"]
    for hook in hooks:
        assert {"name", "description", "language", "types_or"} <= hook.keys()
        program, verb, *options = hook["entry"].split()
        known = {flag for p in get_command(app).commands[verb].params for flag in p.opts}  # type: ignore[attr-defined]
        assert program == "masker"
        assert {*options, "--to"} <= known


def test_the_example_of_the_docs(masker: Cli, here: Path) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "checking.md").read_text("utf-8")
    (source,) = re.findall(r"```markdown\n(.*?)```", docs, re.DOTALL)
    command, shown = re.findall(r"```console\n\$ masker (.*?)\n(.*?)```", docs, re.DOTALL)[0]
    (here / "review.md").write_text(source, "utf-8")
    found = masker(*command.split()).text
    suggestion = re.compile("“[^”]+”$", re.MULTILINE)  # may be another with other cores: int8 rounds otherwise
    assert suggestion.sub("", found) == suggestion.sub("", shown)
