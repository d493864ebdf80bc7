"""Where results go: standard output as they come, or a file that appears when it is complete."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from masker.data.output import replacing
from masker.errors import unknown

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


def choice(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise unknown(name, value, known)
    return value
