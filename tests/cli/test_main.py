"""What holds for every verb: help, speed, usage errors, signals and pipes. These need real processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import hears_ctrl_c

from masker import __version__

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
MASKER = (sys.executable, "-m", "masker")
VERBS = ("edit", "explain", "check", "fix", "info", "fit", "pretrain")


def started(*arguments: str | Path, **options: object) -> subprocess.Popen[bytes]:
    command = [*MASKER, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hears_ctrl_c, **options
    )  # type: ignore[call-overload]  # fmt: skip


def test_import_and_help_are_quick() -> None:
    """Torch alone takes a second; nothing may import it before there is work for it."""
    code = "import sys, masker, masker.cli; sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'numpy')))"
    began = time.monotonic()
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert time.monotonic() - began < 2
    began = time.monotonic()
    result = subprocess.run([*MASKER, "--help"], capture_output=True, text=True)
    assert time.monotonic() - began < 3
    assert result.returncode == 0
    for verb in VERBS:
        assert f"  {verb}" in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_explains_every_option(masker: Cli, verb: str) -> None:
    from typer.main import get_command

    from masker.cli import app

    result = masker(verb, "--help")
    assert result.code == 0
    assert max(map(len, result.text.splitlines())) <= 80
    command = get_command(app).commands[verb]  # type: ignore[attr-defined]
    for parameter in command.params:
        assert parameter.help, f"{verb} {parameter.name} is not explained"
    summary = command.get_short_help_str(65)
    assert not summary.endswith("..."), summary


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["edti"], "edit"),
        (["edit"], "--to"),
        (["edit", "--to"], "--to"),
        (["edit", "--to", "x", "--max-edits", "many"], "--max-edits"),
        (["edit", "--to", "x", "--nonsense"], "--nonsense"),
        (["explain", "--to", "x"], "text"),
        (["fit", "--out", "x"], "--domain"),
    ],
)
def test_usage_errors_are_short(masker: Cli, arguments: list[str], named: str) -> None:
    result = masker(*arguments)
    assert result.code == 2
    assert result.err.count("\n") <= 4
    assert named in result.err
    assert "Traceback" not in result.err


def test_the_version(masker: Cli) -> None:
    assert masker("--version").text == f"masker {__version__}\n"


def test_an_error_of_our_own_is_one_line_too(masker: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero\nand more")

    monkeypatch.setattr("masker.model.card.facts", broken)
    result = masker("info", ".")
    assert result.code in (2, 70)
    monkeypatch.setattr("masker.model.light.LightModel.read", broken)
    result = masker("info")
    assert result.code == 70
    assert result.err.count("\n") == 1
    assert "ZeroDivisionError at test_main.py:" in result.err


def test_ctrl_c_in_the_middle_of_edit(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the food was terrible .\n" * 200_000)
    process = started("edit", tmp_path / "in.txt", "--to", "positive", "--model", fitted, "--out", tmp_path / "out.txt")
    for _ in range(600):  # until it writes
        if any(p.name.startswith(".out") for p in tmp_path.iterdir()):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"masker: interrupted\n")
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]


def test_it_streams_and_a_closed_pipe_ends_it_quietly(fitted: Path, tmp_path: Path) -> None:
    """Lines come out while others still go in; then `| head -1` has seen enough."""
    process = started("edit", "--to", "positive", "--model", fitted, "--format", "jsonl", stdin=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    watch = threading.Timer(60, process.kill)
    watch.start()
    process.stdin.write(b"it was good .\n" * 32)
    process.stdin.flush()
    assert b"it was good ." in process.stdout.readline()  # and standard input is still open
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"it was good .\n" * 1000)
        process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
    watch.cancel()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full")
def test_standard_output_on_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run([*MASKER, "--help"], stdout=full, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (2, b"masker: No space left on device\n")


def test_one_process_of_several_speaks() -> None:
    """accelerate numbers its processes."""
    code = "from masker.cli._output import err; err.print('hello')"
    for rank, said in (("0", "hello\n"), ("1", "")):
        run = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "RANK": rank}, capture_output=True, text=True
        )
        assert run.stderr == said
