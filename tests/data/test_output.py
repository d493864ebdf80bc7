"""Files that appear whole or not at all, and a lock that ends with its process."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from masker.data.output import locked, replacing
from masker.data.resumable import ResumableFile
from masker.errors import MaskerError
from masker.model.folder import staged

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
    (tmp_path / ".out.masker.lock").touch()  # left behind by a run that was killed
    (tmp_path / "out.lock").write_text("mine")
    with locked(out):
        pass
    assert os.listdir(tmp_path) == ["out.lock"]
    assert (tmp_path / "out.lock").read_text() == "mine"


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


@pytest.mark.skipif(os.name != "posix", reason="needs a umask")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_is_for_whom_the_umask_lets(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "out") as path:
            path.write_text("new")
        with ResumableFile(tmp_path / "part", {}, resume=False) as part:
            part.write("new\n")
        with staged(tmp_path / "folder") as stage:
            (stage / "file").touch(0o600)
    finally:
        os.umask(before)
    for made in ("out", "part", "folder/file"):
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch(0o600)
    with replacing(out) as path:
        path.write_text("new")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with ResumableFile(out, {}, resume=False) as part:
        part.write("newer\n")
    assert (stat.S_IMODE(out.stat().st_mode), out.read_text()) == (0o600, "newer\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    with replacing(pipe) as path:
        path.write_text("new")
    assert reader.communicate(timeout=60)[0] == b"new"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(MaskerError, match="no plain file"):
        ResumableFile(pipe, {}, resume=False)


def test_what_a_file_descriptor_stands_for_is_not_replaced(tmp_path: Path) -> None:
    if not Path("/dev/fd").is_dir():
        pytest.skip("needs /dev/fd")
    with open(tmp_path / "log", "w+") as log:
        inode = os.fstat(log.fileno()).st_ino
        with replacing(Path(f"/dev/fd/{log.fileno()}")) as path:
            path.write_text("new")
        assert os.stat(tmp_path / "log").st_ino == inode
    assert (tmp_path / "log").read_text() == "new"
