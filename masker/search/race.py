"""Which draft of a segment is the best, found with few passes of the model.

What costs passes can only lower a rank. So drafts are read by the encoder's classifier, and looked at, in the order of
what they can still be worth, until none of the others can be better than the best.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from operator import attrgetter

import numpy as np

from masker.core.runtime import Pending
from masker.core.task import Task
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.coherence import look
from masker.search.drafts import Row, Spread, leading
from masker.search.ranking import rank
from masker.search.segments import Draft, Segment

ASKED = 4  # drafts that the encoder's classifier reads at a time; a third of them, if many are wanted
FINALISTS = 6  # drafts that are looked at closely, at most
LOOKED = 2  # of them at a time; a third of them, if many are wanted
MARGIN = 0.08  # drafts that int8 ranks lower by no more than this may be better in float32
_TOTAL = attrgetter("total")


class Race:
    """Drafts of one segment that may be its best: not yet read by the encoder's classifier, read, or looked at.

    They are rows of `found`, and made only when they are read.
    """

    def __init__(self, segment: Segment, found: Spread, rows: slice) -> None:
        self.segment, self.found = segment, found
        self._first, self._next = rows.start, rows.start
        self._hoped, self._most = found.total[rows].data, found.most[rows].data  # few of them are needed
        self.read = list[tuple[float, int, Row]]()  # a heap: less what they are worth, the rows, and what is in these
        self.looked = 0

    def next(self, task: Task, wanted: int, bar: float, margin: float) -> tuple[list[int], list[Draft]]:
        """The drafts that have to be read next, or else those that have to be looked at: the best first.

        They have to be worth more than the `wanted`-th best of the segment, less `margin`; and to be able to be worth
        more than `bar`, if the classifiers are sure and nothing is found to be wrong.
        """
        known, first, hoped, most = self.segment.drafts, self._first, self._hoped, self._most
        best = known[wanted - 1].total - margin if len(known) >= wanted else -math.inf
        finalists, end, read = max(FINALISTS, wanted) - self.looked, len(hoped), self.read
        few, many = min(max(LOOKED, wanted // 3), finalists), max(ASKED, wanted // 3)
        while True:
            at = self._next - first
            hope = hoped[at] if at < end else -math.inf
            looking = list[Draft]()
            while read and len(looking) < few and hope <= -read[0][0] > best:
                row = heappop(read)[2]
                if row[1] > bar and self.segment.write(task, draft := self.found.draft(row)):
                    looking.append(draft)
            if looking or hope <= best or finalists <= 0:
                return [], looking
            reading = list[int]()
            while at < end and len(reading) < many and hoped[at] > best:
                if most[at] > bar:
                    reading.append(first + at)
                at += 1
            self._next = first + at
            if reading or not read:
                return reading, []


Group = tuple[list[tuple[Race, int]], Spread, np.ndarray]  # drafts that are rows of one spread


def races_of(found: Spread) -> list[Race]:
    """One for each segment that has drafts."""
    starts = np.flatnonzero(leading(found.number, 1))
    rows = zip(found.number[starts].tolist(), pairwise([*starts.tolist(), len(found.base)]), strict=True)
    return [Race(found.bases.segments[n], found, slice(a, b)) for n, (a, b) in rows]


def settle(
    task: Task, style: StyleClassifiers, s: SearchSettings, races: Sequence[Race], *, wanted: int = 1,
    bars: Sequence[float] | None = None, margin: float = 0.0,
) -> None:  # fmt: skip
    """Read and look at drafts until the `wanted` best of each segment are known, and those less by up to `margin`."""
    bars = [-math.inf] * len(races) if bars is None else bars
    going = list(zip(races, bars, strict=True))
    while going:
        reading, looking, busy = list[tuple[Race, int]](), list[tuple[Race, Draft]](), []
        for race, bar in going:
            some, closely = race.next(task, wanted, bar, margin)
            reading += [(race, k) for k in some]
            looking += [(race, draft) for draft in closely]
            if some or closely:
                busy.append((race, bar))
        groups = [*_by_spread(reading)]
        log_p = _asked(style, groups)
        if looking:
            look(task, style, [(race.segment, draft) for race, draft in looking], s)
            for race, draft in looking:
                race.looked += 1
                race.segment.drafts.append(draft)
                race.segment.drafts.sort(key=_TOTAL, reverse=True)
        said, at = log_p(), 0
        for mine, found, rows in groups:
            for (race, k), row in zip(mine, found.read(rows, said[at : at + len(rows)], s), strict=True):
                heappush(race.read, (-row[0], k, row))
            at += len(rows)
        going = busy


def _asked(style: StyleClassifiers, groups: Sequence[Group]) -> Pending[np.ndarray]:
    """The encoder's classifier on drafts."""
    pieces = [found.pieces(rows) for _, found, rows in groups] or [(np.zeros(0, np.int64),) * 2]
    return style.begin_encoder(*map(np.concatenate, zip(*pieces, strict=True)))


def decide(task: Task, style: StyleClassifiers, s: SearchSettings, segments: Sequence[Segment]) -> None:
    """Read and look again, in float32, at drafts that int8 ranks so high that any of them may be the best."""
    close = list[tuple[Segment, Draft]]()
    for segment in segments:
        best = [draft for draft in segment.drafts if draft.total > segment.drafts[0].total - MARGIN]
        close += [(segment, draft) for draft in best if len(best) > 1]
    if not close:
        return
    drafts = [draft for _, draft in close]
    log_p = np.array([draft.log_p for draft in drafts])
    log_p[:, 0] = style.of_encoder([segment.spelt(draft.parts).pieces for segment, draft in close])
    likelihood, similarity = np.array([(draft.likelihood, draft.similarity) for draft in drafts]).T
    totals = rank(s, log_p, likelihood, similarity).tolist()
    for draft, both, total in zip(drafts, log_p, totals, strict=True):
        draft.log_p, draft.total = both.tolist(), total
    look(task, style, close, s)
    for segment in segments:
        segment.drafts.sort(key=_TOTAL, reverse=True)


def _by_spread(reading: Sequence[tuple[Race, int]]) -> Iterator[Group]:
    """Drafts that are to be read, by the spread that they are rows of."""
    for found in {id(race.found): race.found for race, _ in reading}.values():
        mine = [(race, k) for race, k in reading if race.found is found]
        yield mine, found, np.array([k for _, k in mine])
