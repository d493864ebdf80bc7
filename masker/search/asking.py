"""What the masked LM is asked about: all spans of segments, and later those with words of drafts that have to go."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from masker.core.spans import enumerate_spans
from masker.core.task import Task
from masker.search.coherence import WORST
from masker.search.drafts import Bases, Candidates
from masker.search.edited import Edited
from masker.search.infilling import Infiller
from masker.search.keys import some_of
from masker.search.pool import Pool, Spelling
from masker.search.segments import Draft, Segment

NARROW = 2  # words of the spans in which that is done


class Asked:
    """Spans that were asked about, and where they are [S, 2] in their segments."""

    def __init__(self, infiller: Infiller, span: np.ndarray) -> None:
        self.infiller, self.span = infiller, span

    def candidates(self, pool: Pool, spelling: Spelling) -> Candidates:
        """The infills that would change something."""
        infiller, pool = self.infiller, pool.distinct()
        pool = pool.take(np.flatnonzero(some_of(pool.pieces != infiller.old.take(pool.row, 0))))
        words, count = spelling.words(pool.pieces, infiller.inside[pool.row])
        old = infiller.old_t[pool.row], infiller.old_s[pool.row]
        log_p = np.stack([pool.target_log_p, pool.source_log_p, *old], 1)
        return Candidates(pool.owner, self.span[pool.row], pool.pieces, words, count, log_p)


def ask(task: Task, segments: Sequence[Segment], odds: np.ndarray | None = None) -> Asked:
    """All spans of segments; how likely single words are in the source domain is noted with the segments."""
    texts = Edited(task.vocabulary, [(segment.text, (), segment.patches) for segment in segments])
    spans = [enumerate_spans(s.text, task.frame.n_p, s.keep) for s in segments]
    mine = [of if s.is_whole else [*filter(s.has, of)] for s, of in zip(segments, spans, strict=True)]
    number = np.repeat(np.arange(len(segments)), [len(of) for of in mine])
    span = np.fromiter(chain.from_iterable(chain.from_iterable(mine)), np.int64, 2 * len(number)).reshape(-1, 2)
    infiller = infill(task, texts, number, span, odds)
    single = np.flatnonzero(span[:, 1] - span[:, 0] == 1)
    before = np.full(len(texts.homes), np.nan)
    before[texts.starts[number[single]] + span[single, 0]] = infiller.words_s[single]
    for segment, start, size in zip(segments, texts.starts.tolist(), texts.sizes.tolist(), strict=True):
        segment.before = before[start : start + size]
    first = np.array([segment.words.start for segment in segments])
    return Asked(infiller, span - first[number][:, None])


def ask_in_context(task: Task, bases: Bases, odds: np.ndarray | None = None) -> Asked:
    """Spans of drafts that hold words that fit worst or still speak for the source domain, with the edits in place."""
    drafts = [(segment, draft) for segment, draft in bases.pairs if draft]
    texts = Edited(task.vocabulary, [(s.text, draft.replacements, s.patches) for s, draft in drafts])
    span = misfitting(task, drafts, texts)
    number = texts.number[span[:, 0]]
    inner = np.stack([texts.homes[span[:, 0]], texts.homes[span[:, 1] - 1] + 1], 1) - bases.first[number][:, None]
    return Asked(infill(task, texts, number, span - texts.starts[number][:, None], odds), inner)


def infill(task: Task, texts: Edited, number: np.ndarray, span: np.ndarray, odds: np.ndarray | None) -> Infiller:
    return Infiller(
        texts, number, span, target=task.target, source=task.source, frame=task.frame, window=task.window,
        allowed=task.allowed(), batch_tokens=task.batch_tokens, odds=odds,
    )  # fmt: skip


def misfitting(task: Task, drafts: Sequence[tuple[Segment, Draft]], texts: Edited) -> np.ndarray:
    """[S, 2] the spans of old words that hold one of the words that have to go."""
    first, stop = np.array([segment.words for segment, _ in drafts]).T[:, texts.number]
    fixed = np.fromiter(chain.from_iterable(segment.fixed for segment, _ in drafts), bool)
    free = (texts.homes >= first) & (texts.homes < stop) & (texts.old(fixed, 1) == 0) & ~texts.protected(task)
    worst, at = list[int](), 0
    for segment, draft in drafts:
        worst += [at + word for lost, word in draft.misfits if lost < 0]
        worst += [at + word for word in draft.leftovers[:WORST]]
        at += len(segment.fixed)
    goes, size = np.zeros(at), len(free)
    goes[worst] = 1
    columns = texts.homes, free, texts.old(goes, 0) > 0, texts.widths
    homes, free, goes, widths = (np.append(column, np.zeros(NARROW, column.dtype)) for column in columns)
    good, holds, width, found = np.ones(size, bool), np.zeros(size, bool), np.zeros(size, np.int64), []
    for more in range(NARROW):  # one word, then so many more
        here = slice(more, more + size)
        good = good & free[here] & (homes[here] == homes[:size] + more)
        holds = holds | goes[here]
        width = width + widths[here]
        found.append(good & holds & (width <= task.frame.n_p))
    start, longer = np.nonzero(np.stack(found, 1))
    return np.stack([start, start + longer + 1], 1)
