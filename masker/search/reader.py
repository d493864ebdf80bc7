"""A reader has the last word on drafts: a causal LM that reads each in its text, as a person would see it.

To the rank of a draft (`ranking`) come

    reader_likelihood * l      l: log-likelihood per word in the target domain, times the words of the source; the sum
                               instead would prefer to drop words
    reader_odds * min(0, o)    o: by how much the log-odds of the two domains exceed `reader_margin`
    reader_kept * k            k: the share of the source's words that are kept

and the same for the text as it is, so that the score of an edit is still its gain over leaving the text alone. A
sentence is read with its neighbours, as far as the masked LM sees them, and with their best drafts put in.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np

from masker.core.surface import Replacement
from masker.core.task import Task
from masker.model.settings import SearchSettings
from masker.runtime.reader import Reader, per_word
from masker.search.segments import Draft, Segment

ASKED = 2  # drafts of a segment whose odds are asked for at a time


def read_drafts(
    reader: Reader, task: Task, s: SearchSettings, segments: Sequence[Segment], *, most: int, wanted: int = 1
) -> None:
    """Add to the ranks of the `most` best drafts what the reader makes of them, and put the best first.

    The odds can only lower a rank. So they are asked for, which costs as much as all the rest, in the order of what
    drafts can still be worth, until the `wanted` best are known; those that they were not asked for come last.
    """
    assert task.from_ is not None
    for segment in segments:
        segment.drafts = segment.drafts[:most]
    others = _neighbours(segments)
    options = [(segment, draft) for segment in segments if segment.drafts for draft in (None, *segment.drafts)]
    texts = [_in_place(segment, draft, others[id(segment)]) for segment, draft in options]
    target = reader.log_p(texts, [task.to])[:, 0]
    likelihood = per_word(target, [segment.text.source for segment, _ in options], texts)
    kept = np.array([_kept(segment, draft) for segment, draft in options])
    value = s.reader_likelihood * likelihood + s.reader_kept * kept  # of all but the odds
    hoped = value + np.array([draft.total if draft else 0.0 for _, draft in options])
    odds = np.full(len(options), np.nan)
    asked = np.flatnonzero([draft is None for _, draft in options])
    parts = [range(a + 1, b) for a, b in pairwise([*asked.tolist(), len(options)])]  # the drafts of each segment
    while len(asked):
        source = reader.log_p([texts[k] for k in asked], [task.from_])[:, 0]
        odds[asked] = s.reader_odds * np.minimum(0.0, target[asked] - source - s.reader_margin)
        asked = np.array([k for part in parts for k in _next(part, hoped[part], odds[part], wanted)], np.int64)
    unknown = {id(draft) for (_, draft), lost in zip(options, odds, strict=True) if np.isnan(lost)}
    for (segment, draft), worth in zip(options, (value + np.nan_to_num(odds)).tolist(), strict=True):
        if draft is None:
            segment.reading = worth
        else:
            draft.reading = worth
            draft.total += worth
    for segment in segments:
        segment.drafts.sort(key=lambda draft: (id(draft) in unknown, -draft.total))


def _next(rows: range, hoped: np.ndarray, odds: np.ndarray, wanted: int) -> list[int]:
    """The drafts of a segment whose odds have to be known next: they could still be among the `wanted` best."""
    known = np.sort((hoped + odds)[~np.isnan(odds)])[::-1]
    bar = known[wanted - 1] if len(known) >= wanted else -np.inf
    order = np.argsort(-hoped, kind="stable")
    return [rows[k] for k in order.tolist() if np.isnan(odds[k]) and hoped[k] > bar][:ASKED]


def _kept(segment: Segment, draft: Draft | None) -> float:
    if draft is None:
        return 1.0
    old, new = Counter(segment.ids.tolist()), Counter(segment.spelt(draft.parts).words)
    return (old & new).total() / max(1, old.total())


def _neighbours(segments: Sequence[Segment]) -> dict[int, list[Replacement]]:
    """What the best drafts of the other segments of the same text change, as places in the whole text."""
    found: dict[int, list[Replacement]] = {}
    for _, group in groupby(segments, key=lambda segment: segment.number):
        of_text = list(group)
        best = {id(segment): _moved(segment, segment.drafts[0]) for segment in of_text if segment.drafts}
        for segment in of_text:
            found[id(segment)] = [r for owner, some in best.items() if owner != id(segment) for r in some]
    return found


def _moved(segment: Segment, draft: Draft) -> list[Replacement]:
    at = segment.offset
    return [Replacement(r.start + at, r.end + at, r.new) for r in draft.replacements]


def _in_place(segment: Segment, draft: Draft | None, others: Sequence[Replacement]) -> str:
    """What is seen around a segment, with its draft and those of its neighbours put in."""
    at, source = segment.offset, segment.text.source
    inside = [Replacement(r.start - at, r.end - at, r.new) for r in others]
    inside = [r for r in inside if r.start >= 0 and r.end <= len(source)]
    own = draft.replacements if draft else ()
    for r in sorted([*inside, *own], key=lambda r: (r.start, r.end), reverse=True):
        source = source[: r.start] + r.new + source[r.end :]
    return source
