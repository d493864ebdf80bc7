"""The paper's method: the span where the domains disagree most is deleted and infilled. Edit, Rewrite, edit_texts."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from masker.core.padding import Frame
from masker.core.scoring import DomainScorer, ScoreTable, SpanScores
from masker.core.spans import Span, enumerate_spans, protected_words
from masker.core.surface import Replacement, infill_words, replacement
from masker.core.text import Text, is_punctuation, split_words
from masker.core.vocabulary import Vocabulary

T = TypeVar("T")

# int8 errs: so many edits besides the best, if they score less by no more than this, may be better in float32
_DOUBT, _MARGIN = 6, 0.06


@dataclass(frozen=True)
class Edit:
    """`source[start:end]`, which is `old`, becomes `new`; and the scores that made it so."""

    start: int
    end: int
    old: str
    new: str
    score: float
    target_score: float
    source_score: float

    def apply(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]


@dataclass(frozen=True)
class Rewrite:
    """A rewritten text: applying `edits` to `source` gives `text`. `reason` says why where nothing was changed."""

    source: str
    text: str
    from_: str | None
    to: str
    edits: tuple[Edit, ...] = ()
    alternatives: tuple["Rewrite", ...] | None = None
    reason: str | None = None

    @property
    def score(self) -> float:
        return sum((edit.score for edit in self.edits), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """As in JSONL."""
        record: dict[str, Any] = {"source": self.source, "text": self.text, "from": self.from_, "to": self.to}
        record["edits"] = [_rounded(asdict(edit)) for edit in self.edits]
        if self.alternatives is not None:
            record["alternatives"] = [
                {"text": a.text, "score": round(a.score, 6), "edits": [_rounded(asdict(e)) for e in a.edits]}
                for a in self.alternatives
            ]
        if self.reason is not None:
            record["reason"] = self.reason
        return record

    def __str__(self) -> str:
        from masker.show import diff_text

        return diff_text(self)

    def __rich__(self) -> Any:
        from masker.show import diff_rich

        return diff_rich(self)

    def _repr_html_(self) -> str:
        from masker.show import diff_html

        return diff_html(self)


def _rounded(record: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in record.items()}


@dataclass(frozen=True)
class Task:
    """From which domain to which, with what model, and what may not be touched or inserted."""

    vocabulary: Vocabulary
    frame: Frame
    window: int
    to: str
    from_: str | None
    target: DomainScorer
    source: DomainScorer | None  # None: a single domain, or the ablation without SourceScore
    protect: re.Pattern[str] | None = None
    forbid: Collection[str] = field(default_factory=frozenset)
    batch_tokens: int = 8192
    prune: bool = False  # ask the source domain only about spans that can still win
    exact: "Task | None" = None  # the same in float32, to decide between the best, where this one is in int8

    def keep(self, text: Text) -> list[tuple[int, int]]:
        """Character ranges that no edit may touch."""
        return [m.span() for m in self.protect.finditer(text.source) if m.group()] if self.protect else []

    def allowed(self) -> np.ndarray:
        """[V] which pieces may be infilled: the forbidden words of one piece are left out beforehand."""
        allowed = self.vocabulary.infillable.copy()
        for word in self.forbid:
            for spaced in (True, False):
                pieces = [p for w in self.vocabulary.chunk(word, spaced=spaced) for p in w[2]]
                if len(pieces) == 1:
                    allowed[pieces] = False
        return allowed

    def score(self, texts: Sequence[Text], keep: Sequence[Sequence[tuple[int, int]]]) -> list[SpanScores]:
        """All spans of the texts, asked of both domains."""
        return self.begin(texts, keep)()

    def begin(self, texts: Sequence[Text], keep: Sequence[Sequence[tuple[int, int]]]) -> Callable[[], list[SpanScores]]:
        """As `score`; what is returned waits for the answers."""
        sheet = self._sheet(texts, keep)
        note = sheet.begin(both=True)

        def scores() -> list[SpanScores]:
            note()
            return [sheet.scores(k) for k in range(len(texts))]

        return scores

    def ranked(
        self, texts: Sequence[Text], keep: Sequence[Sequence[tuple[int, int]]], *, top: int, min_score: float
    ) -> list[SpanScores]:
        """As `score`, but the source domain is asked only about spans that can be among the `top` best edits.

        Score <= TargetScore, so a span is out when its TargetScore is below the `top`-th best Score found so far. Those
        with the highest TargetScore are asked first, few at a time: the best Score is mostly among them. Where `exact`
        decides in the end, those are also asked about that it would be asked to look at: see `decided`.
        """
        return self._asked(self._sheet(texts, keep), keep, top, min_score)

    def _asked(
        self, sheet: ScoreTable, keep: Sequence[Sequence[tuple[int, int]]], top: int, min_score: float
    ) -> list[SpanScores]:
        """The target domain asked about all of a sheet, the source domain about what can still win."""
        sheet.ask()
        scores = [sheet.scores(k) for k in range(len(sheet.texts))]
        races = [_Race(self, s, k, top, min_score) for s, k in zip(scores, keep, strict=True)] if self.source else []
        count = top
        while rows := [row + at for at, race in zip(sheet.ends, races, strict=False) for row in race.next(count)]:
            sheet.ask_source(np.array(rows))
            count = 2
        return scores

    def decided(
        self, scored: Sequence[SpanScores], keep: Sequence[Sequence[tuple[int, int]]], *, top: int, min_score: float
    ) -> list[SpanScores]:
        """As `ranked`, asked only about those edits that may be among the `top` best, by the scores of another task."""
        spans = []
        for s, k in zip(scored, keep, strict=True):
            best = best_edits(self, s, top=top + _DOUBT, min_score=min_score, keep=k)
            bar = best[:top][-1][1].score - _MARGIN if best else 0.0
            spans.append([s.spans[row] for row, edit in best if edit.score > bar])
        return self._asked(self._sheet([s.text for s in scored], keep, spans), keep, top, min_score)

    def _sheet(
        self, texts: Sequence[Text], keep: Sequence[Sequence[tuple[int, int]]], spans: list[list[Span]] | None = None
    ) -> ScoreTable:
        spans = spans or [enumerate_spans(text, self.frame.n_p, k) for text, k in zip(texts, keep, strict=True)]
        return ScoreTable(
            texts, spans, target=self.target, source=self.source, frame=self.frame, window=self.window,
            allowed=self.allowed(), batch_tokens=self.batch_tokens,
        )  # fmt: skip


class _Race:
    """The spans of one text in the order of their TargetScores, and how many of them can still win."""

    def __init__(
        self, task: Task, scores: SpanScores, keep: Sequence[tuple[int, int]], top: int, min_score: float
    ) -> None:
        self.task, self.scores, self.top, self.min_score = task, scores, top, min_score
        self.doubt, self.margin = (_DOUBT, _MARGIN) if task.exact else (0, 0.0)
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


def realised(task: Task, scores: SpanScores, k: int, fixed: Sequence[bool]) -> Replacement | None:
    """The infill of span k written into the text, or None if it is no candidate."""
    pieces = [piece for piece in scores.infills[k].tolist() if piece != task.frame.pad]
    return written(task, scores.text, scores.spans[k], pieces, fixed)


def written(task: Task, text: Text, span: Span, pieces: Sequence[int], fixed: Sequence[bool]) -> Replacement | None:
    """Pieces written into a text in the place of a span, or None if that is no candidate.

    It is none if it is what stands there already, if it begins with a continuation piece, if it holds half a character
    or a forbidden word, or if no word would be left.
    """
    vocabulary = task.vocabulary
    if list(pieces) == text.pieces[text.bounds[span.start] : text.bounds[span.stop]]:
        return None
    if pieces and vocabulary.continuation[pieces[0]] and not (vocabulary.spaced and _opens(text, span.start)):
        return None
    left = text.words[span.start - 1].pieces if span.start else ()  # context enough to decode an infill in
    infill = vocabulary.infill(left, pieces)
    words = infill_words(infill)
    if "\ufffd" in infill or not all(map(str.isprintable, words)):
        return None
    r = replacement(text, span, infill, fixed=fixed)
    new = text.source[: r.start] + r.new + text.source[r.end :]
    if new == text.source or not any(map(str.isalnum, new)):
        return None
    if task.forbid:
        added = _count_words(new) - _count_words(text.source)  # `do n't` may have become `don't`
        if {word.lower() for word in [*words, *added]} & {word.lower() for word in task.forbid}:
            return None
    return r


def _count_words(text: str) -> Counter[str]:
    return Counter(text[a:b].lower() for a, b in split_words(text))


def _opens(text: Text, i: int) -> bool:
    """Whether word i begins the text or follows a mark directly: there a piece without a space begins a word."""
    if i == 0:
        return True
    directly = i < len(text.words) and text.words[i].start == text.words[i - 1].end
    return directly and all(map(is_punctuation, text.word(i - 1)))


def candidates(task: Task, scores: SpanScores, keep: Sequence[tuple[int, int]] = ()) -> np.ndarray:
    """[S] bool: spans whose infill is an edit that could be made."""
    fixed = protected_words(scores.text, keep)
    return np.array([realised(task, scores, k, fixed) is not None for k in range(len(scores.spans))], dtype=bool)


def best_edits(
    task: Task, scores: SpanScores, *, top: int, min_score: float, keep: Sequence[tuple[int, int]]
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


def edit_texts(
    task: Task, sources: Sequence[str], *, max_edits: int = 1, min_score: float = 0.0, top: int = 0
) -> list[Rewrite]:
    """Rewrite several texts. With `max_edits` above 1 the method is applied again, but never to words it inserted."""
    return finished(begin_edits(task, sources, max_edits=max_edits, min_score=min_score, top=top))


def begin_edits(
    task: Task, sources: Sequence[str], *, max_edits: int = 1, min_score: float = 0.0, top: int = 0
) -> Generator[None, None, list[Rewrite]]:
    """As `edit_texts`, but pauses after a device has been asked about all spans: meanwhile, others can be begun."""
    none = () if top else None
    rewrites = [Rewrite(s, s, task.from_, task.to, (), none, None if s.strip() else "no words") for s in sources]
    going = [k for k, source in enumerate(sources) if source.strip()]
    for turn in range(max_edits):
        texts = [task.vocabulary.read(rewrites[k].text) for k in going]
        keep = [task.keep(t) + _inserted(rewrites[k].edits) for k, t in zip(going, texts, strict=True)]
        changed = []
        count = max(1, top) if turn == 0 else 1
        ranked = partial(task.ranked, texts, keep, top=count, min_score=min_score)
        answers = ranked if task.prune else task.begin(texts, keep)
        yield
        scored = answers()
        if task.exact:
            scored = task.exact.decided(scored, keep, top=count, min_score=min_score)
        for k, scores, kept in zip(going, scored, keep, strict=True):
            edits = [e for _, e in best_edits(task, scores, top=count, min_score=min_score, keep=kept)]
            before = rewrites[k]
            composed = _compose(before, edits[0]) if edits else ()
            if composed and all(e.new != e.old for e in composed):  # or else it would undo an edit
                text = edits[0].apply(before.text)
                rewrites[k] = Rewrite(before.source, text, before.from_, before.to, composed, before.alternatives)
                changed.append(k)
            elif turn == 0:
                rewrites[k] = replace(before, reason=_why_not(task, scores, min_score, kept))
            if top and turn == 0:
                others = tuple(replace(before, text=e.apply(before.text), edits=(e,), alternatives=None) for e in edits)
                rewrites[k] = replace(rewrites[k], alternatives=others)
        going = changed
    return rewrites


def finished(job: Generator[None, None, T]) -> T:
    """The result of something that pauses."""
    while True:
        try:
            next(job)
        except StopIteration as end:
            result: T = end.value
            return result


def _why_not(task: Task, scores: SpanScores, min_score: float, keep: Sequence[tuple[int, int]]) -> str:
    if (task.prune or task.exact) and min_score > 0:  # not all edits below it are known
        return f"no edit scores above {min_score:g}"
    best = best_edits(task, scores, top=1, min_score=-np.inf, keep=keep)
    if not best:
        return "no span has an infill other than the words that stand there"
    return f"the best edit scores {best[0][1].score:.4f}, not above {min_score:g}"


def _inserted(edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Where the new words of edits lie in the edited text."""
    ranges, shift = [], 0
    for edit in edits:
        ranges.append((edit.start + shift, edit.start + shift + len(edit.new)))
        shift += len(edit.new) - (edit.end - edit.start)
    return ranges


def _compose(before: Rewrite, edit: Edit) -> tuple[Edit, ...]:
    """The edits of a rewrite and one more, made in its text, as edits of the source. Those that touch become one."""
    if not before.edits:
        return (edit,)
    placed = list(zip(before.edits, _inserted(before.edits), strict=True))
    touching = [(known, a, b) for known, (a, b) in placed if a <= edit.end and edit.start <= b]
    start = min([edit.start, *(a for _, a, _ in touching)])
    end = max([edit.end, *(b for _, _, b in touching)])
    new = before.text[start : edit.start] + edit.new + before.text[edit.end : end]
    # the text is longer than the source by what the edits before `start`, and then those before `end`, have grown it
    back = sum(len(known.new) - len(known.old) for known, (_, b) in placed if b < start)
    start, end = start - back, end - back - sum(len(known.new) - len(known.old) for known, _, _ in touching)
    merged = [edit, *(known for known, _, _ in touching)]
    sums = (sum(getattr(e, name) for e in merged) for name in ("score", "target_score", "source_score"))
    apart = [known for known, (a, b) in placed if b < edit.start or edit.end < a]
    union = Edit(start, end, before.source[start:end], new, *sums)
    return tuple(sorted([*apart, union], key=lambda e: (e.start, e.end)))
