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

from masker.core.batching import padded
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.spans import Span, enumerate_spans
from masker.core.task import Task
from masker.core.text import Text
from masker.errors import MaskerError
from masker.model.settings import SearchSettings
from masker.search.classifiers import StyleClassifiers
from masker.search.drafts import Bases, Candidates, grouped, spread
from masker.search.infilling import Alive, Infiller
from masker.search.pool import Pool, Spelling
from masker.search.race import MARGIN, Race, decide, races_of, settle
from masker.search.ranking import bound, f_score, matches, promise, rank
from masker.search.segments import Draft, Edited, Segment, split_segments

CHUNK = 256  # texts at a time that the candidates of are held
REFILLED = 16  # spans of a text that are also filled piece by piece
JUDGED = 96  # drafts of a text that are ranked
MISFIT = 1.0  # nats from which on a word does not fit, and another edit is tried
WIDTH = 5  # drafts that further edits are added to
WORST = 3  # words of such a draft that are filled anew, with its edits in place
NARROW = 2  # words of the spans in which that is done
FRESH = 32  # candidates from there
AGAIN = 4  # spans with them that are also filled piece by piece


class SearchEditor:
    """The search editor for one task. `longest` is how many pieces are edited as one; longer texts go sentence by
    sentence. `top` also lists that many best rewrites. `exact` is the same task in float32, to decide between the best,
    where this one is in int8.
    """

    name = "search"
    prefetch = 0  # one pass waits for another all the time

    def __init__(
        self,
        task: Task,
        style: StyleClassifiers,
        settings: SearchSettings | None = None,
        *,
        longest: int | None = None,
        top: int = 0,
        chunk: int = CHUNK,
        exact: Task | None = None,
    ) -> None:
        if top < 0:
            raise MaskerError(f"`top` is {top}: need at least 0")
        self.task, self.style, self.settings = task, style, settings or SearchSettings()
        self.longest, self.top, self.chunk = longest, top, min(CHUNK, chunk)
        self.exact = exact
        self._spelling = Spelling(task.vocabulary, style.lexicon)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        """Nothing is asked yet: every question waits for the answer to another."""
        return lambda: self.conclude(texts, self.draft(texts))

    def draft(self, sources: Sequence[str]) -> list[Segment]:
        """The segments of texts, with their best drafts."""
        segments = self._read(sources)
        going = [segment for segment in segments if segment.log_p.min() < self.settings.enough]
        if not going:
            return segments
        bases = Bases(going, range(len(going)), [None] * len(going))
        asked = self._ask(going)
        known, races = self._race(bases, asked, REFILLED, None)
        for _ in range(1, self.settings.max_edits):
            lacking = [race for race in races if self._lacks(race.segment)]
            self._settle(lacking, wanted=max(WIDTH, self.top), bars=[race.segment.drafts[0].total for race in lacking])
            drafts = self._bases(going)
            if drafts is None:
                break
            _, races = self._race(drafts, self._ask_in_context(drafts), AGAIN, known)
        if self.exact:
            decide(self.exact, replace(self.style, runtime=self.exact.target.runtime), self.settings, going)
        return segments

    def conclude(self, sources: Sequence[str], segments: Sequence[Segment]) -> list[Rewrite]:
        """The rewrites of texts whose segments have drafts; those of more than `max_edits` edits do not count."""
        by_text: dict[int, list[Segment]] = {}
        for segment in segments:
            drafts = [draft for draft in segment.drafts if len(draft.parts) <= self.settings.max_edits]
            by_text.setdefault(segment.number, []).append(replace(segment, drafts=drafts))
        return [self._rewrite(source, by_text.get(k, [])) for k, source in enumerate(sources)]

    # -- candidates -------------------------------------------------------------------------------------------------

    def _read(self, sources: Sequence[str]) -> list[Segment]:
        """What is edited at a time, and what both classifiers say of it."""
        lexicon = self.style.lexicon
        if lexicon.full:
            lexicon.clear()
            self._spelling.forget()
        segments = []
        for number, source in enumerate(sources):
            text = self.task.vocabulary.read(source)
            for words in split_segments(text, self.longest):
                ids = np.array(lexicon.ids(text.word(i).lower() for i in range(*words)))
                segments.append(Segment(number, text, words, ids, np.zeros(2)))
        if segments:
            in_encoder = self.style.of_encoder([segment.pieces for segment in segments])
            in_words = self.style.of_words(padded([segment.ids.tolist() for segment in segments], 0)[0])
            for segment, *log_p in zip(segments, in_encoder.tolist(), in_words.tolist(), strict=True):
                segment.log_p = np.array(log_p)
        return segments

    def _ask(self, segments: Sequence[Segment]) -> "_Asked":
        """All spans of segments asked about."""
        n_p = self.task.frame.n_p
        spans = [
            [span for span in enumerate_spans(s.text, n_p, self.task.keep(s.text)) if s.has(span)] for s in segments
        ]
        infiller = self._infiller([segment.text for segment in segments], spans)
        for k, segment in enumerate(segments):
            likely = infiller.words_s[infiller.ends[k] : infiller.ends[k + 1]].tolist()
            segment.before = {a: p for (a, b), p in zip(spans[k], likely, strict=True) if b == a + 1}
        inner = [[(a - s.words.start, b - s.words.start) for a, b in of] for s, of in zip(segments, spans, strict=True)]
        return _Asked(infiller, inner)

    def _ask_in_context(self, bases: Bases) -> "_Asked":
        """Spans asked about that hold words of drafts that fit worst or still speak for the source domain, with the
        edits of the draft in place.
        """
        spans, inner, edited = [], [], []
        for segment, draft in bases.pairs:
            assert draft
            e = Edited(self.task, segment, draft.replacements)
            wanted, first = _misfitting(self.task, segment, draft, e), segment.words.start
            edited.append(e.text)
            spans.append(wanted)
            inner.append([(e.old[a] - first, e.old[b - 1] + 1 - first) for a, b in wanted])
        return _Asked(self._infiller(edited, spans), inner)

    def _infiller(self, texts: Sequence[Text], spans: Sequence[Sequence[Span]]) -> Infiller:
        task = self.task
        return Infiller(
            texts, spans, target=task.target, source=task.source, frame=task.frame, window=task.window,
            allowed=task.allowed(), batch_tokens=task.batch_tokens,
        )  # fmt: skip

    # -- drafts -----------------------------------------------------------------------------------------------------

    def _race(
        self, bases: Bases, asked: "_Asked", refilled: int, known: Candidates | None
    ) -> tuple[Candidates, list[Race]]:
        """The best drafts with one more edit: by infills of one piece first, then, where they could be better still, by
        infills filled piece by piece. Gives the candidates too; those that are `known` are tried besides.
        """
        found = asked.candidates(asked.infiller.pool(), self._spelling)
        worth = self._promise(bases, found)
        base, tried, most = found.base, found, JUDGED
        few = grouped(base, worth, found.count >= 0, most if known is None else FRESH)
        if known is not None:
            others = [np.flatnonzero(known.base == n) for n in bases.number.tolist()]
            tried = Candidates.of([found.take(few), known.take(np.concatenate(others))])
            base = np.concatenate([base[few], np.repeat(np.arange(len(others)), [len(k) for k in others])])
            # what was found in context comes first, the others by their likelihood
            order = np.lexsort((base, -tried.target_log_p, np.arange(len(base)) >= len(few)))
            place = np.empty(len(base))
            place[order] = np.arange(len(base))
            place[: len(few)] = np.arange(len(few))
            first = grouped(bases.number[base], -place, np.ones(len(base), bool), most)
            base, tried = base[first], tried.take(first)
        races = self._raced(bases, base, tried, worth if known is None else None)
        refills = asked.infiller.refills(refilled, self._alive(bases, asked))
        if len(refills):
            more = asked.candidates(refills, self._spelling)
            least = np.full(len(bases.pairs), np.inf)
            np.minimum.at(least, found.base[few], worth[few])
            least[np.bincount(found.base[few], minlength=len(least)) < (JUDGED if known is None else FRESH)] = -np.inf
            more = more.take(self._promise(bases, more) > least[more.base])
            races += self._raced(bases, more.base, more, None)
            found = Candidates.of([found, more])
        return found, races

    def _raced(self, bases: Bases, base: np.ndarray, c: Candidates, worth: np.ndarray | None) -> list[Race]:
        bar = self._bar(bases)
        races = races_of(spread(bases, base, c, self.style, self.settings, most=JUDGED, bar=bar, worth=worth))
        self._settle(races, wanted=max(1, self.top))
        return races

    def _settle(self, races: Sequence[Race], *, wanted: int, bars: Sequence[float] | None = None) -> None:
        margin = MARGIN if self.exact else 0.0
        settle(self.task, self.style, self.settings, races, wanted=wanted, bars=bars, margin=margin)

    def _bar(self, bases: Bases) -> np.ndarray:
        """[segments] what a draft has to be worth more than."""
        wanted, margin = max(1, self.top), MARGIN if self.exact else 0.0
        drafts = [segment.drafts for segment in bases.segments]
        return np.array([d[wanted - 1].total - margin if len(d) >= wanted else -math.inf for d in drafts])

    def _bases(self, segments: Sequence[Segment]) -> Bases | None:
        """The best drafts of those segments that need one more edit, as far as it could help."""
        numbers, drafts = list[int](), list[Draft]()
        for number, segment in enumerate(segments):
            if self._lacks(segment):
                edits = max(len(draft.parts) for draft in segment.drafts)
                best = [draft for draft in segment.drafts if len(draft.parts) == edits][:WIDTH]
                best = [draft for draft in best if draft.most > segment.drafts[0].total or self.top]
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
        return misfits or bool(best.leftovers) or not bool(best.log_p.min() >= self.settings.enough)

    def _promise(self, bases: Bases, c: Candidates) -> np.ndarray:
        """What infills will probably be worth, before any classifier has read them."""
        s, odds = self.settings, c.target_log_p - c.source_log_p + c.old_source_log_p - c.old_target_log_p
        now = np.array([_log_odds(float(segment.log_p.mean())) for segment, _ in bases.pairs])[c.base]
        left = bases.old[c.base] - (c.span[:, 1] - c.span[:, 0])
        similar = f_score(left, left + (c.pieces >= 0).sum(1), bases.old[c.base], s.lost)
        return promise(s, now, odds, c.target_log_p, similar)

    def _alive(self, bases: Bases, asked: "_Asked") -> Alive:
        """Whether spans that are filled piece by piece can still make the best draft."""
        s, bar, continuation = self.settings, self._bar(bases), self.task.vocabulary.continuation
        width = asked.span[:, 1] - asked.span[:, 0]

        def alive(rows: np.ndarray, pieces: np.ndarray, log_p: np.ndarray) -> np.ndarray:
            base, count = asked.infiller.text[rows], ((pieces >= 0) & ~continuation[pieces]).sum(1)
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
            return replace(none, reason="no words")
        edits = [edit for segment in segments for edit in self._edits(segment, next(iter(segment.drafts), None))]
        if self.top:
            options = [
                replace(none, text=apply_edits(source, e), edits=tuple(e), alternatives=None)
                for segment in segments
                for draft in segment.drafts
                if (e := self._edits(segment, draft))
            ]
            none = replace(none, alternatives=tuple(sorted(options, key=lambda option: -option.score)[: self.top]))
        if not edits:
            worst = min(float(segment.log_p.min()) for segment in segments)
            if worst >= self.settings.enough:
                return replace(none, reason=f"it reads as {task.to} already ({math.exp(worst):.2f})")
            return replace(none, reason=f"no edit scores above {least:g}")
        return replace(none, text=apply_edits(source, edits), edits=tuple(edits))

    def _edits(self, segment: Segment, draft: Draft | None) -> list[Edit]:
        """A draft as edits. They share its score evenly; the other two scores are those of the paper."""
        if draft is None:
            return []
        score = draft.total - float(rank(self.settings, segment.log_p, np.zeros(()), np.ones(())))
        if not score > self.settings.min_score:
            return []
        edits = []
        for part in draft.parts:
            logs = part.target_log_p, part.old_target_log_p, part.source_log_p, part.old_source_log_p
            L1, L2, L3, L4 = map(math.exp, logs)
            at = segment.known[part.span, part.pieces]
            assert at is not None
            old, share = segment.text.source[at.start : at.end], score / len(draft.parts)
            edits.append(Edit(at.start, at.end, old, at.new, share, L1 - L2, -max(0.0, L3 - L4) + 0.0))
        return sorted(edits, key=lambda edit: edit.start)


