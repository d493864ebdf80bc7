"""A causal LM that writes drafts, sentence by sentence, which compete with what others have found."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.prose import rewritten
from masker.core.runtime import Pending
from masker.core.segments import Unit, passages
from masker.core.task import Task
from masker.core.text import split_words

BEAMS = 10  # drafts of a sentence
_MOST = 10_000  # sentences whose drafts are remembered


class Written(Protocol):
    """A beam of a writer."""

    @property
    def written(self) -> str: ...


class Writer(Protocol):
    """An LM student."""

    def write(
        self, texts: Sequence[str], to: str | None = None, *, beams: int | None = None
    ) -> Sequence[Sequence[Written]]:
        """What it would write for each text, the likeliest first."""
        ...


class Drafts:
    """The drafts of a writer for one task, each sentence written once."""

    def __init__(self, writer: Writer, task: Task, unit: Unit) -> None:
        self.writer, self.task, self.unit = writer, task, unit
        self._known: dict[str, list[list[Edit]]] = {}

    def sentences(self, source: str) -> list[tuple[int, str]]:
        """The sentences of a text, and where they start."""
        parts = passages(self.task, source, self.unit)
        starts = [0, *(p.offset + p.text.words[p.words.start].start for p in parts[1:]), len(source)]
        return [(start, source[start:end].rstrip()) for start, end in pairwise(starts)] if parts else []

    def of(self, sentences: Sequence[str]) -> dict[str, list[list[Edit]]]:
        """Drafts as edits, none that touches what is to stay or inserts what is forbidden."""
        if len(self._known) > _MOST:
            self._known.clear()
        fresh = sorted({sentence for sentence in sentences if sentence not in self._known})
        found = self.writer.write(fresh, self.task.to, beams=BEAMS) if fresh else []
        for sentence, beams in zip(fresh, found, strict=True):
            drafts = (
                rewritten(sentence, beam.written, from_=self.task.from_, to=self.task.to, score=1.0) for beam in beams
            )
            self._known[sentence] = [list(draft.edits) for draft in drafts if draft.edits and self._may_be(draft)]
        return self._known

    def _may_be(self, draft: Rewrite) -> bool:
        kept = self.task.kept_in(draft.source)
        if any(edit.start < end and start < edit.end for edit in draft.edits for start, end in kept):
            return False
        for edit in draft.edits:
            words = tuple(edit.new[a:b].lower() for a, b in split_words(edit.new))
            for term in self.task.forbidden:
                if any(words[k : k + len(term)] == term for k in range(len(words))):
                    return False
        return True


class DraftEditor:
    """The draft of a certain rank, as an editor: all of the ranks together are what a writer has to say."""

    chunk, prefetch = 64, 0

    def __init__(self, drafts: Drafts, rank: int, name: str = "writer") -> None:
        self.drafts, self.rank, self.name = drafts, rank, name

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        parts = [self.drafts.sentences(text) for text in texts]
        known = self.drafts.of([sentence for of_text in parts for _, sentence in of_text])
        rewrites = []
        for text, of_text in zip(texts, parts, strict=True):
            edits = [
                replace(edit, start=edit.start + start, end=edit.end + start)
                for start, sentence in of_text
                for edit in (known[sentence][self.rank] if self.rank < len(known[sentence]) else [])
            ]
            task = self.drafts.task
            rewrites.append(Rewrite(text, apply_edits(text, edits), task.from_, task.to, tuple(edits)))
        return lambda: rewrites


def draft_editors(writer: Writer, task: Task, unit: Unit, name: str = "writer") -> list[DraftEditor]:
    drafts = Drafts(writer, task, unit)
    return [DraftEditor(drafts, rank, name) for rank in range(BEAMS)]
