"""A fast editor first, and the search editor where that is not good enough.

Sentence by sentence, the first draft of a phrase book stands, if there is one, unless a classifier of the search editor
is sure of the contrary. Elsewhere the rewrite of the fast editor stands where both classifiers are convinced by it and
a critic accepts it; without a critic, where the close look finds no word that does not fit at all. Where it does not
stand, the fast editor may try again, more or less inclined to keep words. All others are searched; and where a reader
would rather accept something that was tried before than what was found, that stands after all.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from masker.core.account import Check
from masker.core.editor import Editor
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.surface import Replacement
from masker.search.coherence import REACH
from masker.search.collecting import uncollected
from masker.search.confidence import sentence
from masker.search.edited import Edited, written
from masker.search.editor import SearchEditor
from masker.search.ranking import f_score
from masker.search.segments import Segment
from masker.search.word_table import WordTable

CRITIC = "critic"
KEPT, LOST = 0.25, 2.0  # with it, self-BLEU is three points higher on dev, and the critic as content
AGREED = (
    0.2  # for every writer that has written it; on dev, 67 % of the lines have an acceptable rewrite with it, not 63
)
WRITTEN = 2  # times as many edits as the search editor makes may be made by writers: theirs are as small as can be
CHUNKS = 4  # of the search editor, at a time: few texts of each come to it
# Nats by which a word may be less likely than before, to those that have no critic. Where a critic accepts a rewrite,
# this does not help: of 122 dev lines that it changed, a reader accepted 29 with it and 29 without.
TOLERATED = 4.0
LIKELY = 0.5  # what a critic accepts has only to be so likely of the target domain to the classifiers
# And what comes from a phrase book so likely, whatever a critic says: of 309 rated lines readers accept the first draft
# of the book on 49 %, and the best of others at most on a third, however sure the critic is. Below this on 28 and 7 %.
DOUBTED = 0.03
MOODS = (-1.0, 1.0, -2.5)  # what comes to the student's bias to keep words where a critic refuses what it has written


class AutoEditor:
    """Two editors of the same task; and others for what the fast one does not get right: it `again` in other moods, and
    `writers`, each with an editor for every rank of its drafts. Where there are such, all compete, and nothing stands
    before a critic has read everything. `phrases` are editors for the ranks of a phrase book, which come first.
    """

    name = "auto"
    prefetch = 0

    def __init__(
        self,
        fast: Editor,
        search: SearchEditor,
        again: Sequence[Editor] = (),
        writers: Sequence[Sequence[Editor]] = (),
        phrases: Sequence[Editor] = (),
    ) -> None:
        self.fast, self.search, self.again, self.writers, self.phrases = fast, search, again, writers, phrases
        self.chunk = CHUNKS * search.chunk

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        fast = self.fast.begin(texts)
        return uncollected(lambda: self.finished(fast())[0])

    def finished(self, quick: list[Rewrite]) -> "tuple[list[Rewrite], list[Segment], list[Tried]]":
        """The rewrites, given those of the fast editor; and the segments, with what was tried of them before."""
        search, sources = self.search, [rewrite.source for rewrite in quick]
        segments = search.read(sources)
        tried, most = list[Tried](), WRITTEN * search.settings.max_edits
        for editor in self.phrases:
            tried += self._tried_again(editor, sources, segments, tried, most, trusted=True)
        tried += judged(search, self._left(segments, tried), dict(enumerate(quick)), by=self.fast.name)
        seen = {(k, rewrite.text) for k, rewrite in enumerate(quick)}
        for editor in self.again:
            tried += self._tried_again(editor, sources, segments, tried, seen=seen)
        agreed = self._written(sources, segments, tried)
        stands = self._standing(tried)
        for one in stands:
            one.segment.wanted = False
        search.draft(segments)
        better = self._better(tried, agreed)
        for one in better:
            one.segment.wanted, one.segment.drafts = False, []
        edits: list[list[Edit]] = [[] for _ in quick]
        by = [""] * len(quick)
        for one in (*stands, *better):
            edits[one.segment.number] += one.edits
            by[one.segment.number] = one.by
        for segment in segments:
            if segment.wanted:
                by[segment.number] = search.name
        rewrites = zip(search.conclude(sources, segments), edits, by, strict=True)
        made = [_with(rewrite, good).revised(method=name or search.name) for rewrite, good, name in rewrites]
        return made, segments, tried

    def _standing(self, tried: Sequence["Tried"]) -> list["Tried"]:
        """What needs no comparison: writers' drafts, and what they compete with, are compared with everything."""
        return [one for one in tried if one.is_accepted() and (one.trusted or not self.writers)]

    def _left(self, segments: Sequence[Segment], tried: Sequence["Tried"]) -> list[Segment]:
        """The segments that nobody has got right."""
        done = {id(one.segment) for one in self._standing(tried)}
        return [segment for segment in segments if segment.wanted and id(segment) not in done]

    def _tried_again(
        self, editor: Editor, sources: Sequence[str], segments: Sequence[Segment], tried: Sequence["Tried"],
        most: int | None = None, *, trusted: bool = False, seen: set[tuple[int, str]] | None = None,
    ) -> list["Tried"]:  # fmt: skip
        """What another editor makes of the segments that nobody has got right. What was `seen` is not judged again."""
        left = self._left(segments, tried)
        numbers = sorted({segment.number for segment in left})
        rewrites = editor.begin([sources[k] for k in numbers])() if numbers else []
        found = dict(zip(numbers, rewrites, strict=True))
        if seen is not None:
            found = {k: rewrite for k, rewrite in found.items() if (k, rewrite.text) not in seen}
            seen |= {(k, rewrite.text) for k, rewrite in found.items()}
            left = [segment for segment in left if segment.number in found]
        return judged(self.search, left, found, by=editor.name, most=most, trusted=trusted)

    def _written(
        self, sources: Sequence[str], segments: Sequence[Segment], tried: list["Tried"]
    ) -> dict[tuple[int, str], set[int]]:
        """Try what the writers write, too; gives which of them have written a text."""
        agreed: dict[tuple[int, str], set[int]] = {}
        for number, ranks in enumerate(self.writers):
            for editor in ranks:
                found = self._tried_again(editor, sources, segments, tried, WRITTEN * self.search.settings.max_edits)
                for one in found:
                    agreed.setdefault(one.key, set()).add(number)
                tried += found
        return agreed

    def _better(self, tried: Sequence["Tried"], agreed: Mapping[tuple[int, str], set[int]]) -> list["Tried"]:
        """What a reader would rather accept than what the search has found; the critic's check tells that then."""

        def value(one: Tried) -> float:
            return one.worth() + AGREED * len(agreed.get(one.key, ()))

        search, found = self.search, list[Tried]()
        rivals: dict[int, list[Tried]] = {}
        for one in tried:
            if one.segment.wanted and one.checks[-1].name == CRITIC:
                rivals.setdefault(id(one.segment), []).append(one)
        for some in rivals.values():
            values, bar = [value(one) for one in some], search.acceptance(some[0].segment)
            best = values.index(max(values))
            for k, one in enumerate(some):
                won = k == best and values[k] > worth(*bar)
                one.checks[-1] = replace(one.checks[-1], bar=bar[0], passed=won)
                found += [one] if won else []
        return found


