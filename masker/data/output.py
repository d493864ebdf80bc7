"""Files that appear whole or not at all, and that one run at a time writes."""

import errno
import os
import secrets
import stat
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
        if is_special(out):
            return out  # what /dev/stdout points to has no name
        if not out.parent.is_dir():
            raise MaskerError(f"cannot write {out}: there is no folder {out.parent}")
        return out.resolve()


def is_special(out: Path) -> bool:
    """Whether something is there that is no plain file: a device or a pipe is written to, and never replaced.

    Nor is what /dev/fd/3 and its like stand for, whatever that is.
    """
    return out.exists() and (not out.is_file() or any(out.is_relative_to(where) for where in ("/dev", "/proc")))


def put(made: Path, out: Path) -> None:
    """Move a file that is complete to its place; it may be read by whom what was there could be."""
    with suppress(FileNotFoundError):
        os.chmod(made, stat.S_IMODE(out.stat().st_mode))
    os.replace(made, out)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Only one run at a time writes `out`. The lock, .OUT.masker.lock, ends with its process, however that ends.

    It is the system's lock on that file, not the file itself, and no child inherits it.
    """
    from filelock import FileLock, Timeout

    path = out.with_name(f".{out.name}.masker.lock")  # no name that a user gives to a file
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
    """A file to write that takes the place of `out` when it is complete."""
    path = target(out)
    if is_special(path):
        with writing(out):
            yield path
        return
    made = None
    try:
        with writing(out), locked(path):
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, "it is write-protected")
            made = path.with_name(f".{path.stem[:100]}.{secrets.token_hex(6)}{path.suffix}")
            made.touch(exist_ok=False)  # whoever the umask lets, may read it
            yield made
            put(made, path)
    finally:
        if made is not None:
            made.unlink(missing_ok=True)
