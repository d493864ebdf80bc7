"""A fast editor first, and the search editor where that is not good enough.

The rewrite of the fast editor stands where both classifiers of the search editor are convinced by it, and the close
look finds no word that does not fit at all. All other texts are searched.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from masker.core.batching import padded
from masker.core.editor import Editor
from masker.core.edits import Rewrite
from masker.core.runtime import Pending
from masker.core.spans import Span, enumerate_spans
from masker.core.surface import Replacement
from masker.search.coherence import REACH, likelihoods, look
from masker.search.editor import SearchEditor
from masker.search.segments import Draft, Edited, Segment

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
        return lambda: self._finished(fast())

    def _finished(self, quick: list[Rewrite]) -> list[Rewrite]:
        good = accepted(self.search, quick)
        others = iter(self.search.edit([rewrite.source for k, rewrite in enumerate(quick) if k not in good]))
        return [
            replace(rewrite, method=self.fast.name) if k in good else replace(next(others), method=self.search.name)
            for k, rewrite in enumerate(quick)
        ]


def accepted(search: SearchEditor, rewrites: Sequence[Rewrite]) -> set[int]:
    """The numbers of the rewrites that the search editor finds nothing to complain of."""
    tried = [k for k, rewrite in enumerate(rewrites) if 0 < len(rewrite.edits) <= search.settings.max_edits]
    doubted, drafts = set[int](), list[tuple[Segment, Draft]]()
    for segment in search.read([rewrites[k].source for k in tried]):
        replacements = _inside(segment, rewrites[tried[segment.number]])
        if (segment.log_p.min() >= search.settings.enough) == bool(replacements):
            doubted.add(segment.number)  # it was well, and was edited, or was not, and stayed
        elif replacements:
            drafts.append((segment, _draft(search, segment, replacements)))
    drafts = [(segment, draft) for segment, draft in drafts if segment.number not in doubted]
    _read(search, drafts)
    doubted |= {segment.number for segment, draft in drafts if draft.log_p.min() < search.settings.enough}
    drafts = [(segment, draft) for segment, draft in drafts if segment.number not in doubted]
    _look(search, drafts)
    doubted |= {segment.number for segment, draft in drafts if not _fits(draft)}
    return {k for number, k in enumerate(tried) if number not in doubted}


def _fits(draft: Draft) -> bool:
    return all(lost > -MISFIT for lost, _ in draft.misfits)


def _inside(segment: Segment, rewrite: Rewrite) -> tuple[Replacement, ...]:
    """The edits that lie in a segment."""
    words = segment.text.words
    start = words[segment.words.start].start if segment.words.start else 0
    end = words[segment.words.stop].start if segment.words.stop < len(words) else len(rewrite.source) + 1
    return tuple(Replacement(e.start, e.end, e.new) for e in rewrite.edits if start <= e.start < end)


def _draft(search: SearchEditor, segment: Segment, replacements: tuple[Replacement, ...]) -> Draft:
    """A segment with replacements made, not read yet."""
    text, words = Edited(search.task, segment, replacements).text, segment.text.words
    grown = sum(len(r.new) - (r.end - r.start) for r in replacements)
    start, end = words[segment.words.start].start, words[segment.words.stop - 1].end
    start, end = min(start, replacements[0].start), max(end, replacements[-1].end) + grown
    inside = [k for k, word in enumerate(text.words) if start <= word.start and word.end <= end]
    ids = np.array(search.style.lexicon.ids(text.word(k).lower() for k in inside), np.int64)
    return Draft(
        parts=(), words=ids, home=np.full(len(ids), -1), spelt=[text.words[k].pieces for k in inside], likelihood=0.0,
        similarity=1.0, log_p=np.zeros(2), total=0.0, most=0.0, replacements=replacements,
    )  # fmt: skip


def _read(search: SearchEditor, drafts: Sequence[tuple[Segment, Draft]]) -> None:
    """Ask both classifiers."""
    if drafts:
        in_encoder = search.style.of_encoder([draft.pieces for _, draft in drafts])
        in_words = search.style.of_words(padded([draft.words.tolist() for _, draft in drafts], 0)[0])
        for (_, draft), *log_p in zip(drafts, in_encoder.tolist(), in_words.tolist(), strict=True):
            draft.log_p = np.array(log_p)


def _look(search: SearchEditor, drafts: Sequence[tuple[Segment, Draft]]) -> None:
    """Look closely, at all that has to be compared with what stood there before."""
    task = search.task
    assert task.source
    edited = [Edited(task, segment, draft.replacements) for segment, draft in drafts]
    single = [{*enumerate_spans(s.text, task.frame.n_p, task.keep(s.text))} for s, _ in drafts]
    near = [[Span(e.old[j], e.old[j] + 1) for j in e.near(REACH)] for e in edited]
    stay = [[span for span in some if span in known] for some, known in zip(near, single, strict=True)]
    before = likelihoods(task, task.source, [segment.text for segment, _ in drafts], stay)
    for (segment, _), known in zip(drafts, before, strict=True):
        segment.before = {span.start: log_p for span, log_p in known.items()}
    look(task, search.style, drafts, search.settings)
