"""What a terminal would show."""

from typing import Any

from rich.console import Console


def printed(thing: Any, width: int = 200, **options: Any) -> str:
    console = Console(width=width, **options)
    with console.capture() as capture:
        console.print(thing)
    return capture.get()
