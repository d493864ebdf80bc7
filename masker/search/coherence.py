"""A close look at drafts: do the words that stay go with the edits, and do some still speak for the source domain?

Classifiers read a text as a whole, and are content when its new words are strong, whatever the rest says. So every old
word near an edit is asked about again where it stands now. Two measures come of it, in nats:

    how much less likely it is in the target domain than it was in the source domain before: it does not fit
    how much it speaks for the source domain, to the words' classifier by itself, and to the masked LM where it stands
    now: the less of the two. Where praise is the source, `good` does so by itself, but not after `not`, and `friendly`
    still does after `rude and`. What only the topic makes likely, in one domain's texts, does not in its place.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from masker.core.batching import padded
from masker.core.task import Task
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.edited import Edited
from masker.search.keys import within
from masker.search.segments import Draft, Segment
from masker.search.word_table import WordTable

REACH = 8  # words from an edit up to which they are looked at
SLACK = 0.5  # nats by which any word may be less likely
SPOKEN = 1.0  # nats from which on a word speaks for the source domain


def look(
    task: Task, style: StyleClassifiers, drafts: Sequence[tuple[Segment, Draft]], settings: SearchSettings
) -> None:
    """Look at drafts that have been ranked, which can only lower it. A word costs a pass, one that speaks two."""
    edited = [Edited(task.vocabulary, s.text, draft.replacements, s.patches) for s, draft in drafts]
    near = zip(edited, drafts, strict=True)
    asked = [e.near(REACH, segment.before) for e, (segment, _) in near]  # of each draft, S words all together
    homes = [[e.homes[j] for j in words] for e, words in zip(edited, asked, strict=True)]
    table = WordTable(task, edited, asked)
    in_target = table.begin(task.target)
    before = [segment.before[i] for (segment, _), of_draft in zip(drafts, homes, strict=True) for i in of_draft]
    speaking, left = np.zeros(0, np.int64), np.zeros(0)  # which of the S words do, and by how much, negative
    if settings.residue and task.source:
        alone = np.array(_alone(style, drafts, edited, homes))
        speaking = np.flatnonzero(alone > SPOKEN)
        in_source = table.begin(task.source, speaking)
        now = in_target()
        left = np.maximum(-alone[speaking], now[speaking] - in_source())
    else:
        now = in_target()
    lost = now - np.array(before)  # [S]
    of = np.repeat(np.arange(len(drafts)), table.sizes)  # [S] the draft
    coherence = np.bincount(of, np.minimum(0.0, lost + SLACK), len(drafts))
    residue = np.bincount(of[speaking], np.minimum(0.0, left + SPOKEN), len(drafts))
    flat = np.fromiter(chain.from_iterable(homes), np.int64, len(of))  # [S] the word, as it was numbered before
    worst_first = within(of, flat, lost)
    misfits, at = [*zip(lost[worst_first].tolist(), flat[worst_first].tolist(), strict=True)], 0
    found = zip(drafts, homes, coherence.tolist(), residue.tolist(), strict=True)
    for (_, draft), words, draft_coherence, draft_residue in found:
        draft.misfits = tuple(misfits[at : at + len(words)])
        draft.leftovers = ()
        draft.coherence, draft.residue = draft_coherence, draft_residue
        draft.total += settings.coherence * draft.coherence + settings.residue * draft.residue
        at += len(words)
    for x, n in sorted(zip(left.tolist(), speaking.tolist(), strict=True)):
        if x < -SPOKEN:
            drafts[of[n]][1].leftovers += (int(flat[n]),)


def _alone(
    style: StyleClassifiers,
    drafts: Sequence[tuple[Segment, Draft]],
    edited: Sequence[Edited],
    homes: Sequence[Sequence[int]],
) -> list[float]:
    """[S] by how much words speak for the source domain by themselves; 0 for those of another segment."""
    stays = [(segment, _stay(segment, e)) for (segment, _), e in zip(drafts, edited, strict=True)]
    _note_alone(style, stays)
    return [
        segment.alone[stay].get(i, 0.0)
        for (segment, stay), of_draft in zip(stays, homes, strict=True)
        for i in of_draft
    ]


def _stay(segment: Segment, edited: Edited) -> tuple[int, ...]:
    """The words of a segment that are still there."""
    first, stop = segment.words
    return tuple([i for i in edited.homes if first <= i < stop])


def _note_alone(style: StyleClassifiers, stays: Sequence[tuple[Segment, tuple[int, ...]]]) -> None:
    """Note with segments by how much the odds of the words that stay rise without each of them: `alone`.

    It is the same for all drafts in which the same words stay.
    """
    fresh = list({(id(s), stay): (s, stay) for s, stay in stays if stay not in s.alone}.values())
    if not fresh:
        return
    word, inside = padded([stay for _, stay in fresh], 0)
    ids = np.concatenate([segment.ids for segment, _ in fresh])
    ends = np.cumsum([len(segment.ids) for segment, _ in fresh])
    first = np.array([end - len(s.ids) - s.words.start for end, (s, _) in zip(ends.tolist(), fresh, strict=True)])
    words = np.where(inside > 0, ids[(word + first[:, None]).clip(0)], 0)
    odds = iter(style.margins(_without_each(words, inside.sum(1))).tolist())
    for segment, stay in fresh:
        base = next(odds)
        segment.alone[stay] = {i: next(odds) - base for i in stay}


def _without_each(words: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[F, L] words, so many a row -> [F + all words, L] of each row all words, and all but each; 0 after the last."""
    of, k = np.repeat(np.arange(len(words)), 1 + sizes), np.arange(words.shape[1])
    without = np.arange(len(of)) - (np.cumsum(1 + sizes) - sizes)[of]  # -1 where none is left out
    wide = np.pad(words, ((0, 0), (0, 1)))
    return np.asarray(wide[of[:, None], k + ((k >= without[:, None]) & (without >= 0)[:, None])])
