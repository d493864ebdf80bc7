"""A fast editor first, and the search editor where that is not good enough.

Sentence by sentence, the rewrite of the fast editor stands where both classifiers of the search editor are convinced by
it, a critic accepts it, and the close look finds no word that does not fit at all. Where it does not, the fast editor
may try again, more or less inclined to keep words. All others are searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from masker.core.account import Check
from masker.core.batching import padded
from masker.core.editor import Editor
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text
from masker.search.coherence import REACH
from masker.search.collecting import uncollected
from masker.search.confidence import sentence
from masker.search.edited import Edited
from masker.search.editor import SearchEditor
from masker.search.segments import Segment
from masker.search.word_table import WordTable

CHUNKS = 4  # of the search editor, at a time: few texts of each come to it
# Nats by which a word may be less likely than before. Two thirds of the student's rewrites pass, on 500 + 500 lines of
# Yelp dev. Of 7 that did not, a reader accepted 1, and 3 of those that were found instead; of 60 that did, 40 and 40.
MISFIT = 4.0
LIKELY = 0.5  # what a critic accepts has only to be so likely of the target domain to the classifiers
MOODS = (-1.0, 1.0, -2.5)  # what comes to the student's bias to keep words where a critic refuses what it has written


class AutoEditor:
    """Two editors of the same task; and the fast one in other moods, for what it does not get right `again`."""

    name = "auto"
    prefetch = 0

    def __init__(self, fast: Editor, search: SearchEditor, again: Sequence[Editor] = ()) -> None:
        self.fast, self.search, self.again = fast, search, again
        self.chunk = CHUNKS * search.chunk

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        fast = self.fast.begin(texts)
        return uncollected(lambda: self.finished(fast())[0])

    def finished(self, quick: list[Rewrite]) -> "tuple[list[Rewrite], list[Segment], list[Tried]]":
        """The rewrites, given those of the fast editor; and the segments, with what was tried of them before."""
        search = self.search
        segments = search.read([rewrite.source for rewrite in quick])
        edits: list[list[Edit]] = [[] for _ in quick]
        tried = judged(search, segments, dict(enumerate(quick)))
        tried += self._tried_again(quick, segments, tried)
        for one in filter(Tried.is_accepted, tried):
            one.segment.wanted = False
            edits[one.segment.number] += one.edits
        search.draft(segments)
        searched = {segment.number for segment in segments if segment.wanted}
        rewrites = search.conclude([rewrite.source for rewrite in quick], segments)
        made = [
            replace(_with(rewrite, good), method=self.fast.name)
            if good and k not in searched
            else replace(_with(rewrite, good), method=search.name)
            for k, (rewrite, good) in enumerate(zip(rewrites, edits, strict=True))
        ]
        return made, segments, tried

    def _tried_again(
        self, quick: Sequence[Rewrite], segments: Sequence[Segment], tried: Sequence["Tried"]
    ) -> list["Tried"]:
        """What the fast editor makes of segments in its other moods, until it is accepted."""
        done, found = {id(one.segment) for one in tried if one.is_accepted()}, list[Tried]()
        for editor in self.again:
            left = [segment for segment in segments if segment.wanted and id(segment) not in done]
            numbers = sorted({segment.number for segment in left})
            rewrites = editor.begin([quick[k].source for k in numbers])() if numbers else []
            more = judged(self.search, left, dict(zip(numbers, rewrites, strict=True)))
            done |= {id(one.segment) for one in more if one.is_accepted()}
            found += more
        return found


class Tried(NamedTuple):
    """A segment as it is rewritten, and what was asked of that: no more after the first no."""

    segment: Segment
    edits: list[Edit]
    edited: Edited  # its text with the edits made
    words: Span  # of that, which have become of the segment
    checks: list[Check]

    def is_accepted(self) -> bool:
        return all(check.passed for check in self.checks)


def judged(search: SearchEditor, segments: Sequence[Segment], rewrites: Mapping[int, Rewrite]) -> list[Tried]:
    """The segments that are rewritten, and whether the search editor finds something to complain of as they are.

    Rewrites are given by the numbers of their texts.
    """
    edits = [(segment, inside(segment, rewrites[segment.number])) for segment in segments if segment.wanted]
    tried = [_tried(search, segment, some) for segment, some in edits if 0 < len(some) <= search.settings.max_edits]
    going = tried
    for checks in (_words, _encoder, _pleases, _fits):  # the cheapest first
        for one, check in zip(going, checks(search, going), strict=True):
            one.checks.extend([check] if check else [])
        going = [one for one in going if one.is_accepted()]
    return tried


def _with(rewrite: Rewrite, edits: Sequence[Edit]) -> Rewrite:
    """A rewrite with some more edits made."""
    if not edits:
        return rewrite
    both = tuple(sorted([*rewrite.edits, *edits], key=lambda edit: edit.start))
    return replace(rewrite, text=apply_edits(rewrite.source, both), edits=both, reason=None)


def inside(segment: Segment, rewrite: Rewrite) -> list[Edit]:
    """The edits that lie in a segment."""
    words, last = segment.text.words, segment.words.stop
    start = segment.offset + (words[segment.words.start].start if segment.words.start else 0)
    end = segment.offset + (words[last].start if last < len(words) else len(segment.text.source) + 1)
    return [edit for edit in rewrite.edits if start <= edit.start < end]


def _tried(search: SearchEditor, segment: Segment, edits: list[Edit]) -> Tried:
    words, replacements = segment.text.words, _replacements(segment, edits)
    edited = Edited(search.task.vocabulary, segment.text, replacements)
    grown = sum(len(r.new) - (r.end - r.start) for r in replacements)
    start, end = words[segment.words.start].start, words[segment.words.stop - 1].end
    start, end = min(start, replacements[0].start), max(end, replacements[-1].end) + grown
    mine = [k for k, word in enumerate(edited.text.words) if start <= word.start and word.end <= end]
    return Tried(segment, edits, edited, Span(mine[0], mine[-1] + 1) if mine else Span(0, 0), [])


def _words(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether the words' classifier is convinced."""
    ids = [search.style.lexicon.ids(one.edited.text.word(k).lower() for k in range(*one.words)) for one in tried]
    return _enough(search, "bag_of_words", search.style.of_words(padded(ids, 0)[0]))


