"""The search editor: the best of many candidates, and no more edits than are needed.

Every span of a text is infilled in several ways (`infilling`), the candidates that promise most are read by the style
classifiers, and the best of them looked at closely: do the words that stay go with them (`coherence`)? Then they are
ranked (`ranking`). A text's gain over leaving it alone is the score of its edits. A text that reads as the target
domain already is left alone; a second edit is tried only where the best single one does not reach `strength`, or leaves
a word that does not fit or still speaks for the source domain, and it is found with the first one in place.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from masker.core.candidates import written
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.spans import Span, enumerate_spans, protected_words
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text
from masker.errors import MaskerError
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.coherence import look
from masker.search.infilling import Infill, Infiller
from masker.search.ranking import Ranking, doubles
from masker.search.segments import Candidate, Draft, Edited, Segment, split_segments

CHUNK = 256  # texts at a time that the candidates of are held
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


class SearchEditor:
    """The search editor for one task. `longest` is how many pieces are edited as one; longer texts go sentence by
    sentence.
    """

    name = "search"
    prefetch = 0  # one pass waits for another all the time

    def __init__(
        self,
        task: Task,
        style: StyleClassifiers,
        settings: SearchSettings | None = None,
        *,
        longest: int | None = None,
        top: int = 0,
        chunk: int = CHUNK,
    ) -> None:
        if top < 0:
            raise MaskerError(f"`top` is {top}: need at least 0")
        self.task, self.style, self.settings = task, style, settings or SearchSettings()
        self.longest, self.top, self.chunk = longest, top, min(CHUNK, chunk)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        """Nothing is asked yet: every question waits for the answer to another."""
        return lambda: self._edit(texts)

    def _edit(self, sources: Sequence[str]) -> list[Rewrite]:
        segments = self.find(sources)
        self.draft(segments)
        return self.conclude(sources, segments)

    def find(self, sources: Sequence[str], *, strength: float | None = None) -> list[Segment]:
        """What is to be edited, with its candidates: all that the masked LM is needed for, bar the close look."""
        ranking = Ranking(replace(self.settings, strength=strength or self.settings.strength))
        texts = [self.task.vocabulary.read(source) for source in sources]
        unsure = np.full(2, -np.inf)
        segments = [
            Segment(k, text, words, unsure)
            for k, text in enumerate(texts)
            for words in split_segments(text, self.longest)
        ]
        for segment, log_p in zip(segments, self.style([segment.source for segment in segments]), strict=True):
            segment.log_p = log_p
        _find_candidates(self.task, [segment for segment in segments if segment.log_p.min() < ranking.enough], ranking)
        return segments

    def draft(self, segments: Sequence[Segment]) -> None:
        """Make the best drafts out of the candidates of segments."""
        ranking, wanted = Ranking(self.settings), max(WIDTH, self.top)
        going = [segment for segment in segments if segment.log_p.min() < ranking.enough]
        _rank(self.task, self.style, going, ranking, wanted)
        for _ in range(1, self.settings.max_edits):
            going = [segment for segment in going if segment.drafts and _lacks(segment.drafts[0], ranking)]
            _add_edits(self.task, self.style, going, ranking, wanted)

    def conclude(self, sources: Sequence[str], segments: Sequence[Segment]) -> list[Rewrite]:
        """The rewrites of texts whose segments have drafts; those of more than `max_edits` edits do not count."""
        ranking, by_text = Ranking(self.settings), dict[int, list[Segment]]()
        for segment in segments:
            drafts = [draft for draft in segment.drafts if len(draft.parts) <= self.settings.max_edits]
            by_text.setdefault(segment.number, []).append(replace(segment, drafts=drafts))
        return [
            _rewrite(self.task, source, by_text.get(k, []), ranking, self.settings.min_score, self.top)
            for k, source in enumerate(sources)
        ]


def _lacks(draft: Draft, ranking: Ranking) -> bool:
    """Whether another edit is worth a try: it does not reach `strength` yet, or has left a word that does not fit or
    speaks for the source domain.
    """
    misfits = any(lost < -MISFIT for lost, _ in draft.misfits)
    return misfits or bool(draft.leftovers) or not draft.reaches(ranking.enough)


def _find_candidates(task: Task, segments: Sequence[Segment], ranking: Ranking) -> None:
    """The candidates of each segment that promise most, before the classifier has read any of them."""
    keep = [task.keep(segment.text) for segment in segments]
    spans = [
        [span for span in enumerate_spans(segment.text, task.frame.n_p, kept) if segment.has(span)]
        for segment, kept in zip(segments, keep, strict=True)
    ]
    infiller = _infiller(task, [segment.text for segment in segments], spans)
    for k, (segment, pool) in enumerate(zip(segments, infiller.pool(REFILLED), strict=True)):
        rows = slice(infiller.ends[k], infiller.ends[k + 1])
        doubled, results = doubles(segment.source), set()
        for made in _written(
            task, segment, segment.text, spans[k], pool, infiller.old_t[rows], infiller.old_s[rows], ranking
        ):
            if len(segment.candidates) == JUDGED:
                break
            result = segment.with_parts([made])
            if result not in results and doubles(result) <= doubled:
                segment.candidates.append(made)
            results.add(result)  # of two ways to the same text the one that promises more
        segment.before = dict(zip(spans[k], infiller.words_s[rows].tolist(), strict=True))
        segment.passes += int(infiller.passes[k])


def _infiller(task: Task, texts: Sequence[Text], spans: Sequence[Sequence[Span]]) -> Infiller:
    return Infiller(
        texts,
        spans,
        target=task.target,
        source=task.source,
        frame=task.frame,
        window=task.window,
        allowed=task.allowed(),
        batch_tokens=task.batch_tokens,
    )


def _written(
    task: Task,
    segment: Segment,
    text: Text,
    spans: Sequence[Span],
    pool: Sequence[Infill],
    old_t: np.ndarray,
    old_s: np.ndarray,
    ranking: Ranking,
) -> Iterator[Candidate]:
    """The infills that can be written into a text, each once, those that promise most first."""
    unique: dict[tuple[int, tuple[int, ...]], Infill] = {}
    for infill in pool:
        key = infill.span_index, infill.pieces
        if key not in unique or infill.target_log_p > unique[key].target_log_p:
            unique[key] = infill
    promises = {
        key: ranking.promise(
            segment, infill, _size(spans[infill.span_index]), float((old_s - old_t)[infill.span_index])
        )
        for key, infill in unique.items()
    }
    fixed = protected_words(text, task.keep(text))
    for key in sorted(unique, key=promises.__getitem__, reverse=True):
        k = unique[key].span_index
        if at := written(task, text, spans[k], unique[key].pieces, fixed):
            yield Candidate(unique[key], at, float(old_t[k]), float(old_s[k]))


def _size(span: Span) -> int:
    return span.stop - span.start


def _rank(task: Task, style: StyleClassifiers, segments: Sequence[Segment], ranking: Ranking, wanted: int) -> None:
    """Drafts of one edit each: read by the classifiers, then the finalists looked at closely."""
    alone = [[(candidate,) for candidate in segment.candidates] for segment in segments]
    _look_closely(task, style, segments, _drafts(style, segments, alone, ranking), ranking, wanted)


def _drafts(
    style: StyleClassifiers,
    segments: Sequence[Segment],
    parts: Sequence[Sequence[tuple[Candidate, ...]]],
    ranking: Ranking,
) -> list[list[Draft]]:
    """Each segment with sets of candidates put in: the best FINALISTS, the best first.

    What is best is decided by a classifier that costs a pass a text. So texts come before it in the order of what they
    would be worth if it were sure of them; when that is less than what the finalists are worth, the rest is not asked.
    """
    waiting, drafts = [], [list[Draft]() for _ in segments]
    for segment, of_unit in zip(segments, parts, strict=True):
        texts = [segment.with_parts(p) for p in of_unit]
        hoped = [np.array([0.0, q]) for q in style.of_words(texts)]
        made = [Draft(p, t, h, ranking.total(segment, p, t, h)) for p, t, h in zip(of_unit, texts, hoped, strict=True)]
        waiting.append(deque(sorted(made, key=lambda draft: -draft.total)))
    while asked := [
        (k, queue.popleft())
        for k, queue in enumerate(waiting)
        for _ in range(ASKED)
        if queue and (len(drafts[k]) < FINALISTS or queue[0].total > drafts[k][FINALISTS - 1].total)
    ]:
        for (k, draft), log_p in zip(asked, style.of_encoder([draft.text for _, draft in asked]), strict=True):
            both = np.array([log_p, draft.log_p[1]])
            total = ranking.total(segments[k], draft.parts, draft.text, both)
            drafts[k].append(replace(draft, log_p=both, total=total))
            segments[k].passes += 1
        for found in drafts:
            found.sort(key=lambda draft: -draft.total)
    return [found[:FINALISTS] for found in drafts]


def _look_closely(
    task: Task,
    style: StyleClassifiers,
    segments: Sequence[Segment],
    drafts: Sequence[Sequence[Draft]],
    ranking: Ranking,
    wanted: int,
) -> None:
    """The finalists, ranked also by what a close look finds.

    It can only lower their rank. So when the `wanted` best of those that were looked at are worth more than the next
    one is without, the rest need no look.
    """
    waiting, looked = [deque(of_unit) for of_unit in drafts], [list[Draft]() for _ in segments]
    while chosen := [
        (k, queue.popleft())
        for k, queue in enumerate(waiting)
        for _ in range(LOOKED)
        if queue and (len(looked[k]) < wanted or queue[0].total > looked[k][wanted - 1].total)
    ]:
        closer = look(task, style, [(segments[k], draft) for k, draft in chosen], ranking)
        for (k, _), draft in zip(chosen, closer, strict=True):
            looked[k].append(draft)
        for of_unit in looked:
            of_unit.sort(key=lambda draft: -draft.total)
    for segment, of_unit in zip(segments, looked, strict=True):
        segment.drafts = sorted([*segment.drafts, *of_unit], key=lambda draft: -draft.total)


def _add_edits(task: Task, style: StyleClassifiers, segments: Sequence[Segment], ranking: Ranking, wanted: int) -> None:
    """To the best drafts of each segment one more candidate, wherever it fits."""
    most = [max(len(draft.parts) for draft in segment.drafts) for segment in segments]
    best = [[d for d in segment.drafts if len(d.parts) == n][:WIDTH] for segment, n in zip(segments, most, strict=True)]
    parts = []
    for segment, of_unit, fresh in zip(segments, best, _in_context(task, segments, best, ranking), strict=True):
        others = sorted(segment.candidates, key=lambda candidate: -candidate.infill.target_log_p)
        pairs = [(draft, other) for draft, new in zip(of_unit, fresh, strict=True) for other in new]
        pairs += [(draft, other) for other in others for draft in of_unit]
        found = dict.fromkeys(
            tuple(sorted((*draft.parts, other), key=lambda part: part.at.start))
            for draft, other in pairs
            if all(_apart(part, other) for part in draft.parts)
        )
        doubled = doubles(segment.source)
        parts.append([p for p in list(found)[:JUDGED] if doubles(segment.with_parts(p)) <= doubled])
    _look_closely(task, style, segments, _drafts(style, segments, parts, ranking), ranking, wanted)


def _in_context(
    task: Task, segments: Sequence[Segment], drafts: Sequence[Sequence[Draft]], ranking: Ranking
) -> list[list[list[Candidate]]]:
    """For each draft candidates for the words in it that fit worst or still speak for the source domain, found with
    its edits in place.
    """
    owners = [(segment, draft) for segment, of_unit in zip(segments, drafts, strict=True) for draft in of_unit]
    edited = [Edited(task.vocabulary, segment, draft.parts) for segment, draft in owners]
    spans = [_misfitting(task, *owner, e) for owner, e in zip(owners, edited, strict=True)]
    infiller = _infiller(task, [e.text for e in edited], spans)
    found = []
    for k, ((segment, _), pool) in enumerate(zip(owners, infiller.pool(AGAIN), strict=True)):
        rows = slice(infiller.ends[k], infiller.ends[k + 1])
        made = _written(
            task, segment, edited[k].text, spans[k], pool, infiller.old_t[rows], infiller.old_s[rows], ranking
        )
        at_home = ((c, edited[k].home(c.at.start, c.at.end)) for c in made)
        back = (replace(c, at=Replacement(*home, c.at.new)) for c, home in at_home if home)
        found.append(list(islice(back, FRESH)))
        segment.passes += int(infiller.passes[k])
    of_draft = iter(found)
    return [[next(of_draft) for _ in of_unit] for of_unit in drafts]


def _misfitting(task: Task, segment: Segment, draft: Draft, edited: Edited) -> list[Span]:
    """The spans of old words that hold one of the words that have to go."""
    worst = {word for lost, word in draft.misfits[:WORST] if lost < 0} | {*draft.leftovers[:WORST]}
    spans = enumerate_spans(edited.text, task.frame.n_p, task.keep(edited.text))
    olds = ((span, [edited.old.get(j, -1) for j in range(span.start, span.stop)]) for span in spans)
    return [
        span
        for span, old in olds
        if worst & {*old} and len(old) <= NARROW and -1 not in old and segment.has(Span(old[0], old[-1] + 1))
    ]


def _apart(a: Candidate, b: Candidate) -> bool:
    """Whether at least a character stays between two edits."""
    return a.at.end < b.at.start or b.at.end < a.at.start


def _rewrite(
    task: Task, source: str, segments: Sequence[Segment], ranking: Ranking, min_score: float, top: int
) -> Rewrite:
    none = Rewrite(source, source, task.from_, task.to, (), () if top else None)
    if not segments:
        return replace(none, reason="no words")
    edits = [
        edit for segment in segments for edit in _edits(segment, next(iter(segment.drafts), None), ranking, min_score)
    ]
    if top:
        options = [
            replace(none, text=apply_edits(source, e), edits=tuple(e), alternatives=None)
            for segment in segments
            for draft in segment.drafts
            if (e := _edits(segment, draft, ranking, min_score))
        ]
        none = replace(none, alternatives=tuple(sorted(options, key=lambda option: -option.score)[:top]))
    if not edits:
        least = min(float(segment.log_p.min()) for segment in segments)
        if least >= ranking.enough:
            return replace(none, reason=f"it reads as {task.to} already ({math.exp(least):.2f})")
        return replace(none, reason=f"no edit scores above {min_score:g}")
    return replace(none, text=apply_edits(source, edits), edits=tuple(edits))


def _edits(segment: Segment, draft: Draft | None, ranking: Ranking, min_score: float) -> list[Edit]:
    """A draft as edits. They share its score evenly; the other two scores are those of the paper, for each infill."""
    if draft is None:
        return []
    score = draft.total - ranking.total(segment, (), segment.source, segment.log_p)
    if not score > min_score:
        return []
    edits = []
    for part in draft.parts:
        L1, L2, L3, L4 = (
            math.exp(x) for x in (part.infill.target_log_p, part.old_t, part.infill.source_log_p, part.old_s)
        )
        old = segment.text.source[part.at.start : part.at.end]
        share = score / len(draft.parts)
        edits.append(Edit(part.at.start, part.at.end, old, part.at.new, share, L1 - L2, -max(0.0, L3 - L4) + 0.0))
    return sorted(edits, key=lambda edit: edit.start)
