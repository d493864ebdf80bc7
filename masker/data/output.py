"""Files that appear whole or not at all, and that one run at a time writes."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from masker.errors import MaskerError


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """What the system refuses, a full disk say, is one line that names the file."""
    try:
        yield
    except OSError as error:
        raise MaskerError(f"cannot write {out}: {error.strerror or error}") from error


def target(out: str | Path) -> Path:
    """Where `out` is to be written: what a link points to, not the link. Refused if there can be no such file."""
    out = Path(out).expanduser()
    with writing(out):
        if out.is_dir():
            raise MaskerError(f"{out} is a folder and no plain file; give a file name")
        if not out.parent.is_dir():
            raise MaskerError(f"cannot write {out}: there is no folder {out.parent}")
        return out.resolve()


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Only one run at a time writes `out`. The lock, OUT.lock, ends with its process, however that ends.

    It is the system's lock on that file, not the file itself, and no child inherits it.
    """
    from filelock import FileLock, Timeout

    path = out.with_name(out.name + ".lock")
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise MaskerError(f"another run is writing {out}; wait for it, or choose another `out`") from error
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # Windows removes no file that is open
                path.unlink()  # while it is held: who waits for this file sees that it is gone, and takes another
        finally:
            lock.release()


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A file to write that takes the place of `out` when it is complete, with the mode of the one that was there."""
    path, name = target(out), None
    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        yield path
        return
    try:
        with writing(out), locked(path):
            handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
            os.close(handle)
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
            yield Path(name)
            os.chmod(name, mode)
            os.replace(name, path)
    finally:
        if name is not None and os.path.exists(name):
            os.unlink(name)
