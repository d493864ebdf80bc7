"""What a terminal is shown: never a control character of a user's text, which could move, colour or rename it."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

# what would move the cursor, colour the screen or worse; tabs and ends of lines are text
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}


def visible(text: str) -> str:
    """A text for a terminal, with control characters as their numbers: it may come from anywhere."""
    return text if text.isprintable() else text.translate(_CONTROLS)


class Terminal(Console):
    """Rich's console, for which all that is printed is text."""

    def render(self, *renderable: Any, **options: Any) -> Iterable[Segment]:
        """Segments as they are printed, those that steer the terminal aside."""
        for segment in super().render(*renderable, **options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
