"""Patterns that find what is protected. A user's may take forever, and is matched where it can be stopped."""

import atexit
import json
import os
import re
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from masker.errors import MaskerError

Range = tuple[int, int]  # of characters
SECONDS = 5.0  # that a user's pattern may take for a text
# Nothing but its own death stops a search that has gone astray, and it must not outlive the one who asked for it.
_SEARCHER = """
import faulthandler, json, os, re, sys
for line in sys.stdin:
    pattern, flags, text, seconds = json.loads(line)
    faulthandler.dump_traceback_later(seconds, exit=True, file=open(os.devnull, "w"))
    spans = [m.span() for m in re.compile(pattern, flags).finditer(text)]
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(spans), flush=True)
"""


@dataclass(frozen=True)
class Pattern:
    """A pattern; one of a user's is `limited` in the time that it may take. `sign` finds something in every text in
    which the pattern does, and is quick.
    """

    pattern: re.Pattern[str]
    limited: bool = False
    sign: re.Pattern[str] | None = field(default=None, compare=False)

    def spans(self, text: str) -> list[Range]:
        """What it matches. What is all of the text takes in what could be written before and after it."""
        if self.sign and not self.sign.search(text):
            return []
        if not self.limited:
            return [m.span() for m in self.pattern.finditer(text) if m.group()]
        found = _limited(self.pattern.pattern, self.pattern.flags, text, SECONDS)
        begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return [(a, b) if a > begin or b < end else (-1, len(text) + 1) for a, b in found if a < b]


def compiled(pattern: "str | re.Pattern[str]") -> Pattern:
    """A user's pattern."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read otherwise
            found = re.compile(pattern)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        raise MaskerError(f"'{_short(pattern)}' is no valid pattern: {str(error) or type(error).__name__}") from error
    except TypeError as error:
        raise MaskerError(f"`protect` is {pattern!r:.60}; give a pattern as text") from error
    if not isinstance(found.pattern, str):
        raise MaskerError("the pattern of `protect` is made for bytes; give one for text")
    return Pattern(found, limited=True)


class _Searcher:
    """A bare Python that searches. It ends when its pipe does, or when a search has taken too long."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SEARCHER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, *question: Any) -> list[Range] | None:
        """The answer, or None if it has died of it."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            return None
        return [(a, b) for a, b in json.loads(answer)] if answer.endswith(b"\n") else None

    def close(self) -> None:
        self.process.kill()
        with suppress(OSError):  # what it could not be told
            self.process.communicate()


class _Searchers:
    """The one of this process, made when it is needed. A fork begins anew: its pipes are its parent's."""

    def __init__(self) -> None:
        self.lock, self.one = threading.Lock(), None

    def ask(self, *question: Any) -> list[Range] | None:
        with self.lock:
            if self.one is None or self.one.process.poll() is not None:  # Ctrl-C is heard by both
                self.one = _Searcher()
            found = self.one.ask(*question)
            if found is None:
                self.end()
            return found

    def end(self) -> None:
        if self.one is not None:
            self.one.close()
            self.one = None

    lock: threading.Lock
    one: _Searcher | None


_searchers = _Searchers()
atexit.register(_searchers.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_searchers.__init__)  # type: ignore[misc]


@lru_cache(maxsize=1024)  # an editor asks about a text more than once
def _limited(pattern: str, flags: int, text: str, seconds: float) -> tuple[Range, ...]:
    found = _searchers.ask(pattern, flags, text, seconds)
    if found is None:
        raise MaskerError(
            f"the pattern '{_short(pattern)}' took more than {seconds:g} seconds; write `protect` without a "
            "repetition inside of a repetition"
        )
    return tuple(found)


def _short(pattern: Any) -> str:
    text = str(getattr(pattern, "pattern", pattern))
    return text if len(text) <= 60 else text[:57] + "..."
