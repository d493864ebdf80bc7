"""A tagger as a method of editing: its tags become edits of the text as it is written, with spaces and capitals."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from masker.core.account import Account, TagRound, TagRow
from masker.core.candidates import placed
from masker.core.edits import Edit, Rewrite, apply_edits, compose, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span, may_be_edited
from masker.core.task import Task
from masker.errors import MaskerError, check_number
from masker.students.lasertagger.tagging import Tagging
from masker.students.lasertagger.tags import KEEP, Op, Tag


class Tagged(NamedTuple):
    """A passage of a text with its tags, one more than it has words, and how likely each is."""

    number: int  # of the text
    passage: Passage
    tags: list[Tag]
    likely: list[float]


class FastEditor:
    """The student of a model for one task. Edits of a probability up to `min_score` are not made; `unit` is what is
    tagged as one; `keep` comes to the student's own bias to keep words: below 0 more is edited.
    """

    name = "fast"
    prefetch = 0

    def __init__(
        self, task: Task, student: Tagging, *, min_score: float = 0.0, unit: Unit = Unit(), keep: float = 0.0
    ) -> None:
        check_number(min_score=min_score)
        if not 0 <= min_score < 1:
            raise MaskerError(f"`min_score` is {min_score:g}; a student's are probabilities: from 0 up to 1")
        self.task, self.student, self.min_score, self.unit, self.keep = task, student, min_score, unit, keep
        self.chunk = student.chunk
        self._domain = student.domain(task.to)

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: self.edit(texts)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        none = Rewrite("", "", self.task.from_, self.task.to)
        rewrites = [none.revised(source=text, text=text) for text in texts]
        for _ in self._rounds(rewrites):
            pass
        return [self._explained(rewrite) for rewrite in rewrites]

    def account(self, source: str) -> tuple[Rewrite, Account]:
        """The rewrite of a text, and the tags that led to it."""
        rewrites = [Rewrite(source, source, self.task.from_, self.task.to)]
        rounds = [TagRound(rewrites[0].text, tuple(_rows(tagged))) for tagged in self._rounds(rewrites)]
        return self._explained(rewrites[0]), Account(rounds=tuple(rounds))

    def _rounds(self, rewrites: list[Rewrite]) -> Iterator[list["Tagged"]]:
        """Edit texts in place, round after round, as far as there is something to edit; gives the tags of each."""
        going = list(range(len(rewrites)))
        for _ in range(self.student.rounds):
            if not going:
                return
            tagged = self._tagged([rewrites[k].text for k in going])
            yield tagged
            found = self._edits(len(going), tagged)
            for k, edits in zip(going, found, strict=True):
                known = rewrites[k]
                if edits and not known.edits:
                    rewrites[k] = known.revised(edits=tuple(edits), text=apply_edits(known.text, edits))
                    continue
                for edit in reversed(edits):  # from the right, so that the places of the others stay
                    known = known.revised(edits=compose(known, edit), text=edit.apply(known.text))
                rewrites[k] = known
            going = [k for k, edits in zip(going, found, strict=True) if edits]

    def _tagged(self, sources: Sequence[str]) -> list["Tagged"]:
        """What the student says of the words of texts."""
        parts = [(k, p) for k, source in enumerate(sources) for p in passages(self.task, source, self.unit)]
        words = [[word.pieces for word in p.text.words[p.words.start : p.words.stop]] for _, p in parts]
        found = self.student.tag(words, self._domain, self.keep)
        return [
            Tagged(k, passage, [*map(self.student.tags.tags.__getitem__, numbers)], likely)
            for (k, passage), (numbers, likely) in zip(parts, found, strict=True)
        ]

    def _edits(self, count: int, tagged: Sequence["Tagged"]) -> list[list[Edit]]:
        """What is to be changed in so many texts, in order."""
        edits: list[list[Edit]] = [[] for _ in range(count)]
        for k, passage, tags, likely in tagged:
            for span, infill, sure in _changes(tags, likely):
                if sure > self.min_score and (edit := self._edit(passage, span, infill, sure)):
                    edits[k].append(edit)
        return [disjoint(of_text) for of_text in edits]

    def _edit(self, p: Passage, span: Span, infill: str, sure: float) -> Edit | None:
        """A change as an edit, if it may be made and is one."""
        change = self.task.forbidden, span, infill
        if change not in p.written:
            moved = Span(span.start + p.words.start, span.stop + p.words.start)
            may_be = may_be_edited(p.text, moved, p.keep, p.fixed)
            p.written[change] = placed(self.task, p.text, moved, infill, p.fixed) if may_be else None
        r = p.written[change]
        return r and Edit(r.start + p.offset, r.end + p.offset, p.text.source[r.start : r.end], r.new, sure)

    def _explained(self, rewrite: Rewrite) -> Rewrite:
        if rewrite.text != rewrite.source:
            return rewrite
        words = any(map(str.isalnum, rewrite.source))
        return rewrite.revised(edits=(), reason="the student would keep it as it is" if words else "no words")


def _rows(tagged: Sequence[Tagged]) -> Iterator[TagRow]:
    """The tags of a text word by word; at the end of a passage only where something is added."""
    for _, p, tags, likely in tagged:
        words = p.text.words[p.words.start : p.words.stop]
        for word, tag, sure in zip(words, tags, likely, strict=False):
            start, end = word.start + p.offset, word.end + p.offset
            written = p.text.source[word.start : word.end]
            yield TagRow(start, end, written, tag.op.name.lower(), tag.phrase.strip(), sure)
        if tags[-1].phrase and words:
            end = words[-1].end + p.offset
            yield TagRow(end, end, "", tags[-1].op.name.lower(), tags[-1].phrase.strip(), likely[-1])


def _changes(tags: Sequence[Tag], likely: Sequence[float]) -> Iterator[tuple[Span, str, float]]:
    """Words and what comes in their place, and how likely the least likely of the tags is that say so.

    Words that go one after the other are one change, with what is added among them and behind them.
    """
    k, end = 0, len(tags) - 1  # the tags before k have been seen
    for start, tag in enumerate(tags):
        if tag is KEEP or start < k:
            continue
        k, phrases, sure = start, list[str](), 1.0
        while k < end and tags[k].op == Op.DELETE:
            phrases.append(tags[k].phrase)
            sure, k = min(sure, likely[k]), k + 1
        if tags[k].phrase and tags[k].op != Op.DELETE:
            phrases.append(tags[k].phrase)
            sure = min(sure, likely[k])
        if k > start or phrases:
            yield Span(start, k), "".join(phrases), sure
        k += 1
