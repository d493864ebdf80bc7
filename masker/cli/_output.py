"""Where results go: standard output as they come, or a file that appears when it is complete."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from masker.cli._streams import Visible
from masker.data.output import replacing
from masker.errors import unknown
from masker.show.terminal import Terminal

MAIN = os.environ.get("RANK") in (None, "", "0")  # of several processes that accelerate starts, one speaks
err = Terminal(stderr=True, highlight=False, quiet=not MAIN)


@contextmanager
def writer(out: Path | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Standard output, or a file that is only put in its place when everything has been written."""
    if out is None or is_stdout(out):
        sys.stdout.reconfigure(encoding=encoding, newline="")  # type: ignore[union-attr]
        yield cast(TextIO, Visible(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        sys.stdout.flush()
        return
    with replacing(out) as path, open(path, "w", encoding=encoding, newline="") as file:
        yield file


def is_stdout(out: Path) -> bool:
    """Whether a file is standard output by another name. Opened again it would begin where what is there begins."""
    return str(out) in ("-", "/dev/stdout")


def choice(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise unknown(name, value, known)
    return value
