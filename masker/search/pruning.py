"""The paper's edits without asking about every span: pruning, and int8 with float32 as its referee. Both are scorers.

Score <= TargetScore, so a span is out when its TargetScore is below the `top`-th best Score found so far: pruning gives
the same edits. int8 errs, so that what it finds close to the best is decided in float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from masker.core.candidates import realised
from masker.core.paper import Scorer, best_edits
from masker.core.runtime import Pending
from masker.core.scoring import ScoreTable, SpanScores
from masker.core.spans import enumerate_spans, protected_words
from masker.core.task import Range, Task
from masker.core.text import Text

# so many edits besides the best, if int8 scores them less by no more than this, may be better in float32
DOUBT, MARGIN = 6, 0.06


@dataclass(frozen=True)
class Pruned:
    """The source domain is asked only about spans that can be among the `top` best edits.

    Those with the highest TargetScore are asked about first, few at a time: the best Score is mostly among them. With
    `doubt` those are asked about too that a referee would be asked to look at.
    """

    task: Task
    doubt: bool = False
    complete: bool = False

    def begin(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> Pending[list[SpanScores]]:
        """One question waits for the answer to another, so that nothing is asked yet."""
        return lambda: self.score(texts, keep, top=top, min_score=min_score)

    def score(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> list[SpanScores]:
        spans = [enumerate_spans(text, self.task.frame.n_p, k) for text, k in zip(texts, keep, strict=True)]
        return self.race(self.task.table(texts, spans), keep, top, min_score)

    def race(self, table: ScoreTable, keep: Sequence[Sequence[Range]], top: int, min_score: float) -> list[SpanScores]:
        """The target domain asked about all of a table, the source domain about what can still win."""
        table.ask()
        scores = [table.scores(k) for k in range(len(table.texts))]
        races = []
        if self.task.source:
            races = [_Race(self, s, k, top, min_score) for s, k in zip(scores, keep, strict=True)]
        count = top
        while rows := [row + at for at, race in zip(table.ends, races, strict=False) for row in race.next(count)]:
            table.ask_source(np.array(rows))
            count = 2
        return scores


@dataclass(frozen=True)
class Refereed:
    """A scorer in int8 finds the best edits, and `exact`, the same task in float32, decides between them."""

    scorer: Scorer
    exact: Task
    complete: bool = False

    def begin(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> Pending[list[SpanScores]]:
        scored = self.scorer.begin(texts, keep, top=top, min_score=min_score)
        return lambda: self.decide(scored(), keep, top=top, min_score=min_score)

    def decide(
        self, scored: Sequence[SpanScores], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> list[SpanScores]:
        """Scores in float32 of those edits that may be among the `top` best."""
        spans = []
        for s, k in zip(scored, keep, strict=True):
            best = best_edits(self.exact, s, top=top + DOUBT, min_score=min_score, keep=k)
            bar = best[:top][-1][1].score - MARGIN if best else 0.0
            spans.append([s.spans[row] for row, edit in best if edit.score > bar])
        table = self.exact.table([s.text for s in scored], spans)
        return Pruned(self.exact).race(table, keep, top, min_score)


class _Race:
    """The spans of one text in the order of their TargetScores, and how many of them can still win."""

    def __init__(self, scorer: Pruned, scores: SpanScores, keep: Sequence[Range], top: int, min_score: float) -> None:
        self.task, self.scores, self.top, self.min_score = scorer.task, scores, top, min_score
        self.doubt, self.margin = (DOUBT, MARGIN) if scorer.doubt else (0, 0.0)
        self.fixed = protected_words(scores.text, keep)
        self.target = scores.target_score
        self.order = iter(np.argsort(-self.target, kind="stable").tolist())
        self.found: dict[str, float] = {}  # the best Score of every result so far
        self.asked: dict[int, str] = {}  # spans and their results

    def next(self, count: int) -> list[int]:
        """The next `count` spans that the source domain has to be asked about. The answers to the last are in."""
        if self.asked:
            score = self.scores.score
            for k, result in self.asked.items():
                self.found[result] = max(float(score[k]), self.found.get(result, -np.inf))
        best = sorted(self.found.values(), reverse=True)
        bar = best[self.top - 1] - self.margin if len(best) >= self.top else -np.inf
        if len(best) >= self.top + self.doubt:
            bar = max(bar, best[self.top + self.doubt - 1])
        self.asked = {}
        while len(self.asked) < count:
            row = next(self.order, None)
            if row is None or self.target[row] < bar or not self.target[row] > self.min_score:
                self.order = iter(())
                break
            if r := realised(self.task, self.scores, row, self.fixed):
                source = self.scores.text.source
                self.asked[row] = source[: r.start] + r.new + source[r.end :]
        return list(self.asked)
