"""The paper's method: the span where the domains disagree most is deleted and infilled.

    edit = argmax over i, j of Score(i, j), if that is above 0

With `max_edits` above 1 it is applied again to its own result, but never to words that it inserted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from masker.core.candidates import realised
from masker.core.edits import Edit, Rewrite, compose, inserted
from masker.core.runtime import Pending
from masker.core.scoring import SpanScores
from masker.core.spans import enumerate_spans, protected_words
from masker.core.task import Range, Task
from masker.core.text import Text
from masker.errors import check_number, check_whole


@dataclass(frozen=True)
class PaperSettings:
    """Up to `max_edits` edits are made that score above `min_score`; `top` also lists that many best rewrites."""

    max_edits: int = 1
    min_score: float = 0.0
    top: int = 0

    def __post_init__(self) -> None:
        check_whole(1, max_edits=self.max_edits)
        check_whole(0, top=self.top)
        check_number(min_score=self.min_score)


class Scorer(Protocol):
    """Who scores the spans of texts: all of them, or at least those that can be among the `top` best edits.

    `complete` is whether spans that cannot win have scores too.
    """

    @property
    def complete(self) -> bool: ...

    def begin(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> Pending[list[SpanScores]]: ...


@dataclass(frozen=True)
class Exhaustive:
    """Both domains are asked about every span, as in the paper."""

    task: Task
    complete: bool = True

    def begin(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int = 1, min_score: float = 0.0
    ) -> Pending[list[SpanScores]]:
        spans = [enumerate_spans(text, self.task.frame.n_p, k) for text, k in zip(texts, keep, strict=True)]
        table = self.task.table(texts, spans)
        noted = table.begin(both=True)

        def scores() -> list[SpanScores]:
            noted()
            return [table.scores(k) for k in range(len(texts))]

        return scores


class PaperEditor:
    """The paper's method for one task. `scorer` may leave out what cannot win: see `search.pruning`."""

    name = "paper"

    def __init__(
        self,
        task: Task,
        settings: PaperSettings | None = None,
        scorer: Scorer | None = None,
        *,
        chunk: int = 32,
        prefetch: int = 0,
    ) -> None:
        self.task, self.settings = task, settings or PaperSettings()
        self.scorer = scorer or Exhaustive(task)
        self.chunk, self.prefetch = chunk, prefetch

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        """The first edit of every text is asked for; what is returned waits for it and makes the others."""
        task, top = self.task, self.settings.top
        none = () if top else None
        rewrites = [Rewrite(s, s, task.from_, task.to, (), none, None if s.strip() else "no words") for s in texts]
        first = _Turn(self, rewrites, [k for k, source in enumerate(texts) if source.strip()], max(1, top))

        def finish() -> list[Rewrite]:
            changed = first.finish(first=True)
            for _ in range(1, self.settings.max_edits):
                if not changed:
                    break
                changed = _Turn(self, rewrites, changed, 1).finish()
            return rewrites

        return finish


class _Turn:
    """One edit for each of some texts: asked for when it is made, and put into `rewrites` by `finish`."""

    def __init__(self, editor: PaperEditor, rewrites: list[Rewrite], going: Sequence[int], count: int) -> None:
        self.editor, self.rewrites, self.going, self.count = editor, rewrites, going, count
        task = editor.task
        read = [task.vocabulary.read(rewrites[k].text) for k in going]
        self.keep = [task.keep(text) + inserted(rewrites[k].edits) for k, text in zip(going, read, strict=True)]
        self.scored = editor.scorer.begin(read, self.keep, top=count, min_score=editor.settings.min_score)

    def finish(self, *, first: bool = False) -> list[int]:
        """Wait for the scores and make the edits; gives the texts that have changed."""
        task, settings, changed = self.editor.task, self.editor.settings, []
        for k, scores, keep in zip(self.going, self.scored(), self.keep, strict=True):
            best = best_edits(task, scores, top=self.count, min_score=settings.min_score, keep=keep)
            edits, before = [edit for _, edit in best], self.rewrites[k]
            composed = compose(before, edits[0]) if edits else ()
            if composed and all(e.new != e.old for e in composed):  # or else it would undo an edit
                self.rewrites[k] = replace(before, text=edits[0].apply(before.text), edits=composed)
                changed.append(k)
            elif first:
                self.rewrites[k] = replace(before, reason=self._why_not(scores, keep))
            if settings.top and first:
                others = tuple(replace(before, text=e.apply(before.text), edits=(e,), alternatives=None) for e in edits)
                self.rewrites[k] = replace(self.rewrites[k], alternatives=others)
        return changed

    def _why_not(self, scores: SpanScores, keep: Sequence[Range]) -> str:
        least = self.editor.settings.min_score
        if not self.editor.scorer.complete and least > 0:  # not all edits below it are known
            return f"no edit scores above {least:g}"
        best = best_edits(self.editor.task, scores, top=1, min_score=-np.inf, keep=keep)
        if not best:
            return "no span has an infill other than the words that stand there"
        return f"the best edit scores {best[0][1].score:.4f}, not above {least:g}"


def best_edits(
    task: Task, scores: SpanScores, *, top: int, min_score: float, keep: Sequence[Range]
) -> list[tuple[int, Edit]]:
    """The `top` best edits of a text and their spans, best first: argmax over i, j of Score(i, j) where `top` is 1."""
    text, fixed = scores.text, protected_words(scores.text, keep)
    target, source = scores.target_score, scores.source_score
    total = target + source
    edits: dict[str, tuple[int, Edit]] = {}  # by their result: of two ways to the same text the better one counts
    for k in np.argsort(-total, kind="stable").tolist():
        if len(edits) == top or not total[k] > min_score:
            break
        if r := realised(task, scores, k, fixed):
            old = text.source[r.start : r.end]
            edit = Edit(r.start, r.end, old, r.new, float(total[k]), float(target[k]), float(source[k]))
            edits.setdefault(edit.apply(text.source), (k, edit))
    return list(edits.values())
