"""The search editor: the best of many candidates, and no more edits than are needed.

Every span of a text is infilled in several ways (`infilling`), the candidates that promise most are read by the style
classifiers, the best of them looked at closely, and ranked (`ranking`). A text's gain over leaving it alone is the
score of its edits. A text that reads as the target domain already is left alone; a second edit is made only where the
best single one does not reach `strength`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from masker.editing import Edit, Rewrite, Task, written
from masker.infilling import Infill, Infiller
from masker.ranking import Candidate, Draft, Ranking, Style, Unit, doubles
from masker.scoring import Sheet
from masker.spans import Span, enumerate_spans, protected_words
from masker.text import Text

REFILLED = 16  # spans a text that are also filled piece by piece
JUDGED = 48  # candidates a text that the style classifier reads
FINALISTS = 6  # candidates whose seams are looked at
WIDTH = 4  # rewrites that further edits are added to


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
        _add_edits(task, style, going, ranking)
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
    for end, after in zip(ends, [*ends[1:], len(text.words)], strict=True):
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
        [span for span in enumerate_spans(unit.text, task.frame.n_p, kept) if unit.has(span)]
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
        doubled, results = doubles(unit.source), set()
        for key in sorted(unique, key=promises.__getitem__, reverse=True):
            infill = unique[key]
            if len(unit.candidates) == JUDGED:
                break
            if at := written(task, unit.text, spans[k][infill.span], infill.pieces, fixed):
                made = Candidate(infill.span, infill, at, float(old_t[infill.span]), float(old_s[infill.span]))
                result = unit.put([made])
                if result not in results and doubles(result) <= doubled:
                    unit.candidates.append(made)
                results.add(result)  # of two ways to the same text the one that promises more
        unit.before = dict(zip(spans[k], old_s.tolist(), strict=True))
        unit.passes += int(infiller.passes[k])


def _rank(task: Task, style: Style, units: Sequence[Unit], ranking: Ranking) -> None:
    """Drafts of one edit each: read by the classifiers, then the finalists looked at closely."""
    alone = [[(candidate,) for candidate in unit.candidates] for unit in units]
    _look_at_seams(task, units, _drafts(style, units, alone, ranking), ranking)


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


def _look_at_seams(task: Task, units: Sequence[Unit], drafts: Sequence[Sequence[Draft]], ranking: Ranking) -> None:
    """How much less likely the words on both sides of an edit have become; the finalists are ranked by that too."""
    texts, spans, owners = [], [], []
    for unit, of_unit in zip(units, drafts, strict=True):
        for part in {part: None for draft in of_unit[:FINALISTS] for part in draft.parts if part.seam is None}:
            whole = unit.text.source[: part.at.start] + part.at.new + unit.text.source[part.at.end :]
            texts.append(task.vocabulary.read(whole))
            spans.append(_neighbours(texts[-1], part.at.start, part.at.start + len(part.at.new), task.frame.n_p))
            owners.append((unit, part))
    sheet = Sheet(texts, spans, target=task.target, source=None, frame=task.frame, window=task.window,
                  allowed=task.allowed(), batch_tokens=task.batch_tokens)  # fmt: skip
    sheet.ask()
    looked_at: dict[int, dict[Candidate, Candidate]] = {id(unit): {} for unit in units}
    for k, (unit, part) in enumerate(owners):
        added = len(texts[k].words) - len(unit.text.words)
        seam = 0.0
        for span, now in zip(spans[k], sheet.scores(k).log_L2.tolist(), strict=True):
            shift = added if texts[k].words[span.start].start >= part.at.start + len(part.at.new) else 0
            seam += min(0.0, now - unit.before.get(Span(span.start - shift, span.stop - shift), 0.0))
        looked_at[id(unit)][part] = replace(part, seam=seam)
        unit.passes += len(spans[k])
    for unit, of_unit in zip(units, drafts, strict=True):
        known = looked_at[id(unit)]
        unit.candidates = [known.get(candidate, candidate) for candidate in unit.candidates]
        for draft in of_unit[:FINALISTS]:
            parts = tuple(known.get(part, part) for part in draft.parts)
            total = ranking.total(unit, parts, draft.text, draft.log_p)
            unit.drafts.append(replace(draft, parts=parts, total=total))
        unit.drafts.sort(key=lambda draft: -draft.total)


def _neighbours(text: Text, start: int, end: int, n_p: int) -> list[Span]:
    """The words just before and just after characters `start` to `end`."""
    left = [i for i, word in enumerate(text.words) if word.end <= start][-1:]
    right = [i for i, word in enumerate(text.words) if word.start >= end][:1]
    return [Span(i, i + 1) for i in (*left, *right) if len(text.words[i].pieces) <= n_p]


def _add_edits(task: Task, style: Style, units: Sequence[Unit], ranking: Ranking) -> None:
    """To the best drafts of each unit one more candidate, wherever it fits."""
    parts = []
    for unit in units:
        most = len(unit.drafts[0].parts)
        longest = [draft for draft in unit.drafts if len(draft.parts) == most][:WIDTH]
        found = dict.fromkeys(
            tuple(sorted((*draft.parts, other), key=lambda part: part.at.start))
            for draft in longest
            for other in unit.candidates
            if all(_apart(part, other) for part in draft.parts)
        )
        parts.append(sorted(found, key=lambda p: -sum(c.infill.log_t for c in p))[: 2 * JUDGED])
    drafts = [
        [draft for draft in of_unit if doubles(draft.text) <= doubles(unit.source)]
        for unit, of_unit in zip(units, _drafts(style, units, parts, ranking), strict=True)
    ]
    _look_at_seams(task, units, drafts, ranking)


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
