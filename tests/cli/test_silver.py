import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import CORPORA

from masker.api import Masker
from masker.data.pairs import read_pairs
from masker.evaluation.judges.base import Judge

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]


@pytest.fixture
def silver(masker: Cli, fitted: Path, here: Path) -> Cli:
    return lambda *arguments, **kw: masker("silver", "--model", fitted, "--to", "positive", *arguments, **kw)


def test_pairs_are_what_masker_edit_makes(silver: Cli, fitted: Path, here: Path) -> None:
    result = silver("negative.txt", "--from", "negative", "--out", "s.tsv", "--report", "r.json")
    assert (result.code, result.out) == (0, b"")
    rewrites = Masker.from_pretrained(fitted).edit(CORPORA["negative"], to="positive")
    expected = [(r.text, r.source) for r in rewrites if r.edits]
    assert [pair[:2] for pair in read_pairs("s.tsv", format="silver")] == expected
    report = json.loads((here / "r.json").read_text())
    assert (report["lines"], report["kept"]) == (80, len(expected))
    assert f"{len(expected)}" in result.err
    assert "kept in s.tsv" in result.err
    assert "dropped: Masker changed nothing" in result.err
    assert "dropped: Score not above --min-score" in result.err


def test_options(silver: Cli, here: Path) -> None:
    Judge.fit(CORPORA, dev=CORPORA).save_pretrained(here / "judge")
    arguments = ("--synthetic", "target", "--judge", "judge", "--min-similarity", "0.5", "--min-score", "0.01",
                 "--forbid", "great", "--max-words", "5", "--report", "r.json")  # fmt: skip
    assert silver("-", "--out", "s.tsv", *arguments, stdin=(here / "negative.txt").read_bytes()).code == 0
    pairs = list(read_pairs("s.tsv"))
    assert pairs
    assert {pair.source for pair in pairs} <= set(CORPORA["negative"])
    assert not any("great" in pair.target for pair in pairs)
    assert set(Judge.from_pretrained("judge").predict([pair.target for pair in pairs])) == {"positive"}
    assert (
        json.loads((here / "r.json").read_text())["dropped"]["too_long"] == 16
    )  # such as `the food was terrible here .`


@pytest.mark.slow
def test_killed_and_resumed(silver: Cli, fitted: Path, here: Path) -> None:
    """A real process, killed after its first lines, and the same command with --resume."""
    (here / "long.txt").write_text("".join(f"{text}\n" for text in CORPORA["negative"] * 7))
    command = [sys.executable, "-m", "masker", "silver", "--model", str(fitted), "--to", "positive", "long.txt",
               "--method", "paper"]  # fmt: skip
    state = here / "s.tsv.json"
    with subprocess.Popen([*command, "--out", "s.tsv"], env=os.environ) as process:
        until = time.monotonic() + 120
        while not (state.exists() and json.loads(state.read_text())["lines"]) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert 0 < json.loads(state.read_text())["lines"] < 560
    assert not (here / "s.tsv").exists()
    assert silver("long.txt", "--out", "s.tsv", "--method", "paper", "--resume").code == 0
    assert silver("long.txt", "--out", "whole.tsv", "--method", "paper").code == 0
    assert (here / "s.tsv").read_bytes() == (here / "whole.tsv").read_bytes()
    first, second = (json.loads((here / f"{name}.tsv.json").read_text()) for name in ("s", "whole"))
    assert first == second


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("s.tsv*")}


def test_a_finished_run_is_left_alone(silver: Cli, here: Path) -> None:
    arguments = ("negative.txt", "--out", "s.tsv", "--method", "paper", "--resume", "--report", "r.json")
    assert "kept in s.tsv" in silver(*arguments).err
    before, counts = times(here), (here / "r.json").read_text()
    result = silver(*arguments)
    assert (result.code, result.out) == (0, b"")
    assert result.err == "masker: s.tsv is complete, and nothing is left to do; without --resume it is made anew\n"
    assert times(here) == before
    assert (here / "r.json").read_text() == counts


def test_errors(silver: Cli, fails: Fails, fitted: Path, here: Path) -> None:
    arguments = ("silver", "--model", fitted, "--to", "positive")
    assert "known: input, target" in fails(*arguments, "negative.txt", "--out", "s.tsv", "--synthetic", "none")
    wrong = fails(*arguments, "negative.txt", "--out", "s.tsv", "--min-similarity", "2")
    assert wrong == "--min-similarity is 2.0; it must be between 0 and 1"
    assert "nofile" in fails(*arguments, "nofile", "--out", "s.tsv")
    assert "negative.txt itself" in fails(*arguments, "negative.txt", "--out", "negative.txt")
    for name, what in (("s.tsv", "--out"), ("s.tsv.json", "the state of --out"), ("negative.txt", "the corpus")):
        error = fails(*arguments, "negative.txt", "--out", "s.tsv", "--report", here / name)
        assert error.startswith(f"--report is {name}, {what}, which it would be written over")
        assert not (here / "s.tsv").exists()
    assert "no judge at" in fails(*arguments, "negative.txt", "--out", "s.tsv", "--judge", "nowhere")
    assert "unknown domain 'happy'" in fails("silver", "--model", fitted, "--to", "happy", "negative.txt", "--out", "s")
    (here / "bad.txt").write_bytes(b"ok\ncaf\xe9\n")
    assert "line 2" in fails(*arguments, "bad.txt", "--out", "s.tsv")
