"""The search editor: the best of many candidates, and no more edits than are needed.

Every span of a text is infilled in several ways (`infilling`), the drafts that these make are ranked (`ranking`), and
the best of them looked at closely: do the words that stay go with them (`coherence`)? A text's gain over leaving it
alone is the score of its edits. A text that reads as the target domain already is left alone; a second edit is tried
only where the best single one does not reach `strength`, or leaves a word that does not fit or still speaks for the
source domain, and it is found with the first one in place.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from masker.core.edits import Edit, Rewrite, apply_edits, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Unit
from masker.core.task import Task
from masker.errors import check_whole
from masker.model.settings import SearchSettings
from masker.runtime.critic import Critic
from masker.runtime.reader import Reader
from masker.search.asking import Asked, ask, ask_in_context
from masker.search.classifiers import StyleClassifiers
from masker.search.collecting import uncollected
from masker.search.confidence import choose
from masker.search.drafts import SPARE, Bases, Candidates, grouped, leading, spread, together
from masker.search.infilling import Alive
from masker.search.keys import count_of
from masker.search.pool import Spelling
from masker.search.race import MARGIN, Race, decide, races_of, settle
from masker.search.ranking import bound, f_score, matches, promise, rank
from masker.search.reader import read_drafts
from masker.search.reading import read_segments
from masker.search.segments import Draft, Segment

CHUNK = 2048  # texts at a time that the candidates of are held
REFILLED = 10  # spans of a text that are also filled piece by piece
JUDGED = 96  # drafts of a text that are ranked
MISFIT = 1.0  # nats from which on a word does not fit, and another edit is tried
WIDTH = 3  # drafts that further edits are added to
FRESH = 32  # candidates from there
AGAIN = 4  # spans with them that are also filled piece by piece


class SearchEditor:
    """The search editor for one task. `unit` is what is edited at a time. `top` also lists that many best rewrites.
    `exact` is the same task in float32, to decide between the best, where this one is in int8. A `reader` has the last
    word, on more drafts; a `critic` only chooses among those that were looked at. `odds` [2, V] are as in
    `infilling`.
    """

    name = "search"
    prefetch = 0  # one pass waits for another all the time

    def __init__(
        self,
        task: Task,
        style: StyleClassifiers,
        settings: SearchSettings | None = None,
        *,
        unit: Unit = Unit(),
        top: int = 0,
        chunk: int = CHUNK,
        exact: Task | None = None,
        reader: Reader | None = None,
        critic: Critic | None = None,
        odds: np.ndarray | None = None,
    ) -> None:
        check_whole(0, top=top)
        self.task, self.style, self.settings = task, style, settings or SearchSettings()
        self.unit, self.top, self.chunk = unit, top, min(CHUNK, chunk)
        self.exact, self.reader, self.critic = exact, reader, critic
        self.odds = None if odds is None else (self.settings.counted * odds).astype(np.float32)
        self._spelling = Spelling(task.vocabulary, style.lexicon)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        """Nothing is asked yet: every question waits for the answer to another."""
        return uncollected(lambda: self.conclude(texts, self.draft(self.read(texts))))

    @property
    def wide(self) -> int:
        """How many of the best drafts of a segment have to be known, besides the very best; 0: only that one."""
        return max(self.top, self.settings.reader_drafts if self.reader else 0)

    def draft(self, segments: list[Segment]) -> list[Segment]:
        """The same segments, with the best drafts of those that are to be edited."""
        going = [segment for segment in segments if segment.wanted]
        if not going:
            return segments
        bases = Bases(going, range(len(going)), [None] * len(going))
        asked = ask(self.task, going, self.odds)
        known, races = self._race(bases, asked, REFILLED, None)
        for _ in range(1, self.settings.max_edits):
            lacking = [race for race in races if self._lacks(race.segment)]
            self._settle(lacking, wanted=max(WIDTH, self.wide), bars=[race.segment.drafts[0].total for race in lacking])
            drafts = self._bases(going)
            if drafts is None:
                break
            _, races = self._race(drafts, ask_in_context(self.task, drafts, self.odds), AGAIN, known)
        if self.exact:
            decide(self.exact, replace(self.style, runtime=self.exact.target.runtime), self.settings, going)
        if self.critic:
            choose(self.critic, self.task, self.settings, going)
        if self.reader:
            read_drafts(self.reader, self.task, self.settings, segments, most=self.wide, wanted=max(1, self.top))
        return segments

    def conclude(self, sources: Sequence[str], segments: Sequence[Segment]) -> list[Rewrite]:
        """The rewrites of texts whose segments have drafts; those of more than `max_edits` edits do not count."""
        by_text: dict[int, list[Segment]] = {}
        for segment in segments:
            drafts = self.allowed(segment)
            of_text = by_text.setdefault(segment.number, [])
            of_text.append(segment if len(drafts) == len(segment.drafts) else replace(segment, drafts=drafts))
        return [self._rewrite(source, by_text.get(k, [])) for k, source in enumerate(sources)]

    # -- candidates -------------------------------------------------------------------------------------------------

    def read(self, sources: Sequence[str]) -> list[Segment]:
        """What is edited at a time, and what both classifiers say of it."""
        lexicon = self.style.lexicon
        if lexicon.full:
            lexicon.clear()
            self._spelling.forget()
        return read_segments(self.task, self.style, self.unit, sources, enough=self.settings.enough)

    # -- drafts -----------------------------------------------------------------------------------------------------

    def _race(
        self, bases: Bases, asked: Asked, refilled: int, known: Candidates | None
    ) -> tuple[Candidates, list[Race]]:
        """The best drafts with one more edit: by infills of one piece first, then, where they could be better still, by
        infills filled piece by piece. Gives the candidates too; those that are `known` are tried besides.
        """
        found = asked.candidates(asked.infiller.pool(), self._spelling)
        worth, most = self._promise(bases, found), JUDGED if known is None else FRESH
        spare = grouped(found.base, worth, found.count >= 0, int(SPARE * most))
        few = spare[leading(found.base[spare], most)]
        if known is None:
            races = self._raced(bases, found.base[spare], found.take(spare), ordered=True)
        else:
            races = self._raced(bases, *together(bases, found.take(few), known, JUDGED))
        refills = asked.infiller.refills(refilled, self._alive(bases, asked))
        if len(refills):
            more = asked.candidates(refills, self._spelling)
            least = np.full(len(bases.pairs), np.inf)  # they have to promise as much as those that were taken
            np.minimum.at(least, found.base[few], worth[few])
            least[np.bincount(found.base[few], minlength=len(least)) < most] = -np.inf
            more = more.take(np.flatnonzero(self._promise(bases, more) > least[more.base]))
            races += self._raced(bases, more.base, more)
            found = Candidates.of([found, more])
        return found, races

    def _raced(self, bases: Bases, base: np.ndarray, c: Candidates, *, ordered: bool = False) -> list[Race]:
        bar = self._bar(bases)
        races = races_of(spread(bases, base, c, self.style, self.settings, most=JUDGED, bar=bar, ordered=ordered))
        self._settle(races, wanted=max(1, self.wide))
        return races

    def _settle(self, races: Sequence[Race], *, wanted: int, bars: Sequence[float] | None = None) -> None:
        margin = MARGIN if self.exact else 0.0
        settle(self.task, self.style, self.settings, races, wanted=wanted, bars=bars, margin=margin)

    def _bar(self, bases: Bases) -> np.ndarray:
        """[segments] what a draft has to be worth more than."""
        wanted, margin = max(1, self.wide), MARGIN if self.exact else 0.0
        drafts = [segment.drafts for segment in bases.segments]
        return np.array([d[wanted - 1].total - margin if len(d) >= wanted else -math.inf for d in drafts])

    def _bases(self, segments: Sequence[Segment]) -> Bases | None:
        """The best drafts of those segments that need one more edit, as far as it could help."""
        numbers, drafts = list[int](), list[Draft]()
        for number, segment in enumerate(segments):
            if self._lacks(segment):
                edits = max(len(draft.parts) for draft in segment.drafts)
                best = [draft for draft in segment.drafts if len(draft.parts) == edits][:WIDTH]
                best = [draft for draft in best if draft.most > segment.drafts[0].total or self.wide]
                numbers += [number] * len(best)
                drafts += best
        return Bases(segments, numbers, drafts) if drafts else None

    def _lacks(self, segment: Segment) -> bool:
        """Whether another edit is worth a try: the best draft does not reach `strength` yet, or has left a word that
        does not fit or speaks for the source domain.
        """
        if not segment.drafts:
            return False
        best = segment.drafts[0]
        misfits = any(lost < -MISFIT for lost, _ in best.misfits)
        return misfits or bool(best.leftovers) or not best.least >= self.settings.enough

    def _promise(self, bases: Bases, c: Candidates) -> np.ndarray:
        """What infills will probably be worth, before any classifier has read them."""
        target_log_p, source_log_p, old_target_log_p, old_source_log_p = c.log_p.T
        s, odds = self.settings, target_log_p - source_log_p + old_source_log_p - old_target_log_p
        now = _log_odds(np.array([segment.log_p for segment, _ in bases.pairs]).mean(1))[c.base]
        left = bases.old[c.base] - (c.span[:, 1] - c.span[:, 0])
        similar = f_score(left, left + c.sizes, bases.old[c.base], s.lost)
        return promise(s, now, odds, target_log_p, similar)

    def _alive(self, bases: Bases, asked: Asked) -> Alive:
        """Whether spans that are filled piece by piece can still make the best draft."""
        s, bar, continuation = self.settings, self._bar(bases), self.task.vocabulary.continuation
        width = asked.span[:, 1] - asked.span[:, 0]

        def alive(rows: np.ndarray, pieces: np.ndarray, log_p: np.ndarray) -> np.ndarray:
            base, count = asked.infiller.text[rows], count_of((pieces >= 0) & ~continuation[pieces])
            again = matches(asked.infiller.old[rows] + 1, pieces + 1)  # what was there before and is again
            shared = bases.shared[base] - width[rows] + again
            length = bases.lengths[base] - width[rows] + count
            most = bound(s, bases.likelihood[base] + log_p, f_score(shared, length, bases.old[base], s.lost))
            return np.asarray(most > bar[bases.number[base]])

        return alive

    # -- rewrites ---------------------------------------------------------------------------------------------------

    def _rewrite(self, source: str, segments: Sequence[Segment]) -> Rewrite:
        task, least = self.task, self.settings.min_score
        none = Rewrite(source, source, task.from_, task.to, (), () if self.top else None)
        if not segments:
            return none.revised(reason="no words")
        best = [self.chosen(segment) for segment in segments]
        edits = disjoint([edit for each in zip(segments, best, strict=True) for edit in self._edits(*each)])
        if self.top:
            options = [
                none.revised(text=apply_edits(source, e), edits=tuple(e), alternatives=None)
                for segment in segments
                for draft in segment.drafts
                if (e := self._edits(segment, draft))
            ]
            by_text: dict[str, Rewrite] = {}
            for option in sorted(options, key=lambda option: -option.score):  # there may be two ways to the same text
                by_text.setdefault(option.text, option)
            none = none.revised(alternatives=tuple(by_text.values())[: self.top])
        if not edits:
            worst = min(min(segment.log_p.tolist()) for segment in segments)
            if worst >= self.settings.enough:
                return none.revised(reason=f"it reads as {task.to} already ({math.exp(worst):.2f})")
            if any(segment.drafts and draft is None for segment, draft in zip(segments, best, strict=True)):
                return none.revised(reason=f"a few edits cannot make it read as {task.to}")
            return none.revised(reason=f"no edit scores above {least:g}")
        return none.revised(text=apply_edits(source, edits), edits=tuple(edits))

    def acceptance(self, segment: Segment) -> tuple[float, float]:
        """How probably a reader accepts what becomes of a segment, and how similar it is: 1 if no critic was asked."""
        best = self.chosen(segment)
        if best is None or best.acceptance is None or not self.settings.critic:
            return 1.0, 1.0
        return math.exp(best.acceptance / self.settings.critic), best.similarity

    def chosen(self, segment: Segment) -> Draft | None:
        """The best draft of those that clearly read as the target domain, or else of those that do so enough."""
        drafts = self.allowed(segment)
        for least in (max(self.settings.clear, self.settings.convinced), self.settings.convinced):
            for draft in drafts:
                if math.exp(draft.least) >= least:
                    return draft
        return None

    def allowed(self, segment: Segment) -> list[Draft]:
        """The drafts with no more edits than are wanted."""
        return [draft for draft in segment.drafts if len(draft.parts) <= self.settings.max_edits]

    def _edits(self, segment: Segment, draft: Draft | None) -> list[Edit]:
        """A draft as edits. They share its score evenly; the other two scores are those of the paper."""
        if draft is None:
            return []
        score = draft.total - float(rank(self.settings, segment.log_p, 0.0, 1.0)) - segment.reading
        if not score > self.settings.min_score:
            return []
        edits = []
        for part in draft.parts:
            logs = part.target_log_p, part.old_target_log_p, part.source_log_p, part.old_source_log_p
            L1, L2, L3, L4 = map(math.exp, logs)
            at = segment.known[part.span, part.pieces]
            assert at is not None
            old, share = segment.text.source[at.start : at.end], score / len(draft.parts)
            start, end = at.start + segment.offset, at.end + segment.offset
            edits.append(Edit(start, end, old, at.new, share, L1 - L2, -max(0.0, L3 - L4) + 0.0))
        return sorted(edits, key=lambda edit: edit.start)


def _log_odds(log_p: np.ndarray) -> np.ndarray:
    """log p - log(1 - p)."""
    return log_p - np.log1p(-np.minimum(np.exp(log_p), 1 - 1e-9))
