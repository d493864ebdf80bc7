"""A full disk at every writer, and kills at any moment: nothing is half-written, and what was begun is finished."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from toy import hears_ctrl_c

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs limits and signals")]
DOMAINS = ("--domain", "negative=negative.txt", "--domain", "positive=positive.txt")
SMALL = ("--steps", "40", "--batch-size", "16", "--eval-every", "5", "--no-report")
MASKER = (sys.executable, "-m", "masker")


def command(verb: str, fitted: Path, base: Path) -> list[str]:
    model = ("--model", str(fitted))
    verbs: dict[str, Sequence[str]] = {
        "edit": ("edit", "negative.txt", "--to", "positive", *model, "--out", "out"),
        "workers": ("edit", "negative.txt", "--to", "positive", *model, "--out", "out", "--workers", "2"),
        "silver": ("silver", "negative.txt", "--to", "positive", *model, "--out", "out"),
        "fit": ("fit", *DOMAINS, "--base", str(base), *SMALL, "--out", "out"),
        "distill": ("distill", "--student", "felix", "--gold", "pairs.tsv", "--base", str(base), "--steps", "4",
                    "--out", "out"),
        "judge": ("judge", "fit", *DOMAINS, "--out", "out"),
        "lm": ("judge", "lm", "negative.txt", "--out", "out"),
        "export": ("export", str(fitted), "--out", "out"),
        "plot": ("explain", "the food was terrible .", "--to", "positive", *model, "--plot", "out.png"),
    }  # fmt: skip
    return [*MASKER, *verbs[verb]]


def no_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.fixture
def at(here: Path) -> Path:
    lines = (here / "negative.txt").read_text().splitlines()
    (here / "pairs.tsv").write_text("".join(f"{line}\t{line} really\n" for line in lines))
    return here


@pytest.mark.parametrize("verb", ["edit", "workers", "silver", "fit", "distill", "judge", "lm", "export", "plot"])
def test_a_full_disk(at: Path, fitted: Path, base: Path, verb: str) -> None:
    done = subprocess.run(command(verb, fitted, base), cwd=at, capture_output=True, text=True, preexec_fn=no_room)
    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2, done.stderr
    assert said.startswith("masker: cannot ")
    assert "Traceback" not in done.stderr
    for card in ("masker.json", "student.json", "judge.json", "ngram_lm.json"):
        assert not (at / "out" / card).exists()
    assert not (at / "out").is_file()
    left = [path.name for path in at.rglob(".*")]
    assert not left, left


@pytest.mark.parametrize("verb", ["workers", "silver", "fit"])
def test_kills_at_any_moment(
    at: Path, fitted: Path, base: Path, verb: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Killed and gone on with until it is done, a run gives what it gives unbroken."""
    chance, whole = random.Random(verb), tmp_path_factory.mktemp("whole")
    for path in at.iterdir():
        (whole / path.name).write_bytes(path.read_bytes())
    subprocess.run(command(verb, fitted, base), cwd=whole, check=True, capture_output=True)
    for _ in range(4):
        _run(at, command(verb, fitted, base), chance.uniform(2, 8), chance)
    process = _run(at, command(verb, fitted, base), None, chance)
    if process is not None:
        assert process.returncode == 0, process.stderr
    name = "out/model.safetensors" if verb == "fit" else "out"
    assert (at / name).read_bytes() == (whole / name).read_bytes()
    assert not [
        path.name for path in at.rglob("*") if path.name.endswith((".part", ".lock")) or "writing-" in path.name
    ]


def test_distill_killed_at_any_moment_leaves_all_or_nothing(
    at: Path, fitted: Path, base: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It cannot be resumed: what was killed left no student, and begun again it gives what it gives unbroken."""
    chance, whole = random.Random("distill"), tmp_path_factory.mktemp("whole")
    for path in at.iterdir():
        (whole / path.name).write_bytes(path.read_bytes())
    words = command("distill", fitted, base)
    began = time.monotonic()
    subprocess.run(words, cwd=whole, check=True, capture_output=True)
    took, kills = time.monotonic() - began, 0
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT) * 2:
        process = subprocess.Popen(words, cwd=at, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.2, 1) * took)
        process.send_signal(number)
        _, err = process.communicate(timeout=600)
        assert "should not have happened" not in err
        assert "Traceback" not in err
        kills += process.returncode != 0
        if (at / "out" / "student.json").exists():  # written last
            _same_files(at / "out", whole / "out")
            shutil.rmtree(at / "out")
    assert kills
    subprocess.run(words, cwd=at, check=True, capture_output=True)
    _same_files(at / "out", whole / "out")


def _same_files(made: Path, expected: Path) -> None:
    """The same bytes, but for student.json, which says how long it took."""
    assert {path.name for path in made.iterdir()} == {path.name for path in expected.iterdir()}
    for path in (path for path in expected.iterdir() if path.suffix in (".json", ".safetensors")):
        assert path.name == "student.json" or (made / path.name).read_bytes() == path.read_bytes(), path.name


def _run(
    at: Path, words: list[str], seconds: float | None, chance: random.Random
) -> "subprocess.CompletedProcess[str] | None":
    """Begin or go on; killed after some seconds, if it is still there. None if it was finished before."""
    begun = any((at / name).exists() for name in ("out.part", "out.part.json", "out.json")) or any(
        (at / "out" / "checkpoints").glob("step-*")
    )
    finished = (at / "out").is_file() or (at / "out" / "masker.json").exists()
    if finished and not begun:
        return None
    words = [*words, "--resume"] if begun else words
    process = subprocess.Popen(words, cwd=at, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c)
    if seconds is not None:
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    _, err = process.communicate(timeout=600)
    assert "should not have happened" not in err
    assert "Traceback" not in err
    return subprocess.CompletedProcess(words, process.returncode, "", err)
