"""Files that appear whole or not at all, and a lock that ends with its process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from masker.data.output import locked, replacing
from masker.errors import MaskerError

HOLD = """
import os, subprocess, sys, time
from pathlib import Path
from masker.data.output import locked
with locked(Path(sys.argv[1])):
    {child}
    print(child, flush=True)
    time.sleep(60)
"""
FORKED = "child = os.fork() or time.sleep(60)"
STARTED = "child = subprocess.Popen(['sleep', '60']).pid"


def test_one_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with locked(out):
        with (
            pytest.raises(MaskerError, match=r"another run is writing .*out; wait for it, or choose another `out`"),
            locked(out),
        ):
            pass
        with locked(tmp_path / "other"):
            pass
    assert not os.listdir(tmp_path)
    (tmp_path / "out.lock").touch()  # left behind by a run that was killed
    with locked(out):
        pass
    assert not os.listdir(tmp_path)


def test_an_error_ends_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / "out"):
        raise KeyboardInterrupt
    with locked(tmp_path / "out"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("child", [FORKED, STARTED])
def test_it_ends_with_its_process_and_no_child_inherits_it(tmp_path: Path, child: str) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", HOLD.format(child=child), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        other = int(process.stdout.readline())
        try:
            with pytest.raises(MaskerError, match="another run"), locked(out):
                pass
            process.kill()
            process.wait()
            os.kill(other, 0)  # it lives on
            for _ in range(100):  # a child that was forked closes the lock with the first thing it does
                with suppress(MaskerError), locked(out):
                    return
                time.sleep(0.1)
            pytest.fail("a child has inherited the lock")
        finally:
            os.kill(other, signal.SIGKILL)


def test_many_who_want_it(tmp_path: Path) -> None:
    """Taken and given back by several processes as fast as they can, it is never held by two."""
    code = """
import os, sys, time
from pathlib import Path
from masker.data.output import locked
from masker.errors import MaskerError
out, until, held = Path(sys.argv[1]), time.monotonic() + 1.5, 0
while time.monotonic() < until:
    try:
        with locked(out):
            os.close(os.open(out, os.O_CREAT | os.O_EXCL))
            held += 1
            os.unlink(out)
    except MaskerError:
        pass
sys.exit(not held)
"""
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert not os.listdir(tmp_path)


def test_a_file_takes_its_place_when_it_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    with replacing(out) as path:
        path.write_text("new")
        assert out.read_text() == "old"
        with pytest.raises(MaskerError, match="another run is writing"), replacing(out):
            pass
    assert out.read_text() == "new"
    with pytest.raises(ZeroDivisionError), replacing(out) as path:
        path.write_text("half" * (1 // 0))
    assert out.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda folder: folder, "is a folder"),
        (lambda folder: folder / "no" / "out", "there is no folder"),
        (lambda folder: folder / ("x" * 300), "cannot write .*: File name too long"),
    ],
)
def test_where_nothing_can_be_written(tmp_path: Path, place: Callable[[Path], Path], why: str) -> None:
    with pytest.raises(MaskerError, match=why), replacing(place(tmp_path)):
        pass
