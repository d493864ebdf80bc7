"""A tagger as a method of editing: its tags become edits of the text as it is written, with spaces and capitals."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from masker.core.candidates import placed
from masker.core.edits import Edit, Rewrite, compose, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span, may_be_edited, protected_words
from masker.core.task import Task
from masker.errors import MaskerError
from masker.students.lasertagger.tagging import Tagging
from masker.students.lasertagger.tags import Op, Tag


class FastEditor:
    """The student of a model for one task. Edits of a probability up to `min_score` are not made; `unit` is what is
    tagged as one.
    """

    name = "fast"
    prefetch = 0

    def __init__(self, task: Task, student: Tagging, *, min_score: float = 0.0, unit: Unit = Unit()) -> None:
        if not 0 <= min_score < 1:
            raise MaskerError(f"`min_score` is {min_score:g}; a student's are probabilities: from 0 up to 1")
        self.task, self.student, self.min_score, self.unit = task, student, min_score, unit
        self.chunk = student.chunk
        self._domain = student.domain(task.to)

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: self.edit(texts)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        task = self.task
        rewrites = [Rewrite(text, text, task.from_, task.to) for text in texts]
        going = list(range(len(rewrites)))
        for _ in range(self.student.rounds):
            found = self._edits([rewrites[k].text for k in going])
            for k, edits in zip(going, found, strict=True):
                for edit in reversed(edits):  # from the right, so that the places of the others stay
                    rewrites[k] = replace(
                        rewrites[k], edits=compose(rewrites[k], edit), text=edit.apply(rewrites[k].text)
                    )
            going = [k for k, edits in zip(going, found, strict=True) if edits]
        return [self._explained(rewrite) for rewrite in rewrites]

    def _edits(self, sources: Sequence[str]) -> list[list[Edit]]:
        """What is to be changed in texts, in order."""
        parts = [(k, p) for k, source in enumerate(sources) for p in passages(self.task, source, self.unit)]
        words = [[word.pieces for word in p.text.words[p.words.start : p.words.stop]] for _, p in parts]
        edits: list[list[Edit]] = [[] for _ in sources]
        for (k, passage), (numbers, likely) in zip(parts, self.student.tag(words, self._domain), strict=True):
            tags = [self.student.tags.tags[number] for number in numbers]
            for span, infill, sure in _changes(tags, likely):
                if sure > self.min_score and (edit := self._edit(passage, span, infill, sure)):
                    edits[k].append(edit)
        return [disjoint(of_text) for of_text in edits]

    def _edit(self, p: Passage, span: Span, infill: str, sure: float) -> Edit | None:
        """A change as an edit, if it may be made and is one."""
        moved = Span(span.start + p.words.start, span.stop + p.words.start)
        if not may_be_edited(p.text, moved, p.keep):
            return None
        r = placed(self.task, p.text, moved, infill, protected_words(p.text, p.keep))
        if r is None:
            return None
        return Edit(r.start + p.offset, r.end + p.offset, p.text.source[r.start : r.end], r.new, sure)

    def _explained(self, rewrite: Rewrite) -> Rewrite:
        if rewrite.text != rewrite.source:
            return rewrite
        words = any(map(str.isalnum, rewrite.source))
        return replace(rewrite, edits=(), reason="the student would keep it as it is" if words else "no words")


def _changes(tags: Sequence[Tag], likely: Sequence[float]) -> Iterator[tuple[Span, str, float]]:
    """Words and what comes in their place, and how likely the least likely of the tags is that say so.

    Words that go one after the other are one change, with what is added among them and behind them.
    """
    k, end = 0, len(tags) - 1
    while k <= end:
        start, phrases, sure = k, list[str](), 1.0
        while k < end and tags[k].op == Op.DELETE:
            phrases.append(tags[k].phrase)
            sure, k = min(sure, likely[k]), k + 1
        if tags[k].phrase and tags[k].op != Op.DELETE:
            phrases.append(tags[k].phrase)
            sure = min(sure, likely[k])
        if k > start or phrases:
            yield Span(start, k), "".join(phrases), sure
        k += 1
