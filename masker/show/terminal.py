"""What a terminal is shown: never a control character of a user's text, which could move, colour or rename it."""

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

# what would move the cursor, colour the screen or worse; tabs and ends of lines are text
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
_CONTROLS |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 256)}  # of file names that are no UTF-8


def visible(text: str) -> str:
    """A text for a terminal, with control characters as their numbers: it may come from anywhere."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def readable(name: str) -> str:
    """A file's name that any stream and JSON take: UTF-8 whatever the locale, with bytes that are none as numbers."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class Terminal(Console):
    """Rich's console, for which all that is printed is text."""

    def render(self, *renderable: Any, **options: Any) -> Iterable[Segment]:
        """Segments as they are printed, those that steer the terminal aside."""
        for segment in super().render(*renderable, **options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
