"""Why an edit was made: every span with its likelihoods and scores, as in the paper's appendix."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from masker.core.account import Account
from masker.core.candidates import realised
from masker.core.edits import Edit, Rewrite, rounded
from masker.core.paper import Exhaustive, best_edits
from masker.core.scoring import SpanScores
from masker.core.spans import Span, protected_words
from masker.core.task import Range, Task
from masker.core.text import Text
from masker.errors import MaskerError


@dataclass(frozen=True)
class SpanRow:
    """One row of the paper's appendix table. `candidate`: the infill is an edit that could be made.

    `source[start:end]` would then become `new`; where it could not, they are the characters of the span, and None.
    """

    i: int
    words: int
    masked: str
    replacement: str
    infill: str
    target_score: float
    source_score: float
    score: float
    L1: float
    L2: float
    L3: float | None
    L4: float | None
    candidate: bool
    start: int = 0
    end: int = 0
    new: str | None = None


@dataclass(frozen=True)
class Explanation:
    """Every span of a text with its likelihoods and scores, in the order of the paper's table.

    `chosen` and `edit` are what the paper's method makes of it. Another `method` has `made` a rewrite of its own, and
    tells how in its `account`. `offsets` are the characters of the words: `source[start:end]` is one.
    """

    source: str
    from_: str | None
    to: str
    words: list[str]
    spans: list[SpanRow]
    chosen: SpanRow | None
    edit: Edit | None
    offsets: list[tuple[int, int]] = field(default_factory=list)
    method: str = "paper"
    made: Rewrite | None = None
    account: Account | None = None

    def to_dict(self) -> dict[str, Any]:
        spans = [rounded({k: v for k, v in asdict(row).items() if k != "infill"}) for row in self.spans]
        chosen = self.spans.index(self.chosen) if self.chosen else None
        record = {**self.rewrite.to_dict(), "method": self.method, "made_by": self.rewrite.method}
        record |= {"chosen": chosen, "offsets": [list(word) for word in self.offsets], "spans": spans}
        return record | (self.account.to_dict() if self.account else {})

    @property
    def rewrite(self) -> Rewrite:
        """What the method made of the text."""
        if self.made is not None:
            return self.made
        text = self.edit.apply(self.source) if self.edit else self.source
        edits = (self.edit,) if self.edit else ()
        return Rewrite(self.source, text, self.from_, self.to, edits, method=self.method)

    def plot(self, path: str | Path) -> None:
        """Write the paper's Figure 1 for this text as a picture."""
        from masker.show.picture import plot

        plot(self, path)

    def html(self) -> str:
        """A page of its own, which needs nothing else: what was rewritten, where the domains disagree, and why."""
        from masker.show.page import page

        return page(self)

    def __rich__(self) -> Any:
        from masker.show.account import explained

        return explained(self)

    def _repr_html_(self) -> str:
        from masker.show.page import fragment

        return fragment(self)


def explain(task: Task, source: str, *, min_score: float = 0.0) -> Explanation:
    """Ask about every span of a text, and tell which of them is edited."""
    text = task.vocabulary.read(source)
    if not text.words:
        raise MaskerError("the text has no words; nothing can be explained")
    keep = task.keep(text)
    (scores,) = Exhaustive(task).begin([text], [keep])()
    rows = _rows(task, scores, keep)
    best = best_edits(task, scores, top=1, min_score=min_score, keep=keep)
    chosen, edit = (rows[best[0][0]], best[0][1]) if best else (None, None)
    words = [text.word(i) for i in range(len(text.words))]
    offsets = [(word.start, word.end) for word in text.words]
    return Explanation(source, task.from_, task.to, words, rows, chosen, edit, offsets)


def _rows(task: Task, scores: SpanScores, keep: Sequence[Range]) -> list[SpanRow]:
    text, vocabulary, fixed = scores.text, task.vocabulary, protected_words(scores.text, keep)
    likelihoods = [None if L is None else np.exp(L) for L in scores.log_L]
    rows = []
    for k, span in enumerate(scores.spans):
        start, stop = text.bounds[span.start], text.bounds[span.stop]
        masks = [vocabulary.mask] * task.frame.n_p
        left = text.words[span.start - 1].pieces if span.start else ()
        edit = realised(task, scores, k, fixed)
        place = (edit.start, edit.end, edit.new) if edit else (*_characters(text, span), None)
        L1, L2, L3, L4 = (None if L is None else float(L[k]) for L in likelihoods)
        rows.append(
            SpanRow(
                i=span.start,
                words=span.stop - span.start,
                masked=" ".join(vocabulary.tokens([*text.pieces[:start], *masks, *text.pieces[stop:]])),
                replacement=" ".join(vocabulary.tokens(scores.infills[k].tolist())),
                infill=vocabulary.infill(left, scores.infills[k].tolist()).strip(),
                target_score=float(scores.target_score[k]),
                source_score=float(scores.source_score[k]),
                score=float(scores.score[k]),
                L1=L1 or 0.0,
                L2=L2 or 0.0,
                L3=L3,
                L4=L4,
                candidate=edit is not None,
                start=place[0],
                end=place[1],
                new=place[2],
            )
        )
    return rows


def _characters(text: Text, span: Span) -> tuple[int, int]:
    """Where the words of a span stand; of an empty one, where the word before it ends."""
    if span.start == span.stop:
        end = text.words[span.start - 1].end if span.start else 0
        return end, end
    return text.words[span.start].start, text.words[span.stop - 1].end
