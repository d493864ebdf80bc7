"""Where results go: standard output as they come, or a file that appears when it is complete."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from masker.errors import MaskerError, unknown

# of several processes that accelerate starts, one speaks
err = Console(stderr=True, highlight=False, quiet=os.environ.get("RANK", "0") != "0")


@contextmanager
def writer(out: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that is only put in its place when everything has been written."""
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(out) as path, open(path, "w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A file to write that takes the place of `out` when it is complete."""
    if out.is_dir():
        raise MaskerError(f"{out} is a folder; give a file name")
    if not out.parent.is_dir():
        raise MaskerError(f"there is no folder {out.parent} to write {out.name} in")
    if out.exists() and not out.is_file():  # a device or a pipe is written to, never replaced
        yield out
        return
    target, name = out.resolve(), None  # what a link points to is replaced, not the link
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        raise MaskerError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        if name is not None and os.path.exists(name):
            os.unlink(name)


def choice(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise unknown(name, value, known)
    return value
