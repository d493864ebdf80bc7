"""The search editor: the best of many candidates, and no more edits than are needed.

Every span of a text is infilled in several ways (`infilling`), the candidates that promise most are read by the style
classifiers, and the best of them looked at closely: do the words that stay go with them (`looking`)? Then they are
ranked (`ranking`). A text's gain over leaving it alone is the score of its edits. A text that reads as the target
domain already is left alone; a second edit is tried only where the best single one does not reach `strength`, or leaves
a word that does not fit or still speaks for the source domain, and it is found with the first one in place.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np

from masker.core.editing import Edit, Rewrite, Task, written
from masker.core.spans import Span, enumerate_spans, protected_words
from masker.core.surface import Replacement
from masker.core.text import Text
from masker.search.coherence import look
from masker.search.infilling import Infill, Infiller
from masker.search.ranking import Candidate, Draft, Edited, Ranking, Style, Unit, doubles

REFILLED = 16  # spans a text that are also filled piece by piece
JUDGED = 96  # candidates a text that the style classifier reads
ASKED = 8  # of them at a time
FINALISTS = 10  # drafts that are looked at closely
LOOKED = 5  # of them at a time
MISFIT = 1.0  # nats from which on a word does not fit, and another edit is tried
WIDTH = 5  # drafts that further edits are added to
WORST = 3  # words of such a draft that are filled anew, with its edits in place
NARROW = 2  # words of the spans in which that is done
AGAIN = 4  # spans with them that are also filled piece by piece
FRESH = 32  # candidates from there


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
    """What is to be edited, with its candidates: all that the masked LM is needed for, bar the close look."""
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
    wanted = max(WIDTH, top)
    _rank(task, style, going, ranking, wanted)
    for _ in range(1, int(max_edits)):
        going = [unit for unit in going if unit.drafts and _lacks(unit.drafts[0], ranking)]
        _add_edits(task, style, going, ranking, wanted)
    return conclude(task, sources, units, ranking, max_edits=max_edits, min_score=min_score, top=top)


def conclude(
    task: Task, sources: Sequence[str], units: Sequence[Unit], ranking: Ranking, *, max_edits: int, min_score: float,
    top: int = 0,
) -> list[Rewrite]:  # fmt: skip
    """The rewrites of texts whose units have drafts; those of more edits than `max_edits` do not count."""
    by_text: dict[int, list[Unit]] = {}
    for unit in units:
        drafts = [draft for draft in unit.drafts if len(draft.parts) <= max_edits]
        by_text.setdefault(unit.number, []).append(replace(unit, drafts=drafts))
    return [_rewrite(task, source, by_text.get(k, []), ranking, min_score, top) for k, source in enumerate(sources)]


def _lacks(draft: Draft, ranking: Ranking) -> bool:
    """Whether another edit is worth a try: it does not reach `strength` yet, or has left a word that does not fit or
    speaks for the source domain.
    """
    misfits = any(lost < -MISFIT for lost, _ in draft.misfits)
    return misfits or bool(draft.leftovers) or not draft.reaches(ranking.enough)


def _units(text: Text, longest: int | None) -> Iterator[Span]:
    """The whole text, or as many whole sentences at a time as fit into `longest` pieces."""
    if not text.words:
        return
    if longest is None or len(text.pieces) <= longest:
        yield Span(0, len(text.words))
        return
    ends = [i + 1 for i in range(len(text.words)) if text.word(i)[-1] in ".!?…" and text.word(i) != "..."]
    start = 0
    for end, after in pairwise([*ends, len(text.words)]):
        if after <= end:
            break
        if text.bounds[after] - text.bounds[start] > longest:
            yield Span(start, end)
            start = end
    yield Span(start, len(text.words))


def _find_candidates(task: Task, units: Sequence[Unit], ranking: Ranking) -> None:
    """The candidates of each unit that promise most, before the classifier has read any of them."""
    keep = [task.keep(unit.text) for unit in units]
    spans = [
        [span for span in enumerate_spans(unit.text, task.frame.n_p, kept) if unit.has(span)]
        for unit, kept in zip(units, keep, strict=True)
    ]
    infiller = _infiller(task, [unit.text for unit in units], spans)
    for k, (unit, pool) in enumerate(zip(units, infiller.pool(REFILLED), strict=True)):
        rows = slice(infiller.ends[k], infiller.ends[k + 1])
        doubled, results = doubles(unit.source), set()
        for made in _written(
            task, unit, unit.text, spans[k], pool, infiller.old_t[rows], infiller.old_s[rows], ranking
        ):
            if len(unit.candidates) == JUDGED:
                break
            result = unit.put([made])
            if result not in results and doubles(result) <= doubled:
                unit.candidates.append(made)
            results.add(result)  # of two ways to the same text the one that promises more
        unit.before = dict(zip(spans[k], infiller.words_s[rows].tolist(), strict=True))
        unit.passes += int(infiller.passes[k])


def _infiller(task: Task, texts: Sequence[Text], spans: Sequence[Sequence[Span]]) -> Infiller:
    return Infiller(
        texts, spans, target=task.target, source=task.source, frame=task.frame, window=task.window,
        allowed=task.allowed(), batch_tokens=task.batch_tokens,
    )  # fmt: skip


def _written(
    task: Task, unit: Unit, text: Text, spans: Sequence[Span], pool: Sequence[Infill], old_t: np.ndarray,
    old_s: np.ndarray, ranking: Ranking,
) -> Iterator[Candidate]:  # fmt: skip
    """The infills that can be written into a text, each once, those that promise most first."""
    unique: dict[tuple[int, tuple[int, ...]], Infill] = {}
    for infill in pool:
        key = infill.span, infill.pieces
        if key not in unique or infill.log_t > unique[key].log_t:
            unique[key] = infill
    promises = {
        key: ranking.promise(unit, infill, _size(spans[infill.span]), float((old_s - old_t)[infill.span]))
        for key, infill in unique.items()
    }
    fixed = protected_words(text, task.keep(text))
    for key in sorted(unique, key=promises.__getitem__, reverse=True):
        k = unique[key].span
        if at := written(task, text, spans[k], unique[key].pieces, fixed):
            yield Candidate(unique[key], at, float(old_t[k]), float(old_s[k]))


def _size(span: Span) -> int:
    return span.stop - span.start


def _rank(task: Task, style: Style, units: Sequence[Unit], ranking: Ranking, wanted: int) -> None:
    """Drafts of one edit each: read by the classifiers, then the finalists looked at closely."""
    alone = [[(candidate,) for candidate in unit.candidates] for unit in units]
    _look_closely(task, style, units, _drafts(style, units, alone, ranking), ranking, wanted)


def _drafts(
    style: Style, units: Sequence[Unit], parts: Sequence[Sequence[tuple[Candidate, ...]]], ranking: Ranking
) -> list[list[Draft]]:
    """Each unit with sets of candidates put in: the best FINALISTS, the best first.

    What is best is decided by a classifier that costs a pass a text. So texts come before it in the order of what they
    would be worth if it were sure of them; when that is less than what the finalists are worth, the rest is not asked.
    """
    waiting, drafts = [], [list[Draft]() for _ in units]
    for unit, of_unit in zip(units, parts, strict=True):
        texts = [unit.put(p) for p in of_unit]
        hoped = [np.array([0.0, q]) for q in style.of_words(texts)]
        made = [Draft(p, t, h, ranking.total(unit, p, t, h)) for p, t, h in zip(of_unit, texts, hoped, strict=True)]
        waiting.append(deque(sorted(made, key=lambda draft: -draft.total)))
    while asked := [
        (k, queue.popleft())
        for k, queue in enumerate(waiting)
        for _ in range(ASKED)
        if queue and (len(drafts[k]) < FINALISTS or queue[0].total > drafts[k][FINALISTS - 1].total)
    ]:
        for (k, draft), log_p in zip(asked, style.of_encoder([draft.text for _, draft in asked]), strict=True):
            both = np.array([log_p, draft.log_p[1]])
            total = ranking.total(units[k], draft.parts, draft.text, both)
            drafts[k].append(replace(draft, log_p=both, total=total))
            units[k].passes += 1
        for found in drafts:
            found.sort(key=lambda draft: -draft.total)
    return [found[:FINALISTS] for found in drafts]


def _look_closely(
    task: Task, style: Style, units: Sequence[Unit], drafts: Sequence[Sequence[Draft]], ranking: Ranking, wanted: int
) -> None:
    """The finalists, ranked also by what a close look finds.

    It can only lower their rank. So when the `wanted` best of those that were looked at are worth more than the next
    one is without, the rest need no look.
    """
    waiting, looked = [deque(of_unit) for of_unit in drafts], [list[Draft]() for _ in units]
    while chosen := [
        (k, queue.popleft())
        for k, queue in enumerate(waiting)
        for _ in range(LOOKED)
        if queue and (len(looked[k]) < wanted or queue[0].total > looked[k][wanted - 1].total)
    ]:
        closer = look(task, style, [(units[k], draft) for k, draft in chosen], ranking)
        for (k, _), draft in zip(chosen, closer, strict=True):
            looked[k].append(draft)
        for of_unit in looked:
            of_unit.sort(key=lambda draft: -draft.total)
    for unit, of_unit in zip(units, looked, strict=True):
        unit.drafts = sorted([*unit.drafts, *of_unit], key=lambda draft: -draft.total)


def _add_edits(task: Task, style: Style, units: Sequence[Unit], ranking: Ranking, wanted: int) -> None:
    """To the best drafts of each unit one more candidate, wherever it fits."""
    most = [max(len(draft.parts) for draft in unit.drafts) for unit in units]
    best = [[d for d in unit.drafts if len(d.parts) == n][:WIDTH] for unit, n in zip(units, most, strict=True)]
    parts = []
    for unit, of_unit, fresh in zip(units, best, _in_context(task, units, best, ranking), strict=True):
        others = sorted(unit.candidates, key=lambda candidate: -candidate.infill.log_t)
        pairs = [(draft, other) for draft, new in zip(of_unit, fresh, strict=True) for other in new]
        pairs += [(draft, other) for other in others for draft in of_unit]
        found = dict.fromkeys(
            tuple(sorted((*draft.parts, other), key=lambda part: part.at.start))
            for draft, other in pairs
            if all(_apart(part, other) for part in draft.parts)
        )
        doubled = doubles(unit.source)
        parts.append([p for p in list(found)[:JUDGED] if doubles(unit.put(p)) <= doubled])
    _look_closely(task, style, units, _drafts(style, units, parts, ranking), ranking, wanted)


def _in_context(
    task: Task, units: Sequence[Unit], drafts: Sequence[Sequence[Draft]], ranking: Ranking
) -> list[list[list[Candidate]]]:
    """For each draft candidates for the words in it that fit worst or still speak for the source domain, found with
    its edits in place.
    """
    owners = [(unit, draft) for unit, of_unit in zip(units, drafts, strict=True) for draft in of_unit]
    edited = [Edited(task.vocabulary, unit, draft.parts) for unit, draft in owners]
    spans = [_misfitting(task, *owner, e) for owner, e in zip(owners, edited, strict=True)]
    infiller = _infiller(task, [e.text for e in edited], spans)
    found = []
    for k, ((unit, _), pool) in enumerate(zip(owners, infiller.pool(AGAIN), strict=True)):
        rows = slice(infiller.ends[k], infiller.ends[k + 1])
        made = _written(task, unit, edited[k].text, spans[k], pool, infiller.old_t[rows], infiller.old_s[rows], ranking)
        at_home = ((c, edited[k].home(c.at.start, c.at.end)) for c in made)
        back = (replace(c, at=Replacement(*home, c.at.new)) for c, home in at_home if home)
        found.append(list(islice(back, FRESH)))
        unit.passes += int(infiller.passes[k])
    of_draft = iter(found)
    return [[next(of_draft) for _ in of_unit] for of_unit in drafts]


def _misfitting(task: Task, unit: Unit, draft: Draft, edited: Edited) -> list[Span]:
    """The spans of old words that hold one of the words that have to go."""
    worst = {word for lost, word in draft.misfits[:WORST] if lost < 0} | {*draft.leftovers[:WORST]}
    spans = enumerate_spans(edited.text, task.frame.n_p, task.keep(edited.text))
    olds = ((span, [edited.old.get(j, -1) for j in range(span.start, span.stop)]) for span in spans)
    return [
        span for span, old in olds
        if worst & {*old} and len(old) <= NARROW and -1 not in old and unit.has(Span(old[0], old[-1] + 1))
    ]  # fmt: skip


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
