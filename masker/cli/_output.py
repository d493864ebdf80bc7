"""Where results go: standard output as they come, or a file that appears when it is complete."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from masker.errors import MaskerError

err = Console(stderr=True, highlight=False)


@contextmanager
def writer(out: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that is only put in its place when everything has been written."""
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    if out.is_dir():
        raise MaskerError(f"{out} is a folder; give --out a file name")
    if not out.parent.is_dir():
        raise MaskerError(f"there is no folder {out.parent} to write {out.name} in")
    handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, out)
    except BaseException:
        os.unlink(name)
        raise


def choice(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise MaskerError(f"unknown {name} '{value}'; known: {', '.join(known)}")
    return value
