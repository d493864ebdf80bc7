"""What the masked LM is asked about: all spans of segments, and later those with words of drafts that have to go."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from masker.core.scoring import Pieces
from masker.core.spans import Span, enumerate_spans
from masker.core.task import Task
from masker.search.drafts import Bases, Candidates
from masker.search.edited import Edited
from masker.search.infilling import Infiller
from masker.search.pool import Pool, Spelling
from masker.search.segments import Draft, Segment

WORST = 3  # words of a draft that are filled anew, with its edits in place
NARROW = 2  # words of the spans in which that is done


class Asked:
    """Spans that were asked about, and where they are [S, 2] in their segments."""

    def __init__(self, infiller: Infiller, span: np.ndarray) -> None:
        self.infiller, self.span = infiller, span

    def candidates(self, pool: Pool, spelling: Spelling) -> Candidates:
        """The infills that would change something."""
        infiller, pool = self.infiller, pool.distinct()
        pool = pool.take((pool.pieces != infiller.old[pool.row]).any(1))
        words, count = spelling.words(pool.pieces, infiller.inside[pool.row])
        old = infiller.old_t[pool.row], infiller.old_s[pool.row]
        log_p = np.stack([pool.target_log_p, pool.source_log_p, *old], 1)
        return Candidates(pool.owner, self.span[pool.row], pool.pieces, words, count, log_p)


def ask(task: Task, segments: Sequence[Segment]) -> Asked:
    """All spans of segments; how likely single words are in the source domain is noted with the segments."""
    spans = [enumerate_spans(s.text, task.frame.n_p, s.keep) for s in segments]
    mine = [of if s.is_whole else [*filter(s.has, of)] for s, of in zip(segments, spans, strict=True)]
    infiller = infill(task, [segment.text for segment in segments], mine)
    single = np.flatnonzero(infiller.span[:, 1] - infiller.span[:, 0] == 1)
    words, likely = infiller.span[single, 0].tolist(), infiller.words_s[single].tolist()
    ends = np.searchsorted(infiller.text[single], np.arange(len(segments) + 1)).tolist()
    for segment, (a, b) in zip(segments, pairwise(ends), strict=True):
        segment.before = dict(zip(words[a:b], likely[a:b], strict=True))
    first = np.array([segment.words.start for segment in segments])
    return Asked(infiller, infiller.span - first[infiller.text][:, None])


def ask_in_context(task: Task, bases: Bases) -> Asked:
    """Spans of drafts that hold words that fit worst or still speak for the source domain, with the edits in place."""
    spans, inner, edited = list[list[Span]](), list[tuple[int, int]](), list[Edited]()
    for segment, draft in bases.pairs:
        assert draft
        e = Edited(task.vocabulary, segment.text, draft.replacements, segment.patches)
        wanted, first = misfitting(task, segment, draft, e), segment.words.start
        edited.append(e)
        spans.append(wanted)
        inner += [(e.homes[a] - first, e.homes[b - 1] + 1 - first) for a, b in wanted]
    return Asked(infill(task, edited, spans), np.array(inner, np.int64).reshape(-1, 2))


def infill(task: Task, texts: Sequence[Pieces], spans: Sequence[Sequence[Span]]) -> Infiller:
    return Infiller(
        texts, spans, target=task.target, source=task.source, frame=task.frame, window=task.window,
        allowed=task.allowed(), batch_tokens=task.batch_tokens,
    )  # fmt: skip


def misfitting(task: Task, segment: Segment, draft: Draft, edited: Edited) -> list[Span]:
    """The spans of old words that hold one of the words that have to go."""
    worst = {word for lost, word in draft.misfits[:WORST] if lost < 0} | {*draft.leftovers[:WORST]}
    homes, bounds = edited.homes, edited.bounds
    protected = edited.protected(task)

    def fits(a: int, b: int) -> bool:
        old = homes[a:b]
        return (
            old[0] >= 0 and old == [*range(old[0], old[0] + b - a)]
            and bounds[b] - bounds[a] <= task.frame.n_p and not any(protected[a:b])
            and segment.has(Span(old[0], old[-1] + 1)) and not any(segment.fixed[old[0] : old[-1] + 1])
        )  # fmt: skip

    spans = {
        Span(a, b)
        for at, home in enumerate(homes) if home in worst
        for a in range(max(0, at + 1 - NARROW), at + 1)
        for b in range(at + 1, min(a + NARROW, len(homes)) + 1)
    }  # fmt: skip
    return [span for span in sorted(spans) if fits(*span)]
