"""Which draft of a segment is the best, found with few passes of the model.

What costs passes can only lower a rank. So drafts are read by the encoder's classifier, and looked at, in the order of
what they can still be worth, until none of the others can be better than the best.
"""

import math
from collections.abc import Sequence

import numpy as np

from masker.core.task import Task
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.coherence import look
from masker.search.drafts import Spread
from masker.search.ranking import rank
from masker.search.segments import Draft, Segment

ASKED = 4  # drafts that the encoder's classifier reads at a time
FINALISTS = 6  # drafts that are looked at closely, at most
LOOKED = 2  # of them at a time
MARGIN = 0.08  # drafts that int8 ranks lower by no more than this may be better in float32


class Race:
    """Drafts of one segment that may be its best: not yet read by the encoder's classifier, read, or looked at."""

    def __init__(self, segment: Segment, found: Spread, rows: range) -> None:
        self.segment = segment
        self._found, self._rows = found, rows
        self.read: list[Draft] = []
        self.looked = 0

    def next(self, task: Task, wanted: int, bar: float, margin: float) -> tuple[list[Draft], list[Draft]]:
        """The drafts that have to be read next, or else those that have to be looked at: the best first.

        They have to be worth more than the `wanted`-th best of the segment, less `margin`; and to be able to be worth
        more than `bar`, if the classifiers are sure and nothing is found to be wrong.
        """
        known = self.segment.drafts
        best = known[wanted - 1].total - margin if len(known) >= wanted else -math.inf
        most = max(FINALISTS, wanted) - self.looked
        hoped = float(self._found.hoped[self._rows.start]) if self._rows else -math.inf
        looking = list[Draft]()
        while self.read and len(looking) < min(LOOKED, most):
            if self.read[0].total < hoped or self.read[0].total <= best:
                break
            draft = self.read.pop(0)
            if draft.most > bar and self.segment.write(task, draft):
                looking.append(draft)
        if looking or hoped <= best or most <= 0:
            return [], looking
        reading = list[Draft]()
        while self._rows and len(reading) < ASKED and self._found.hoped[self._rows.start] > best:
            k, self._rows = self._rows.start, self._rows[1:]
            if self._found.most[k] > bar:
                reading.append(self._found.draft(k))
        if not reading and self.read:
            return self.next(task, wanted, bar, margin)
        return reading, []


def races_of(found: Spread) -> list[Race]:
    """One for each segment that has drafts."""
    numbers, starts = np.unique(found.number, return_index=True)
    ends = [*starts.tolist(), len(found.base)][1:]
    rows = zip(numbers.tolist(), starts.tolist(), ends, strict=True)
    return [Race(found.bases.segments[n], found, range(a, b)) for n, a, b in rows]


def settle(
    task: Task, style: StyleClassifiers, s: SearchSettings, races: Sequence[Race], *, wanted: int = 1,
    bars: Sequence[float] | None = None, margin: float = 0.0,
) -> None:  # fmt: skip
    """Read and look at drafts until the `wanted` best of each segment are known, and those less by up to `margin`."""
    bars = [-math.inf] * len(races) if bars is None else bars
    going = list(zip(races, bars, strict=True))
    while going:
        reading, looking, busy = list[tuple[Race, Draft]](), list[tuple[Race, Draft]](), []
        for race, bar in going:
            some, closely = race.next(task, wanted, bar, margin)
            reading += [(race, draft) for draft in some]
            looking += [(race, draft) for draft in closely]
            if some or closely:
                busy.append((race, bar))
        if reading:
            _read(style, s, reading)
        if looking:
            look(task, style, [(race.segment, draft) for race, draft in looking], s)
            for race, draft in looking:
                race.looked += 1
                race.segment.drafts.append(draft)
                race.segment.drafts.sort(key=_by_total)
        going = busy


def decide(task: Task, style: StyleClassifiers, s: SearchSettings, segments: Sequence[Segment]) -> None:
    """Read and look again, in float32, at drafts that int8 ranks so high that any of them may be the best."""
    close = list[tuple[Segment, Draft]]()
    for segment in segments:
        best = [draft for draft in segment.drafts if draft.total > segment.drafts[0].total - MARGIN]
        close += [(segment, draft) for draft in best if len(best) > 1]
    if not close:
        return
    _rank(style, s, [draft for _, draft in close])
    look(task, style, close, s)
    for segment in segments:
        segment.drafts.sort(key=_by_total)


def _read(style: StyleClassifiers, s: SearchSettings, reading: Sequence[tuple[Race, Draft]]) -> None:
    _rank(style, s, [draft for _, draft in reading])
    for race, draft in reading:
        race.read.append(draft)
        race.read.sort(key=_by_total)


def _rank(style: StyleClassifiers, s: SearchSettings, drafts: Sequence[Draft]) -> None:
    """Ask the encoder's classifier about drafts."""
    for draft, p in zip(drafts, style.of_encoder([draft.pieces for draft in drafts]).tolist(), strict=True):
        draft.log_p[0] = p
    values = np.array([(draft.likelihood, draft.similarity) for draft in drafts]).T
    totals = rank(s, np.stack([draft.log_p for draft in drafts]), *values)
    for draft, total in zip(drafts, totals.tolist(), strict=True):
        draft.total = total


def _by_total(draft: Draft) -> float:
    return -draft.total
