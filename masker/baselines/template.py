"""Delete and retrieve without a generator: what Li et al. 2018 call TemplateBased.

The markers of a text are deleted, the sentence of the target domain with the most similar rest is retrieved, and its
markers are put where those of the text were, the first in the place of the first. Of more of them than places the rest
goes before the final mark; places without one stay empty.
"""

from collections.abc import Sequence

from masker.baselines.base import words_of
from masker.baselines.markers import Slot
from masker.baselines.retrieval import Retrieval, parts_of
from masker.core.candidates import placed
from masker.core.edits import Edit, Rewrite, apply_edits, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span
from masker.core.task import Task


class Template:
    """The template of a text, filled with the markers of another; `unit` is what is looked at as one."""

    name = "delete-template"
    chunk = 256
    prefetch = 0

    def __init__(self, task: Task, retrieval: Retrieval, *, unit: Unit = Unit()) -> None:
        self.task, self.retrieval, self.unit = task, retrieval, unit

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [self._rewrite(text) for text in texts]

    def _rewrite(self, text: str) -> Rewrite:
        task = self.task
        found = [edit for passage in passages(task, text, self.unit) for edit in self._edits(passage)]
        edits = tuple(disjoint(found))
        none = "no sentence like it was found" if words_of(text) else "no words"
        return Rewrite(text, apply_edits(text, edits), task.from_, task.to, edits, reason=None if edits else none)

    def _edits(self, p: Passage) -> list[Edit]:
        parts = parts_of(p, self.retrieval.markers, self.task.from_ or "")
        new = next(iter(self.retrieval.indexes[self.task.to].nearest(parts.content)), None)
        if not new:
            return []
        edits = []
        for (start, stop), infill in _filled(parts.places, new, len(parts.words)):
            span = Span(start + p.words.start, stop + p.words.start)
            if r := placed(self.task, p.text, span, infill, parts.fixed):
                edits.append(Edit(r.start + p.offset, r.end + p.offset, p.text.source[r.start : r.end], r.new, 1.0))
        return edits


def _filled(places: Sequence[Slot], new: Sequence[str], end: int) -> list[tuple[Slot, str]]:
    """What comes where. Places that touch become one."""
    parts = [(place, list(new[k : k + 1])) for k, place in enumerate(places)]
    if rest := list(new[len(places) :]):
        parts.append(((end, end), rest))
    merged: list[tuple[Slot, list[str]]] = []
    for place, words in parts:
        if merged and merged[-1][0][1] == place[0]:
            before, had = merged.pop()
            place, words = (before[0], place[1]), had + words
        merged.append((place, words))
    return [(place, " ".join(words)) for place, words in merged]
