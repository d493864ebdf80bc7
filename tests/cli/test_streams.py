"""Closed streams, full ones and signals: one line, and nothing left behind."""

import io
import os
import signal
import stat
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masker.cli._streams import Visible
from masker.show.terminal import visible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell, and devices made by mknod")
MASKER = (sys.executable, "-m", "masker")
EDIT = ("edit", "in.txt", "--to", "positive", "--method", "fast")


def shell(folder: Path, arguments: Sequence[str], redirection: str) -> tuple[int, bytes, str]:
    command = f'exec "$@" {redirection}'
    whole = ["sh", "-c", command, "sh", *MASKER, *arguments]
    done = subprocess.run(whole, cwd=folder, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("the food was terrible .\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "redirection", "said"),
    [
        (("info",), ">&-", "standard output is closed, but is to be written to; leave it open"),
        pytest.param(EDIT, ">&-", "standard output is closed", marks=pytest.mark.slow),
        (("edit", "--to", "positive"), "<&-", "cannot read -: Bad file descriptor; give a readable file"),
        pytest.param(("--help",), ">&-", "standard output is closed", marks=pytest.mark.slow),
        pytest.param(("explain", "bad", "--to", "positive"), ">&-", "standard output is", marks=pytest.mark.slow),
        pytest.param(("info",), ">/dev/full", "No space left on device", marks=pytest.mark.slow),
        pytest.param((*EDIT, "--out", "/dev/full"), "", "cannot write /dev/full: No space", marks=pytest.mark.slow),
    ],
)
def test_a_stream_that_is_closed_or_full(folder: Path, arguments: Sequence[str], redirection: str, said: str) -> None:
    code, out, err = shell(folder, arguments, redirection)
    assert (code, out) == (2, b"")
    assert err.startswith(f"masker: {said}")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_all_streams_closed(folder: Path) -> None:
    assert shell(folder, (*EDIT, "--out", "out.txt"), "<&- >&- 2>&-") == (0, b"", "")
    assert (folder / "out.txt").read_text().startswith("the food was ")
    assert shell(folder, EDIT, "<&- >&- 2>&-") == (2, b"", "")


@pytest.mark.parametrize("name", ["-", pytest.param("/dev/stdout", marks=pytest.mark.slow)])
def test_a_dash_is_standard_output(
    folder: Path, masker: Callable[..., object], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    there = masker(*EDIT)
    assert masker(*EDIT, "--out", name) == there
    assert os.listdir(folder) == ["in.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(folder: Path, number: signal.Signals) -> None:
    (folder / "in.txt").write_text("the food was terrible , and the staff was rude to us .\n" * 5000)
    command = [*MASKER, "edit", "in.txt", "--to", "positive", "--method", "search", "--out", "out.txt"]
    before = sorted(os.listdir(folder))
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, preexec_fn=hear) as process:
        while not any(path.stat().st_size for path in folder.glob(".out.*.txt")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr
        said = process.stderr.read().decode()
    assert process.returncode == 128 + number
    assert said.count("\n") == 1
    assert sorted(os.listdir(folder)) == before


def hear() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def null(tmp_path: Path) -> Path:
    """A device like /dev/null, which is not to be put at stake."""
    path = tmp_path / "null.svg"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:
        pytest.skip("only root makes devices")
    return path


WRITERS: list[Any] = [
    (*EDIT, "--out"),
    ("edit", "in.csv", "--to", "positive", "--method", "fast", "--out"),
    ("edit", "in.txt", "--document", "--to", "positive", "--method", "fast", "--out"),
    ("edit", "in.txt", "--to", "positive", "--workers", "1", "--out"),
    ("silver", "in.txt", "--to", "positive", "--out"),
    ("silver", "in.txt", "--to", "positive", "--method", "fast", "--out", "silver.tsv", "--report"),
    pytest.param(("explain", "bad food", "--to", "positive", "--plot"), marks=pytest.mark.slow),
    ("judge", "fit", "--domain", "a=in.txt", "--domain", "b=in.txt", "--out"),
    ("judge", "lm", "in.txt", "--out"),
    ("fit", "--domain", "a=in.txt", "--domain", "b=in.txt", "--out"),
    ("pretrain", "in.txt", "--out"),
    ("distill", "--student", "felix", "--gold", "pairs.tsv", "--out"),
    ("reader", "--domain", "a=in.txt", "--domain", "b=in.txt", "--base", "x", "--out"),
    pytest.param(("export", "--out"), marks=pytest.mark.slow),
    ("tune", "--domain", "a=in.txt", "--model"),
    ("beam", "edit", "in.txt", "--to", "positive", "--out"),
]


@pytest.mark.parametrize("arguments", WRITERS, ids=lambda words: words[0])
def test_a_device_is_written_to_or_refused_and_never_replaced(
    null: Path, masker: Callable[..., object], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(null.parent)
    Path("in.txt").write_text("the food was terrible .\nthe staff was rude .\n")
    Path("in.csv").write_text("text\nthe food was terrible .\n")
    Path("pairs.tsv").write_text("bad food\tgood food\nbad staff\tgood staff\n")
    run = masker(*arguments, null)
    assert "should not have happened" not in str(run)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert not [name for name in os.listdir(null.parent) if "null" in name and name != null.name]


@given(st.text())
def test_no_escape_sequence_reaches_a_terminal(text: str) -> None:
    shown = visible(f"{text}\x1b[31m\x9b\x07")
    assert not any(unicodedata.category(mark) == "Cc" and mark not in "\t\n\r" for mark in shown)
    terminal = io.StringIO()
    Visible(terminal).write(text)
    assert terminal.getvalue() == visible(text)
