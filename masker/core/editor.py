"""What all methods of editing have in common: texts of one task go in, rewrites come out."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
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


def edit_stream(editor: Editor, texts: Iterable[str], chunk: int | None = None) -> Iterator[Rewrite]:
    """Rewrite texts as they come, in order, `chunk` of them at a time, with `editor.prefetch` further chunks begun."""
    for rewrite in _stream(editor, texts, chunk):
        yield rewrite if rewrite.method else rewrite.revised(method=editor.name)


def _stream(editor: Editor, texts: Iterable[str], chunk: int | None) -> Iterator[Rewrite]:
    waiting, remaining = deque[Pending[list[Rewrite]]](), iter(texts)
    while True:
        try:
            part = list(islice(remaining, chunk or editor.chunk))
        except Exception:  # what was begun before it comes out
            yield from chain.from_iterable(wait() for wait in waiting)
            raise
        if not part:
            break
        waiting.append(editor.begin(part))
        if len(waiting) > editor.prefetch:
            yield from waiting.popleft()()
    yield from chain.from_iterable(wait() for wait in waiting)
