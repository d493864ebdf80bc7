"""How probably a reader accepts what was written, by a model's critic: of drafts, to choose, and of rewrites, to tell.

A text of several sentences is read sentence by sentence, as it was edited; it is accepted if all of them are.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from masker.core.editor import Editor
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.segments import Unit, passages
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.errors import MaskerError, check_number
from masker.model.settings import SearchSettings
from masker.runtime.critic import Critic
from masker.search.phrases import PHRASES, trusted
from masker.search.segments import Segment


class Confident:
    """An editor whose rewrites have a confidence. Sentences for which it is below `least` are left as they were."""

    def __init__(self, editor: Editor, critic: Critic, task: Task, unit: Unit, least: float = 0.0) -> None:
        check_number(min_confidence=least)
        if not 0 <= least < 1:
            raise MaskerError(f"`min_confidence` is {least:g}; it is a probability: from 0 up to 1")
        self.editor, self.critic, self.task, self.unit, self.least = editor, critic, task, unit, least
        self.name, self.chunk, self.prefetch = editor.name, editor.chunk, editor.prefetch

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        wait = self.editor.begin(texts)
        return lambda: self.told(wait())

    def told(self, rewrites: list[Rewrite]) -> list[Rewrite]:
        """Rewrites with their confidence, without what is below the least."""
        parts = [self._sentences(rewrite) for rewrite in rewrites]
        flat = [part for of_text in parts for part in of_text]
        found = self.critic.accepts(self.task.to, [s for s, _, _ in flat], [t for _, t, _ in flat])
        by_book = [rewrite.method == PHRASES for rewrite, of_text in zip(rewrites, parts, strict=True) for _ in of_text]
        sure = iter(np.where(by_book, trusted(found), found).tolist())
        return [
            self._chosen(rewrite, [(next(sure), edits) for _, _, edits in of_text])
            for rewrite, of_text in zip(rewrites, parts, strict=True)
        ]

    def _chosen(self, rewrite: Rewrite, found: list[tuple[float, list[Edit]]]) -> Rewrite:
        if not found:
            return rewrite
        good = [(sure, edits) for sure, edits in found if sure >= self.least]
        if not good:
            best = max(sure for sure, _ in found)
            reason = f"a reader would accept the best rewrite with a probability of {best:.2f} only"
            return rewrite.revised(text=rewrite.source, edits=(), reason=reason)
        if len(good) < len(found):
            edits = [edit for _, some in good for edit in some]
            rewrite = rewrite.revised(text=apply_edits(rewrite.source, edits), edits=tuple(edits))
        return rewrite.revised(confidence=prod(sure for sure, _ in good))

    def _sentences(self, rewrite: Rewrite) -> list[tuple[str, str, list[Edit]]]:
        """The sentences that have been edited, as they were and as they are, and the edits."""
        source = rewrite.source
        if not rewrite.edits:
            return [(source, rewrite.text, [])] if rewrite.text != source else []
        parts = passages(self.task, source, self.unit)
        if len(parts) == 1:
            return [(source, rewrite.text, [*rewrite.edits])]
        starts = [0, *(p.offset + p.text.words[p.words.start].start for p in parts[1:]), len(source) + 1]
        found = []
        for start, end in pairwise(starts):
            edits = [edit for edit in rewrite.edits if start <= edit.start < end]
            if edits:
                stop = max(end, edits[-1].end)
                found.append((source[start:stop], apply_edits(source[:stop], edits)[start:], edits))
        return found


def choose(critic: Critic, task: Task, s: SearchSettings, segments: Sequence[Segment]) -> None:
    """Put those of the best drafts first that a reader would accept most probably, weighed with their ranks."""
    going = [segment for segment in segments if len(segment.drafts) > 1]
    pairs = [(segment, draft) for segment in going for draft in segment.drafts[: s.critic_drafts]]
    if not pairs:
        return
    texts = [sentence(segment, draft.replacements) for segment, draft in pairs]
    sure = critic.accepts(task.to, [source for source, _ in texts], [text for _, text in texts])
    worth = s.critic * np.log(np.maximum(sure, 1e-6))
    for (_, draft), more in zip(pairs, worth.tolist(), strict=True):
        draft.acceptance = more
    value = {id(draft): draft.total + more for (_, draft), more in zip(pairs, worth.tolist(), strict=True)}
    for segment in going:
        head = sorted(segment.drafts[: s.critic_drafts], key=lambda draft: -value[id(draft)])
        segment.drafts[: s.critic_drafts] = head


def sentence(segment: Segment, replacements: Sequence[Replacement]) -> tuple[str, str]:
    """A sentence as it is, and with some of its text, in which it stands, replaced."""
    source, (first, last) = segment.text.source, segment.stretch
    text, end = list[str](), first
    for r in replacements:
        text += [source[end : r.start], r.new]
        end = r.end
    return source[first:last], "".join([*text, source[end : max(last, end)]])
