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
from masker.search.classifiers import StyleClassifiers, log_odds
from masker.search.ranking import Ranking
from masker.search.segments import Draft, Edited, Segment

REACH = 8  # words from an edit up to which they are looked at
SLACK = 0.5  # nats by which any word may be less likely
SPOKEN = 1.0  # nats from which on a word speaks for the source domain


def look(task: Task, style: StyleClassifiers, drafts: Sequence[tuple[Segment, Draft]], ranking: Ranking) -> list[Draft]:
    """Drafts as they are after a look, which can only lower their rank. A word costs a pass, one that speaks two."""
    edited = [Edited(task.vocabulary, segment, draft.parts) for segment, draft in drafts]
    spans = [
        [Span(j, j + 1) for j in e.near(REACH) if Span(e.old[j], e.old[j] + 1) in segment.before]
        for e, (segment, _) in zip(edited, drafts, strict=True)
    ]
    in_target = _likelihoods(task, task.target, edited, spans)
    alone: list[dict[Span, float]] = [{} for _ in drafts]
    in_source = alone
    if ranking.settings.residue and task.source:
        alone = [_speaking(style, *of_draft) for of_draft in zip((u for u, _ in drafts), edited, spans, strict=True)]
        in_source = _likelihoods(task, task.source, edited, alone)
    looked = []
    for (segment, draft), e, t, a, s in zip(drafts, edited, in_target, alone, in_source, strict=True):
        old = {span: e.old[span.start] for span in t}
        misfits = sorted((t[span] - segment.before[Span(i, i + 1)], i) for span, i in old.items())
        left = sorted((max(-a[span], t[span] - s[span]), old[span]) for span in a)
        coherence = sum(min(0.0, lost + SLACK) for lost, _ in misfits)
        residue = sum(min(0.0, x + SPOKEN) for x, _ in left)
        total = ranking.total(segment, draft.parts, draft.text, draft.log_p, coherence, residue)
        leftovers = tuple(i for x, i in left if x < -SPOKEN)
        looked.append(replace(draft, total=total, misfits=tuple(misfits), leftovers=leftovers))
        segment.passes += len(t) + len(s)
    return looked


def _likelihoods(
    task: Task, side: DomainScorer, edited: Sequence[Edited], spans: Sequence[Iterable[Span]]
) -> list[dict[Span, float]]:
    """Those of the words in spans of each text, in a domain."""
    asked = [list(of_text) for of_text in spans]
    table = replace(task, target=side, source=None).table([e.text for e in edited], asked)
    return [dict(zip(of_text, x.tolist(), strict=True)) for of_text, x in zip(asked, table.words(), strict=True)]


def _speaking(style: StyleClassifiers, segment: Segment, edited: Edited, spans: Iterable[Span]) -> dict[Span, float]:
    """The words that by themselves speak for the source domain: by how much the odds of the old ones rise without."""
    stay = [j for j, i in edited.old.items() if segment.words.start <= i < segment.words.stop]
    words = [edited.text.word(j) for j in stay]
    without = (words[:k] + words[k + 1 :] for k in range(len(words)))
    odds = log_odds(style.of_words([" ".join(some) for some in (words, *without)]))
    found = dict(zip(stay, np.asarray(odds[1:] - odds[0]).tolist(), strict=True))
    return {span: found[span.start] for span in spans if found.get(span.start, 0.0) > SPOKEN}
