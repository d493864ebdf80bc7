"""Which infills are edits that could be made, and what they look like in their text."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from masker.core.scoring import SpanScores
from masker.core.spans import Span, protected_words
from masker.core.surface import Replacement, infill_words, replacement
from masker.core.task import Range, Task
from masker.core.text import Text, is_punctuation, split_words


def written(task: Task, text: Text, span: Span, pieces: Sequence[int], fixed: Sequence[bool]) -> Replacement | None:
    """Pieces written into a text in the place of a span, or None if that is no candidate.

    It is none if it is what stands there already, if it begins with a continuation piece, if it holds half a character
    or a forbidden word, or if no word would be left.
    """
    vocabulary = task.vocabulary
    if list(pieces) == text.pieces[text.bounds[span.start] : text.bounds[span.stop]]:
        return None
    if pieces and vocabulary.continuation[pieces[0]] and not (vocabulary.spaced and _opens(text, span.start)):
        return None
    left = text.words[span.start - 1].pieces if span.start else ()  # context enough to decode an infill in
    return placed(task, text, span, vocabulary.infill(left, pieces), fixed)


def placed(task: Task, text: Text, span: Span, infill: str, fixed: Sequence[bool]) -> Replacement | None:
    """Characters written into a text in the place of a span, or None if that is no candidate."""
    words = infill_words(infill)
    if "\ufffd" in infill or not all(map(str.isprintable, words)):
        return None
    r = replacement(text, span, infill, fixed=fixed)
    new = text.source[: r.start] + r.new + text.source[r.end :]
    if new == text.source or not any(map(str.isalnum, new)):
        return None
    if task.forbid:
        added = _count_words(new) - _count_words(text.source)  # `do n't` may have become `don't`
        if {word.lower() for word in [*words, *added]} & {word.lower() for word in task.forbid}:
            return None
    return r


def realised(task: Task, scores: SpanScores, k: int, fixed: Sequence[bool]) -> Replacement | None:
    """The infill of span k written into the text, or None if it is no candidate."""
    pieces = [piece for piece in scores.infills[k].tolist() if piece != task.frame.pad]
    return written(task, scores.text, scores.spans[k], pieces, fixed)


def candidates(task: Task, scores: SpanScores, keep: Sequence[Range] = ()) -> np.ndarray:
    """[S] bool: spans whose infill is an edit that could be made."""
    fixed = protected_words(scores.text, keep)
    return np.array([realised(task, scores, k, fixed) is not None for k in range(len(scores.spans))], dtype=bool)


def _count_words(text: str) -> Counter[str]:
    return Counter(text[a:b].lower() for a, b in split_words(text))


def _opens(text: Text, i: int) -> bool:
    """Whether word i begins the text or follows a mark directly: there a piece without a space begins a word."""
    if i == 0:
        return True
    directly = i < len(text.words) and text.words[i].start == text.words[i - 1].end
    return directly and all(map(is_punctuation, text.word(i - 1)))