def _encoder(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether the encoder's classifier is."""
    pieces = [_pieces(one.edited.text, one.words) for one in tried]
    return _enough(search, "encoder", search.style.of_encoder(pieces))


def _pleases(search: SearchEditor, tried: Sequence[Tried]) -> Sequence[Check | None]:
    """Whether a reader accepts it probably enough, if there is a critic to tell."""
    if search.critic is None or not tried:
        return [None] * len(tried)
    pairs = [sentence(one.segment, _replacements(one.segment, one.edits)) for one in tried]
    sure = search.critic.accepts(search.task.to, [source for source, _ in pairs], [text for _, text in pairs])
    least = search.settings.critic_least
    return [Check("critic", p, least, p >= least) for p in sure.tolist()]


def _replacements(segment: Segment, edits: Sequence[Edit]) -> list[Replacement]:
    """Edits of a text as they are in what is seen of it around a segment."""
    at = segment.offset
    return [Replacement(edit.start - at, edit.end - at, edit.new) for edit in edits]


def _enough(search: SearchEditor, name: str, log_p: np.ndarray) -> list[Check]:
    bar = search.settings.strength if search.critic is None else min(LIKELY, search.settings.strength)
    passed = (log_p >= np.log(bar)).tolist()
    return [Check(name, p, bar, good) for p, good in zip(np.exp(log_p).tolist(), passed, strict=True)]


def _pieces(text: Text, words: Span) -> list[int]:
    return text.pieces[text.bounds[words.start] : text.bounds[words.stop]]


def _fits(search: SearchEditor, tried: Sequence[Tried]) -> list[Check]:
    """Whether no word near an edit has become less likely, by MISFIT: in the target domain now, than in the source
    domain before. What is likely enough now is not asked about as it was before.
    """
    task = search.task
    assert task.source
    near = [_asked(task, one) for one in tried]
    table = WordTable(task, [one.edited for one in tried], near)
    now = table.log_p(task.target)  # [S]
    homes = [[one.edited.homes[j] for j in words] for one, words in zip(tried, near, strict=True)]
    old = WordTable(task, [one.segment.text for one in tried], homes)
    rows = np.flatnonzero(now <= -MISFIT)
    of = np.repeat(np.arange(len(tried)), table.sizes)  # [S] whose word it is
    worst = np.zeros(len(tried))
    np.maximum.at(worst, of[rows], old.log_p(task.source, rows) - now[rows])
    return [Check("misfit", lost, MISFIT, lost < MISFIT, at_most=True) for lost in worst.tolist()]


def _asked(task: Task, one: Tried) -> list[int]:
    """The old words near an edit that could be edited themselves, as the search editor has it."""
    fixed, bounds, edited = one.segment.fixed, one.segment.text.bounds, one.edited
    homes = edited.homes
    return [
        j for j in edited.near(REACH)
        if not fixed[homes[j]] and bounds[homes[j] + 1] - bounds[homes[j]] <= task.frame.n_p
    ]  # fmt: skip
