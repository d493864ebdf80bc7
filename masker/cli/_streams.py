"""Standard streams that were closed, and signals that end a run: both leave things as tidy as any other error does."""

import io
import os
import signal
import sys
from types import FrameType
from typing import Any, TextIO, cast

from masker.show.terminal import visible


class Visible(io.TextIOBase):
    """A terminal to write to, which shows control characters."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        return self.terminal.write(visible(text))

    def flush(self) -> None:
        self.terminal.flush()


class Ended(BaseException):
    """A signal asked the process to end: what was being written is put away on the way out, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def prepare() -> None:
    """Give closed streams something to fail with, and have signals that would kill raise `Ended` instead."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            # Else the next file to be opened would be taken for it. What is the wrong way round fails when it is used.
            os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)[stream])
    if sys.stdin is None:
        sys.stdin = _stream(0, "r")
    if sys.stdout is None:
        sys.stdout = _stream(1, "w")
    if sys.stderr is None:
        sys.stderr = _stream(2, "w")
    for name in ("SIGTERM", "SIGHUP"):
        number: Any = getattr(signal, name, None)
        try:
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
                signal.signal(number, _end)
        except ValueError:  # not in the main thread
            return


def _stream(number: int, mode: str) -> TextIO:
    return cast(TextIO, open(number, mode, encoding="utf-8", closefd=False))


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended(number)
