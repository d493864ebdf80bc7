"""An editor that lets be what does not read like the source domain: for checkers, which should not cry wolf.

The classifiers of the search editor are asked first. Editors as such go for the target domain, and find something to
change in a sentence that speaks for neither.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from masker.core.editor import Editor
from masker.core.edits import Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.task import Range
from masker.errors import MaskerError, check_number
from masker.search.editor import SearchEditor


class Gated:
    """An editor whose edits are made only in sentences in which both classifiers give the target domain less than
    `below`; what has none of them is not edited at all.
    """

    def __init__(self, editor: Editor, search: SearchEditor, below: float) -> None:
        check_number(below=below)
        if not 0 < below <= 1:
            raise MaskerError(f"`below` is {below:g}: it is a probability, above 0 and up to 1")
        self.editor, self.search, self.below = editor, search, below
        self.name, self.chunk, self.prefetch = editor.name, editor.chunk, editor.prefetch

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        doubtful: list[list[Range]] = [[] for _ in texts]
        for segment in self.search.read(texts):
            if math.exp(segment.log_p.max()) < self.below:
                doubtful[segment.number].append(segment.room)
        wait = self.editor.begin([text for text, ranges in zip(texts, doubtful, strict=True) if ranges])

        def finished() -> list[Rewrite]:
            made = iter(wait())
            return [
                _within(next(made), ranges, self._reason) if ranges else self._kept(text)
                for text, ranges in zip(texts, doubtful, strict=True)
            ]

        return finished

    @property
    def _reason(self) -> str:
        return f"it does not read like {self.search.task.from_}"

    def _kept(self, text: str) -> Rewrite:
        task = self.search.task
        return Rewrite(text, text, task.from_, task.to, reason=self._reason)


def _within(rewrite: Rewrite, ranges: Sequence[Range], reason: str) -> Rewrite:
    """A rewrite with those edits only that lie in some ranges."""
    edits = tuple(e for e in rewrite.edits if any(start <= e.start and e.end <= end for start, end in ranges))
    if len(edits) == len(rewrite.edits):
        return rewrite
    text = apply_edits(rewrite.source, edits)
    return replace(rewrite, text=text, edits=edits, reason=rewrite.reason if edits else reason)
