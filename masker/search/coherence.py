"""A close look at drafts: do the words that stay go with the edits, and do some still speak for the source domain?

Classifiers read a text as a whole, and are content when its new words are strong, whatever the rest says. So every old
word near an edit is asked about again where it stands now. Two measures come of it, in nats:

    how much less likely it is in the target domain than it was in the source domain before: it does not fit
    how much it speaks for the source domain, to the words' classifier by itself, and to the masked LM where it stands
    now: the less of the two. Where praise is the source, `good` does so by itself, but not after `not`, and `friendly`
    still does after `rude and`. What only the topic makes likely, in one domain's texts, does not in its place.
"""

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from masker.core.task import Task
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.edited import Edited
from masker.search.keys import starts_of, within
from masker.search.segments import Draft, Segment
from masker.search.word_table import WordTable

REACH = 8  # words from an edit up to which they are looked at
SLACK = 0.5  # nats by which any word may be less likely
WORST = 3  # of the words that have become less likely are noted: those that are filled anew
SPOKEN = 1.0  # nats from which on a word speaks for the source domain


def look(
    task: Task, style: StyleClassifiers, drafts: Sequence[tuple[Segment, Draft]], settings: SearchSettings
) -> None:
    """Look at drafts that have been ranked, which can only lower it. A word costs a pass, one that speaks two."""
    texts = Edited(task.vocabulary, [(s.text, draft.replacements, s.patches) for s, draft in drafts])
    before = texts.old(np.concatenate([segment.before for segment, _ in drafts]), np.nan)
    asked = np.flatnonzero(texts.near(REACH) & ~np.isnan(before))  # [S] words
    of, homes = texts.number[asked], texts.homes[asked]  # their drafts, and which they were before
    table = WordTable(task, texts, asked)
    in_target = table.begin(task.target)
    speaking, left = np.zeros(0, np.int64), np.zeros(0)  # which of the S words do, and by how much, negative
    if settings.residue and task.source:
        alone = _alone(style, [segment for segment, _ in drafts], texts)[asked]
        speaking = np.flatnonzero(alone > SPOKEN)
        in_source = table.begin(task.source, speaking)
        now = in_target()
        left = np.maximum(-alone[speaking], now[speaking] - in_source())
    else:
        now = in_target()
    lost = now - before[asked]  # [S]
    coherence = np.bincount(of, np.minimum(0.0, lost + SLACK), len(drafts))
    residue = np.bincount(of[speaking], np.minimum(0.0, left + SPOKEN), len(drafts))
    worst_first = within(of, homes, lost, most=WORST)
    misfits, at = [*zip(lost[worst_first].tolist(), homes[worst_first].tolist(), strict=True)], 0
    counts = np.minimum(np.bincount(of, minlength=len(drafts)), WORST)
    found = zip(drafts, counts.tolist(), coherence.tolist(), residue.tolist(), strict=True)
    for (_, draft), count, draft_coherence, draft_residue in found:
        draft.misfits = tuple(misfits[at : at + count])
        draft.leftovers = ()
        draft.coherence, draft.residue = draft_coherence, draft_residue
        draft.total += settings.coherence * draft_coherence + settings.residue * draft_residue
        at += count
    for x, n in sorted(zip(left.tolist(), speaking.tolist(), strict=True)):
        if x < -SPOKEN:
            drafts[of[n]][1].leftovers += (int(homes[n]),)


def _alone(style: StyleClassifiers, segments: Sequence[Segment], texts: Edited) -> np.ndarray:
    """[W] by how much words speak for the source domain by themselves: by how much the odds of the words of a segment
    that stay rise without each of them; 0 for those of another segment.

    It is the same for all drafts in which the same words stay, and noted with the segments.
    """
    first, stop = np.fromiter(chain.from_iterable(s.words for s in segments), np.int64).reshape(-1, 2).T
    stay = np.flatnonzero((texts.homes >= first[texts.number]) & (texts.homes < stop[texts.number]))
    number, homes = texts.number[stay], texts.homes[stay]
    sizes = np.bincount(number, minlength=len(segments))
    ends, raw = (homes.itemsize * sizes.cumsum()).tolist(), homes.tobytes()
    keys = [raw[a:b] for a, b in pairwise([0, *ends])]
    pairs = zip(segments, keys, strict=True)
    fresh = {(id(s), key): k for k, (s, key) in enumerate(pairs) if key not in s.alone}
    if fresh:
        chosen = np.fromiter(fresh.values(), np.int64)
        ids = np.concatenate([segment.ids for segment in segments])
        place = starts_of(np.array([len(segment.ids) for segment in segments])) - first
        inside = np.arange(sizes.max()) < sizes[:, None]
        words = np.zeros(inside.shape, np.int64)
        words[inside] = ids[homes + place[number]]
        odds = style.margins(_without_each(words[chosen], sizes[chosen]))
        ends = np.cumsum(1 + sizes[chosen])
        rise = odds - np.repeat(odds[ends - sizes[chosen] - 1], 1 + sizes[chosen])
        for k, size, end in zip(chosen.tolist(), sizes[chosen].tolist(), ends.tolist(), strict=True):
            segments[k].alone[keys[k]] = rise[end - size : end]
    alone = np.zeros(len(texts.homes))
    alone[stay] = np.concatenate([segment.alone[key] for segment, key in zip(segments, keys, strict=True)])
    return alone


def _without_each(words: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[F, L] words, so many a row -> [F + all words, L] of each row all words, and all but each; 0 after the last."""
    of, k = np.repeat(np.arange(len(words)), 1 + sizes), np.arange(words.shape[1])
    without = np.arange(len(of)) - (np.cumsum(1 + sizes) - sizes)[of]  # -1 where none is left out
    wide = np.pad(words, ((0, 0), (0, 1)))
    return np.asarray(wide[of[:, None], k + ((k >= without[:, None]) & (without >= 0)[:, None])])