class _Asked:
    """Spans that were asked about, and where they are in their segments."""

    def __init__(self, infiller: Infiller, spans: Sequence[Sequence[tuple[int, int]]]) -> None:
        self.infiller = infiller
        self.span = np.array([pair for of_text in spans for pair in of_text], np.int64).reshape(-1, 2)

    def candidates(self, pool: Pool, spelling: Spelling) -> Candidates:
        """The infills that would change something."""
        infiller, pool = self.infiller, pool.distinct()
        pool = pool.take((pool.pieces != infiller.old[pool.row]).any(1))
        words, count = spelling.words(pool.pieces, infiller.inside[pool.row])
        old = infiller.old_t[pool.row], infiller.old_s[pool.row]
        return Candidates(
            pool.owner, self.span[pool.row], pool.pieces, words, count, pool.target_log_p, pool.source_log_p, *old
        )


def _misfitting(task: Task, segment: Segment, draft: Draft, edited: Edited) -> list[Span]:
    """The spans of old words that hold one of the words that have to go."""
    worst = {word for lost, word in draft.misfits[:WORST] if lost < 0} | {*draft.leftovers[:WORST]}
    spans = enumerate_spans(edited.text, task.frame.n_p, task.keep(edited.text))
    olds = ((span, [edited.old.get(j, -1) for j in range(span.start, span.stop)]) for span in spans)
    return [
        span for span, old in olds
        if worst & {*old} and len(old) <= NARROW and -1 not in old and old[-1] - old[0] == len(old) - 1
        and segment.has(Span(old[0], old[-1] + 1))
    ]  # fmt: skip


def _log_odds(log_p: float) -> float:
    """log p - log(1 - p)."""
    return log_p - math.log1p(-min(math.exp(log_p), 1 - 1e-9))
