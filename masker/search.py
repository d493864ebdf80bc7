"""The search editor: the best of many candidates, and no more edits than are needed.

Every span of a text is infilled in several ways (`infilling`). The candidates are ranked by

    style * min(log p, log strength)    p: how sure the style classifier is that the text belongs to the target domain,
  + words * min(log q, log strength)    and q how sure its words alone are (`words.WordStyle`)
  + likelihood * log Lt                 of the infills in the target domain
  + similarity * F1                     of the words that the text shares with its source
  + seam * seam                         how much less likely the words beside an edit have become, in nats

and a text's gain over leaving it alone is the score of its edits. A text that reads as the target domain already is
left alone; a second edit is made only where the best single one does not reach `strength`.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from masker.editing import Edit, Rewrite, Task, written
from masker.errors import MaskerError
from masker.infilling import Infill, Infiller
from masker.padding import Frame
from masker.runtime import Runtime, to_numpy
from masker.scoring import Sheet
from masker.spans import Span, enumerate_spans, protected_words
from masker.surface import Replacement
from masker.text import Text
from masker.vocabulary import Vocabulary
from masker.words import WordStyle

REFILLED = 16  # spans a text that are also filled piece by piece
JUDGED = 32  # candidates a text that the style classifier reads
FINALISTS = 6  # candidates whose seams are looked at
WIDTH = 4  # rewrites that further edits are added to


@dataclass(frozen=True)
class Ranking:
    """What counts for how much; see above. `strength` is how sure is sure enough."""

    strength: float = 0.95
    style: float = 2.0
    words: float = 3.0
    likelihood: float = 0.15
    similarity: float = 3.0
    seam: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.strength < 1:
            raise MaskerError(f"strength is {self.strength}: it is a probability, so between 0 and 1")

    @property
    def enough(self) -> float:
        return math.log(self.strength)

    def total(self, unit: "Unit", parts: "Sequence[Candidate]", text: str, log_p: np.ndarray) -> float:
        """The rank of a unit with some candidates put in, which is `text` then."""
        style = float(np.minimum(log_p, self.enough) @ (self.style, self.words))
        likelihood, seam = sum(part.infill.log_t for part in parts), sum(part.seam for part in parts)
        similarity = _similarity(unit.source, text)
        return style + self.likelihood * likelihood + self.similarity * similarity + self.seam * seam

    def promise(self, unit: "Unit", infill: Infill, gone: int, odds: float) -> float:
        """What an infill will probably be worth: the domains' own odds stand in for the classifiers.

        `gone` is how many words it replaces, and `odds` by how much the source domain prefers them, in nats.
        """
        log_now = float(unit.log_p.mean())
        now = log_now - math.log1p(-min(math.exp(log_now), 1 - 1e-9))  # the text's log-odds
        log_p = -math.log1p(math.exp(-max(-30.0, min(30.0, now + infill.log_t - infill.log_s + odds))))
        count = unit.words.stop - unit.words.start
        similarity = 2 * (count - gone) / (2 * count - gone + len(infill.pieces))
        style = (self.style + self.words) * min(log_p, self.enough)
        return style + self.likelihood * infill.log_t + self.similarity * similarity


@dataclass(frozen=True)
class Style:
    """Asks both style classifiers how much texts read like the target domain: log p(to | from or to)."""

    runtime: Runtime
    vocabulary: Vocabulary
    frame: Frame
    window: int
    to: int
    from_: int  # columns of the two domains
    words: WordStyle
    batch_tokens: int

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """[n, 2] natural logarithms: the encoder's opinion, and that of the words."""
        start, end, pad = self.frame.start, self.frame.end, self.frame.pad
        rows = [[*start, *self.vocabulary.read(text).pieces[: self.window], *end] for text in texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        result, order, at = np.zeros((len(rows), 2)), np.argsort(lengths, kind="stable")[::-1], 0
        while at < len(order):
            chosen = order[at : at + max(1, self.batch_tokens // lengths[order[at]])]
            at += len(chosen)
            ids = np.full((len(chosen), lengths[chosen].max()), pad, dtype=np.int64)
            for line, k in zip(ids, chosen, strict=True):
                line[: lengths[k]] = rows[k]
            attention = (np.arange(ids.shape[1]) < lengths[chosen][:, None]).astype(np.int64)
            log_p = to_numpy(self.runtime.styles(self.runtime.put(ids), self.runtime.put(attention)))  # [B, D]
            result[chosen, 0] = self._between(log_p)
        result[:, 1] = self._between(self.words.log_probs(texts))
        return result

    def _between(self, log_p: np.ndarray) -> np.ndarray:
        return log_p[:, self.to] - np.logaddexp(log_p[:, self.to], log_p[:, self.from_])


@dataclass(frozen=True)
class Candidate:
    """One infill written into its text."""

    span: int
    infill: Infill
    at: Replacement
    old_t: float  # log L2 and log L4
    old_s: float
    seam: float = 0.0


@dataclass(frozen=True)
class Draft:
    """A unit of a text with some candidates put in, what the classifiers say of it, and its rank."""

    parts: tuple[Candidate, ...]
    text: str
    log_p: np.ndarray  # [2]
    total: float

    def reaches(self, enough: float) -> bool:
        return bool(self.log_p.min() >= enough)


@dataclass
class Unit:
    """What is edited at a time: a text, or a stretch of sentences of a long one, with the drafts made of it."""

    number: int  # of its text
    text: Text
    words: Span
    log_p: np.ndarray  # [2]
    candidates: list[Candidate] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)  # the best first
    before: dict[Span, float] = field(default_factory=dict)  # log L4 of the spans, before anything was changed
    passes: int = 1

    @property
    def start(self) -> int:
        return self.text.words[self.words.start].start

    @property
    def end(self) -> int:
        return self.text.words[self.words.stop - 1].end

    @property
    def source(self) -> str:
        return self.text.source[self.start : self.end]

    def put(self, parts: Sequence[Candidate]) -> str:
        """The unit's text with candidates in it."""
        pieces, at = [], self.start
        for part in sorted(parts, key=lambda part: part.at.start):
            pieces += [self.text.source[at : part.at.start], part.at.new]
            at = part.at.end
        return "".join([*pieces, self.text.source[at : self.end]])


def search_texts(
    task: Task, style: Style, sources: Sequence[str], *, ranking: Ranking, max_edits: int, min_score: float,
    top: int = 0, longest: int | None = None,
) -> list[Rewrite]:  # fmt: skip
    """Rewrite several texts. `longest` is how many pieces are edited as one; longer texts go sentence by sentence."""
    units = find(task, style, sources, ranking, longest=longest)
    return choose(task, style, sources, units, ranking, max_edits=max_edits, min_score=min_score, top=top)


def find(
    task: Task, style: Style, sources: Sequence[str], ranking: Ranking, *, longest: int | None = None
) -> list[Unit]:
    """What is to be edited, with its candidates: all that the masked LM is needed for, bar the seams."""
    texts = [task.vocabulary.read(source) for source in sources]
    unsure = np.full(2, -np.inf)
    units = [Unit(k, text, words, unsure) for k, text in enumerate(texts) for words in _units(text, longest)]
    for unit, log_p in zip(units, style([unit.source for unit in units]), strict=True):
        unit.log_p = log_p
    _find_candidates(task, [unit for unit in units if unit.log_p.min() < ranking.enough], ranking)
    return units


def choose(
    task: Task, style: Style, sources: Sequence[str], units: Sequence[Unit], ranking: Ranking, *, max_edits: int,
    min_score: float, top: int = 0,
) -> list[Rewrite]:  # fmt: skip
    """The best rewrites that can be made of candidates."""
    going = [unit for unit in units if unit.log_p.min() < ranking.enough]
    _rank(task, style, going, ranking)
    for _ in range(1, int(max_edits)):
        going = [unit for unit in going if unit.drafts and not unit.drafts[0].reaches(ranking.enough)]
        _add_edits(style, going, ranking)
    by_text: dict[int, list[Unit]] = {}
    for unit in units:
        by_text.setdefault(unit.number, []).append(unit)
    return [_rewrite(task, source, by_text.get(k, []), ranking, min_score, top) for k, source in enumerate(sources)]


def _units(text: Text, longest: int | None) -> Iterator[Span]:
    """The whole text, or as many whole sentences at a time as fit into `longest` pieces."""
    if not text.words:
        return
    if longest is None or len(text.pieces) <= longest:
        yield Span(0, len(text.words))
        return
    ends = [i + 1 for i in range(len(text.words)) if text.word(i)[-1] in ".!?…" and text.word(i) != "..."]
    start = 0
    for end, after in zip([*ends], [*ends[1:], len(text.words)], strict=True):
        if after <= end:
            break
        if text.bounds[after] - text.bounds[start] > longest:
            yield Span(start, end)
            start = end
    yield Span(start, len(text.words))


def _find_candidates(task: Task, units: Sequence[Unit], ranking: Ranking) -> None:
    """The candidates of each unit that promise most, before the classifier has read any of them."""
    texts, keep = [unit.text for unit in units], [task.keep(unit.text) for unit in units]
    spans = [
        [span for span in enumerate_spans(unit.text, task.frame.n_p, kept) if _inside(span, unit.words)]
        for unit, kept in zip(units, keep, strict=True)
    ]
    infiller = Infiller(
        texts, spans, target=task.target, source=task.source, frame=task.frame, window=task.window,
        allowed=task.allowed(), batch_tokens=task.batch_tokens,
    )  # fmt: skip
    for k, (unit, pool) in enumerate(zip(units, infiller.pool(REFILLED), strict=True)):
        old_t, old_s = (x[infiller.ends[k] : infiller.ends[k + 1]] for x in (infiller.old_t, infiller.old_s))
        fixed = protected_words(unit.text, keep[k])
        unique: dict[tuple[int, tuple[int, ...]], Infill] = {}
        for infill in pool:
            key = infill.span, infill.pieces
            if key not in unique or infill.log_t > unique[key].log_t:
                unique[key] = infill
        gone = [span.stop - span.start for span in spans[k]]
        promises = {
            key: ranking.promise(unit, infill, gone[infill.span], float(old_s[infill.span] - old_t[infill.span]))
            for key, infill in unique.items()
        }
        doubled, results = _doubles(unit.source), set()
        for key in sorted(unique, key=promises.__getitem__, reverse=True):
            infill = unique[key]
            if len(unit.candidates) == JUDGED:
                break
            if at := written(task, unit.text, spans[k][infill.span], infill.pieces, fixed):
                made = Candidate(infill.span, infill, at, float(old_t[infill.span]), float(old_s[infill.span]))
                result = unit.put([made])
                if result not in results and _doubles(result) <= doubled:
                    unit.candidates.append(made)
                results.add(result)  # of two ways to the same text the one that promises more
        unit.before = dict(zip(spans[k], old_s.tolist(), strict=True))
        unit.passes += int(infiller.passes[k])


def _inside(span: Span, words: Span) -> bool:
    return words.start <= span.start and span.stop <= words.stop


def _rank(task: Task, style: Style, units: Sequence[Unit], ranking: Ranking) -> None:
    """Drafts of one edit each: read by the classifier, then the finalists looked at closely."""
    alone = [[(candidate,) for candidate in unit.candidates] for unit in units]
    for unit, drafts in zip(units, _drafts(style, units, alone, ranking), strict=True):
        unit.drafts = drafts[:FINALISTS]
    _look_at_seams(task, units, ranking)


def _drafts(
    style: Style, units: Sequence[Unit], parts: Sequence[Sequence[tuple[Candidate, ...]]], ranking: Ranking
) -> list[list[Draft]]:
    """Each unit with sets of candidates put in, the best first."""
    written_ = [[unit.put(p) for p in of_unit] for unit, of_unit in zip(units, parts, strict=True)]
    log_p = iter(style([text for of_unit in written_ for text in of_unit]))
    result = []
    for unit, of_unit, texts in zip(units, parts, written_, strict=True):
        unit.passes += len(texts)
        drafts = [
            Draft(p, text, lp := next(log_p), ranking.total(unit, p, text, lp))
            for p, text in zip(of_unit, texts, strict=True)
        ]
        result.append(sorted(drafts, key=lambda draft: -draft.total))
    return result


def _similarity(a: str, b: str) -> float:
    """F1 of the words that two texts share."""
    one, other = Counter(a.lower().split()), Counter(b.lower().split())
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def _doubles(text: str) -> int:
    """Words that are followed by themselves."""
    words = text.lower().split()
    return sum(a == b and a.isalpha() for a, b in pairwise(words))


def _look_at_seams(task: Task, units: Sequence[Unit], ranking: Ranking) -> None:
    """How much less likely the words on both sides of an edit have become, in nats; the drafts are ranked again."""
    texts, spans, owners = [], [], []
    for unit in units:
        for draft in unit.drafts:
            (part,) = draft.parts
            whole = unit.text.source[: part.at.start] + part.at.new + unit.text.source[part.at.end :]
            text = task.vocabulary.read(whole)
            texts.append(text)
            spans.append(_neighbours(text, part.at.start, part.at.start + len(part.at.new), task.frame.n_p))
            owners.append((unit, draft))
    if not texts:
        return
    sheet = Sheet(texts, spans, target=task.target, source=None, frame=task.frame, window=task.window,
                  allowed=task.allowed(), batch_tokens=task.batch_tokens)  # fmt: skip
    sheet.ask()
    again: dict[int, list[Draft]] = {}
    for k, (unit, draft) in enumerate(owners):
        (part,) = draft.parts
        log_L = sheet.scores(k).log_L2
        shift = len(texts[k].words) - len(unit.text.words)
        seam = 0.0
        for span, now in zip(spans[k], log_L.tolist(), strict=True):
            after = texts[k].words[span.start].start >= part.at.start + len(part.at.new)
            then = Span(span.start - shift * after, span.stop - shift * after)
            seam += min(0.0, now - unit.before.get(then, 0.0))
        made = replace(part, seam=seam)
        unit.passes += len(spans[k])
        unit.candidates[unit.candidates.index(part)] = made
        total = ranking.total(unit, [made], draft.text, draft.log_p)
        again.setdefault(id(unit), []).append(replace(draft, parts=(made,), total=total))
    for unit in units:
        unit.drafts = sorted(again.get(id(unit), []), key=lambda draft: -draft.total)


def _neighbours(text: Text, start: int, end: int, n_p: int) -> list[Span]:
    """The words just before and just after characters `start` to `end`."""
    left = [i for i, word in enumerate(text.words) if word.end <= start][-1:]
    right = [i for i, word in enumerate(text.words) if word.start >= end][:1]
    return [Span(i, i + 1) for i in (*left, *right) if len(text.words[i].pieces) <= n_p]


def _add_edits(style: Style, units: Sequence[Unit], ranking: Ranking) -> None:
    """To the best drafts of each unit one more candidate, wherever it fits."""
    parts = []
    for unit in units:
        most = len(unit.drafts[0].parts)
        longest = [draft for draft in unit.drafts if len(draft.parts) == most][:WIDTH]
        found = {
            tuple(sorted((*draft.parts, other), key=lambda part: part.at.start))
            for draft in longest
            for other in unit.candidates
            if all(_apart(part, other) for part in draft.parts)
        }
        parts.append(sorted(found, key=lambda p: -sum(c.infill.log_t for c in p))[: 2 * JUDGED])
    for unit, drafts in zip(units, _drafts(style, units, parts, ranking), strict=True):
        doubled = _doubles(unit.source)
        fresh = [draft for draft in drafts[:FINALISTS] if _doubles(draft.text) <= doubled]
        unit.drafts = sorted([*unit.drafts, *fresh], key=lambda draft: -draft.total)


def _apart(a: Candidate, b: Candidate) -> bool:
    """Whether at least a character stays between two edits."""
    return a.at.end < b.at.start or b.at.end < a.at.start


def _rewrite(task: Task, source: str, units: Sequence[Unit], ranking: Ranking, min_score: float, top: int) -> Rewrite:
    none = Rewrite(source, source, task.from_, task.to, (), () if top else None)
    if not units:
        return replace(none, reason="no words")
    edits = [edit for unit in units for edit in _edits(unit, next(iter(unit.drafts), None), ranking, min_score)]
    if top:
        options = [
            replace(none, text=_applied(source, e), edits=tuple(e), alternatives=None)
            for unit in units
            for draft in unit.drafts
            if (e := _edits(unit, draft, ranking, min_score))
        ]
        none = replace(none, alternatives=tuple(sorted(options, key=lambda option: -option.score)[:top]))
    if not edits:
        least = min(float(unit.log_p.min()) for unit in units)
        if least >= ranking.enough:
            return replace(none, reason=f"it reads as {task.to} already ({math.exp(least):.2f})")
        return replace(none, reason=f"no edit scores above {min_score:g}")
    return replace(none, text=_applied(source, edits), edits=tuple(edits))


def _applied(source: str, edits: Sequence[Edit]) -> str:
    for edit in reversed(edits):
        source = edit.apply(source)
    return source


def _edits(unit: Unit, draft: Draft | None, ranking: Ranking, min_score: float) -> list[Edit]:
    """A draft as edits. They share its score evenly; the other two scores are those of the paper, for each infill."""
    if draft is None:
        return []
    score = draft.total - ranking.total(unit, (), unit.source, unit.log_p)
    if not score > min_score:
        return []
    edits = []
    for part in draft.parts:
        L1, L2, L3, L4 = (math.exp(x) for x in (part.infill.log_t, part.old_t, part.infill.log_s, part.old_s))
        old = unit.text.source[part.at.start : part.at.end]
        share = score / len(draft.parts)
        edits.append(Edit(part.at.start, part.at.end, old, part.at.new, share, L1 - L2, -max(0.0, L3 - L4) + 0.0))
    return sorted(edits, key=lambda edit: edit.start)
