"""What all methods of editing have in common: texts of one task go in, rewrites come out."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from masker.core.edits import Rewrite
from masker.core.runtime import Pending


class Editor(Protocol):
    """A method of editing, made for one task.

    `chunk` is how many texts at a time suit it, and `prefetch` how many chunks should have been begun besides the one
    that is waited for, so that a device has always something to do.
    """

    name: str
    chunk: int
    prefetch: int

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        """Ask the device about texts. What is returned waits for the answers and gives the rewrites."""
        ...


def edit_chunks(editor: Editor, chunks: Iterator[list[str]]) -> Iterator[list[Rewrite]]:
    """Rewrites chunk by chunk, in order, with `editor.prefetch` further chunks begun."""
    waiting = deque[Pending[list[Rewrite]]]()
    while True:
        try:
            chunk = next(chunks)
        except StopIteration:
            break
        except Exception:  # what was begun before it comes out
            yield from (wait() for wait in waiting)
            raise
        waiting.append(editor.begin(chunk))
        if len(waiting) > editor.prefetch:
            yield waiting.popleft()()
    yield from (wait() for wait in waiting)
