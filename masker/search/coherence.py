"""A close look at drafts: do the words that stay go with the edits, and do some still speak for the source domain?

Classifiers read a text as a whole, and are content when its new words are strong, whatever the rest says. So every old
word near an edit is asked about again where it stands now. Two measures come of it, in nats:

    how much less likely it is in the target domain than it was in the source domain before: it does not fit
    how much it speaks for the source domain, to the words' classifier by itself, and to the masked LM where it stands
    now: the less of the two. Where praise is the source, `good` does so by itself, but not after `not`, and `friendly`
    still does after `rude and`. What only the topic makes likely, in one domain's texts, does not in its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from masker.core.scoring import DomainScorer
from masker.core.spans import Span
from masker.core.task import Task
from masker.core.text import Text
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.ranking import rank
from masker.search.segments import Draft, Edited, Segment

REACH = 8  # words from an edit up to which they are looked at
SLACK = 0.5  # nats by which any word may be less likely
SPOKEN = 1.0  # nats from which on a word speaks for the source domain


def look(
    task: Task, style: StyleClassifiers, drafts: Sequence[tuple[Segment, Draft]], settings: SearchSettings
) -> None:
    """Look at drafts, which can only lower their rank. A word costs a pass, one that speaks two."""
    edited = [Edited(task, segment, draft.replacements) for segment, draft in drafts]
    asked = [
        [Span(j, j + 1) for j in e.near(REACH) if e.old[j] in segment.before]
        for e, (segment, _) in zip(edited, drafts, strict=True)
    ]
    texts = [e.text for e in edited]
    in_target = likelihoods(task, task.target, texts, asked)
    alone: list[dict[Span, float]] = [{} for _ in drafts]
    in_source = alone
    if settings.residue and task.source:
        alone = _speaking(style, [segment for segment, _ in drafts], edited, asked)
        in_source = likelihoods(task, task.source, texts, alone)
    for (segment, draft), e, t, a, s in zip(drafts, edited, in_target, alone, in_source, strict=True):
        old = {span: e.old[span.start] for span in t}
        misfits = sorted((t[span] - segment.before[i], i) for span, i in old.items())
        left = sorted((max(-a[span], t[span] - s[span]), old[span]) for span in a)
        coherence = sum(min(0.0, lost + SLACK) for lost, _ in misfits)
        residue = sum(min(0.0, x + SPOKEN) for x, _ in left)
        draft.misfits, draft.leftovers = tuple(misfits), tuple(i for x, i in left if x < -SPOKEN)
        before = float(rank(settings, draft.log_p, np.array(draft.likelihood), np.array(draft.similarity)))
        draft.total = before + settings.coherence * coherence + settings.residue * residue


def likelihoods(
    task: Task, side: DomainScorer, texts: Sequence[Text], spans: Sequence[Iterable[Span]]
) -> list[dict[Span, float]]:
    """Those of the words in spans of each text, in a domain."""
    asked = [list(of_text) for of_text in spans]
    table = replace(task, target=side, source=None).table(texts, asked)
    return [dict(zip(of_text, x.tolist(), strict=True)) for of_text, x in zip(asked, table.words(), strict=True)]


def _speaking(
    style: StyleClassifiers, segments: Sequence[Segment], edited: Sequence[Edited], asked: Sequence[Sequence[Span]]
) -> list[dict[Span, float]]:
    """The words that by themselves speak for the source domain: by how much the odds of the old ones rise without."""
    rows, ends, stays = list[np.ndarray](), [0], []
    for segment, e in zip(segments, edited, strict=True):
        first, stop = segment.words
        stay = [j for j, i in e.old.items() if first <= i < stop]
        rows.append(_without_each(segment.ids[[e.old[j] - first for j in stay]]))
        ends.append(ends[-1] + len(rows[-1]))
        stays.append(stay)
    table = np.zeros((ends[-1], max((part.shape[1] for part in rows), default=1)), np.int64)
    for part, start in zip(rows, ends, strict=False):
        table[start : start + len(part), : part.shape[1]] = part
    odds = style.margins(table).tolist()
    found = []
    for k, (stay, spans) in enumerate(zip(stays, asked, strict=True)):
        base, *without = odds[ends[k] : ends[k + 1]]
        rise = {j: x - base for j, x in zip(stay, without, strict=True)}
        found.append({span: rise[span.start] for span in spans if rise.get(span.start, 0.0) > SPOKEN})
    return found


def _without_each(words: np.ndarray) -> np.ndarray:
    """[1 + L, L] all words, and all but each of them; 0 after the last."""
    size = len(words)
    k, left = np.arange(size), np.append(words, 0)
    return np.concatenate([words[None], left[k + (k >= np.arange(size)[:, None])]])
