"""A fast editor first, and the search editor where that is not good enough.

Sentence by sentence, the rewrite of the fast editor stands where both classifiers of the search editor are convinced by
it, and the close look finds no word that does not fit at all. All others are searched.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

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


class AutoEditor:
    """Two editors of the same task."""

    name = "auto"
    prefetch = 0

    def __init__(self, fast: Editor, search: SearchEditor) -> None:
        self.fast, self.search = fast, search
        self.chunk = CHUNKS * search.chunk

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        fast = self.fast.begin(texts)
        return uncollected(lambda: self._finished(fast()))

    def _finished(self, quick: list[Rewrite]) -> list[Rewrite]:
        search = self.search
        segments = search.read([rewrite.source for rewrite in quick])
        edits: list[list[Edit]] = [[] for _ in quick]
        for one in accepted(search, segments, quick):
            one.segment.wanted = False
            edits[one.segment.number] += one.edits
        search.draft(segments)
        searched = {segment.number for segment in segments if segment.wanted}
        rewrites = search.conclude([rewrite.source for rewrite in quick], segments)
        return [
            replace(_with(rewrite, good), method=self.fast.name)
            if good and k not in searched
            else replace(_with(rewrite, good), method=search.name)
            for k, (rewrite, good) in enumerate(zip(rewrites, edits, strict=True))
        ]


class Tried(NamedTuple):
    """A segment as it is rewritten."""

    segment: Segment
    edits: list[Edit]
    edited: Edited  # its text with the edits made
    words: Span  # of that, which have become of the segment


def accepted(search: SearchEditor, segments: Sequence[Segment], rewrites: Sequence[Rewrite]) -> list[Tried]:
    """The segments that the search editor finds nothing to complain of as they are rewritten."""
    edits = [(segment, _inside(segment, rewrites[segment.number])) for segment in segments if segment.wanted]
    tried = [_tried(search, segment, some) for segment, some in edits if 0 < len(some) <= search.settings.max_edits]
    for convinces in (_words, _encoder, _pleases, _fits):  # the cheapest first
        tried = [one for one, good in zip(tried, convinces(search, tried), strict=True) if good]
    return tried


def _with(rewrite: Rewrite, edits: Sequence[Edit]) -> Rewrite:
    """A rewrite with some more edits made."""
    if not edits:
        return rewrite
    both = tuple(sorted([*rewrite.edits, *edits], key=lambda edit: edit.start))
    return replace(rewrite, text=apply_edits(rewrite.source, both), edits=both, reason=None)


def _inside(segment: Segment, rewrite: Rewrite) -> list[Edit]:
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
    inside = [k for k, word in enumerate(edited.text.words) if start <= word.start and word.end <= end]
    return Tried(segment, edits, edited, Span(inside[0], inside[-1] + 1) if inside else Span(0, 0))


def _words(search: SearchEditor, tried: Sequence[Tried]) -> list[bool]:
    """Whether the words' classifier is convinced."""
    ids = [search.style.lexicon.ids(e.text.word(k).lower() for k in range(*words)) for _, _, e, words in tried]
    return _enough(search, search.style.of_words(padded(ids, 0)[0]))


def _encoder(search: SearchEditor, tried: Sequence[Tried]) -> list[bool]:
    """Whether the encoder's classifier is."""
    return _enough(search, search.style.of_encoder([_pieces(e.text, words) for _, _, e, words in tried]))


def _pleases(search: SearchEditor, tried: Sequence[Tried]) -> list[bool]:
    """Whether a reader accepts it probably enough, if there is a critic to tell."""
    if search.critic is None or not tried:
        return [True] * len(tried)
    pairs = [sentence(one.segment, _replacements(one.segment, one.edits)) for one in tried]
    sure = search.critic.accepts(search.task.to, [source for source, _ in pairs], [text for _, text in pairs])
    pleases: list[bool] = (sure >= search.settings.critic_least).tolist()
    return pleases


def _replacements(segment: Segment, edits: Sequence[Edit]) -> list[Replacement]:
    """Edits of a text as they are in what is seen of it around a segment."""
    at = segment.offset
    return [Replacement(edit.start - at, edit.end - at, edit.new) for edit in edits]


def _enough(search: SearchEditor, log_p: np.ndarray) -> list[bool]:
    enough: list[bool] = (log_p >= search.settings.enough).tolist()
    return enough


def _pieces(text: Text, words: Span) -> list[int]:
    return text.pieces[text.bounds[words.start] : text.bounds[words.stop]]


def _fits(search: SearchEditor, tried: Sequence[Tried]) -> list[bool]:
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
    misfits = rows[now[rows] - old.log_p(task.source, rows) <= -MISFIT]
    of = np.repeat(np.arange(len(tried)), table.sizes)  # [S] whose word it is
    fits: list[bool] = (np.bincount(of[misfits], minlength=len(tried)) == 0).tolist()
    return fits


def _asked(task: Task, one: Tried) -> list[int]:
    """The old words near an edit that could be edited themselves, as the search editor has it."""
    fixed, bounds, edited = one.segment.fixed, one.segment.text.bounds, one.edited
    homes = edited.homes
    return [
        j for j in edited.near(REACH)
        if not fixed[homes[j]] and bounds[homes[j] + 1] - bounds[homes[j]] <= task.frame.n_p
    ]  # fmt: skip