def worth(sure: float, kept: float) -> float:
    """What is compared of rewrites: how probably a reader accepts one, and, between two that are alike in that, how
    many words it keeps.
    """
    return math.log(max(sure, 1e-6)) + KEPT * kept


class Tried(NamedTuple):
    """A segment as it is rewritten, and what was asked of that: no more after the first no."""

    segment: Segment
    edits: list[Edit]
    source: str  # its text with the edits made
    pieces: list[int]  # of that, which have become of the segment
    lower: list[str]  # and the words, in small letters
    by: str
    checks: list[Check]
    trusted: bool = False  # as what comes from a phrase book is

    def is_accepted(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def key(self) -> tuple[int, str]:
        """The same for all who have written the same."""
        return id(self.segment), self.source

    def worth(self) -> float:
        """Of what the critic was asked about."""
        old, left, shared = self.segment.words, list(self.segment.lower), 0
        for word in self.lower:
            if word in left:
                left.remove(word)
                shared += 1
        kept = f_score(shared, len(self.lower), old.stop - old.start, LOST)
        return worth(self.checks[-1].value, float(kept))


def judged(
    search: SearchEditor,
    segments: Sequence[Segment],
    rewrites: Mapping[int, Rewrite],
    *,
    by: str = "",
    most: int | None = None,
    trusted: bool = False,
) -> list[Tried]:
    """The segments that are rewritten, and whether the search editor finds something to complain of as they are.

    Rewrites are given by the numbers of their texts; they may have `most` edits, or as many as the search editor makes.
    Of what is `trusted` the classifiers have only not to be sure of the contrary.
    """
    most = most or search.settings.max_edits
    edits = [(segment, inside(segment, rewrites[segment.number])) for segment in segments if segment.wanted]
    tried = [_tried(search, segment, some, by, trusted) for segment, some in edits if 0 < len(some) <= most]
    going = tried
    last = [] if trusted else [_pleases if search.critic else _fits]
    for checks in (_words, _encoder, *last):  # the cheapest first
        for one, check in zip(going, checks(search, going), strict=True):
            one.checks.append(check)
        going = [one for one in going if one.checks[-1].passed]
    return tried


def _with(rewrite: Rewrite, edits: Sequence[Edit]) -> Rewrite:
    """A rewrite with some more edits made."""
    if not edits:
        return rewrite
    both = tuple(sorted([*rewrite.edits, *edits], key=lambda edit: edit.start))
    return rewrite.revised(text=apply_edits(rewrite.source, both), edits=both, reason=None)


def inside(segment: Segment, rewrite: Rewrite) -> list[Edit]:
    """The edits that lie in a segment."""
    start, end = segment.stretch
    end += end == len(segment.text.source)  # what comes after the last word belongs to it
    return [edit for edit in rewrite.edits if start <= edit.start - segment.offset < end]


def _tried(search: SearchEditor, segment: Segment, edits: list[Edit], by: str, trusted: bool) -> Tried:
    replacements, vocabulary = _replacements(segment, edits), search.task.vocabulary
    source = written(segment.text.source, replacements)
    if segment.is_whole:
        pieces, lower = vocabulary.spelt(source)
        return Tried(segment, edits, source, pieces, lower, by, [], trusted)
    grown = sum(len(r.new) - (r.end - r.start) for r in replacements)
    words, (first, stop) = segment.text.words, segment.words
    start, end = min(words[first].start, replacements[0].start), max(words[stop - 1].end, replacements[-1].end) + grown
    text = vocabulary.read(source)
    first, stop = bisect_left(text.starts, start), len(text.words)
    while stop > first and text.words[stop - 1].end > end:
        stop -= 1
    lower = [source[a:b].lower() for a, b, _, _ in text.words[first:stop]]
    pieces = text.pieces[text.bounds[first] : text.bounds[stop]] if lower else []
    return Tried(segment, edits, source, pieces, lower, by, [], trusted)


def _words(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether the words' classifier is convinced."""
    rows = search.style.lexicon.rows([one.lower for one in tried])
    return _enough(search, "bag_of_words", search.style.of_words(rows), tried)


def _encoder(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether the encoder's classifier is."""
    return _enough(search, "encoder", search.style.of_encoder([one.pieces for one in tried]), tried)


def _pleases(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether a reader accepts it probably enough."""
    if search.critic is None or not tried:
        return []
    pairs = [sentence(one.segment, _replacements(one.segment, one.edits)) for one in tried]
    sure = search.critic.accepts(search.task.to, [source for source, _ in pairs], [text for _, text in pairs])
    least = search.settings.critic_least
    return [Check(CRITIC, p, least, p >= least) for p in sure.tolist()]


def _replacements(segment: Segment, edits: Sequence[Edit]) -> list[Replacement]:
    """Edits of a text as they are in what is seen of it around a segment."""
    at = segment.offset
    return [Replacement(edit.start - at, edit.end - at, edit.new) for edit in edits]


def _enough(search: SearchEditor, name: str, log_p: np.ndarray, tried: Sequence[Tried]) -> list[Check]:
    s = search.settings
    bar = s.strength if search.critic is None else min(max(LIKELY, s.clear), s.strength)
    bars = [DOUBTED if one.trusted else bar for one in tried]
    return [Check(name, p, bar, p >= bar) for p, bar in zip(np.exp(log_p).tolist(), bars, strict=True)]


def _fits(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether no word near an edit has become less likely, by TOLERATED: in the target domain now, than in the source
    domain before. What is likely enough now is not asked about as it was before.
    """
    task, segments = search.task, [one.segment for one in tried]
    assert task.source
    before = Edited(task.vocabulary, [(segment.text, (), {}) for segment in segments])
    after = Edited(task.vocabulary, [(one.segment.text, _replacements(one.segment, one.edits), {}) for one in tried])
    fixed = np.fromiter(chain.from_iterable(segment.fixed for segment in segments), bool)
    free = ~fixed & (before.widths <= task.frame.n_p)  # that could be edited themselves, as the search editor has it
    asked = np.flatnonzero(after.near(REACH) & (after.old(free, 0) > 0))
    now = WordTable(task, after, asked).log_p(task.target)  # [S]
    rows = asked[now <= -TOLERATED]
    of = after.number[rows]  # whose word it is
    old = WordTable(task, before, before.starts[of] + after.homes[rows])
    worst = np.zeros(len(tried))
    np.maximum.at(worst, of, old.log_p(task.source) - now[now <= -TOLERATED])
    return [Check("misfit", lost, TOLERATED, lost < TOLERATED, at_most=True) for lost in worst.tolist()]
