"""Which spans may be edited (paper, "Where to edit?")."""

from collections.abc import Sequence
from typing import NamedTuple

from masker.text import Text


class Span(NamedTuple):
    """Words `start` up to `stop`; empty when they are equal: then text is only inserted before word `start`."""

    start: int
    stop: int


def protected_words(text: Text, keep: Sequence[tuple[int, int]] = ()) -> list[bool]:
    """Words that no edit may touch: a final punctuation mark, and all that share a character with a range of `keep`."""
    protected = [False] * len(text.words)
    if keep:
        protected = [any(word.start < end and start < word.end for start, end in keep) for word in text.words]
    if text.final is not None:
        protected[text.final] = True
    return protected


def enumerate_spans(text: Text, n_p: int, keep: Sequence[tuple[int, int]] = ()) -> list[Span]:
    """All word-aligned spans of at most `n_p` pieces, empty ones included, in the order of the paper's Figure 1.

    `keep` are character ranges to leave alone: no span holds a word of one, and no text is inserted inside one.
    """
    protected, bounds, count = protected_words(text, keep), text.bounds, len(text.words)
    spans = []
    for i in range(count + 1):
        left = text.words[i - 1].end if i else 0
        right = text.words[i].start if i < count else len(text.source)
        if not (keep and any(start < left and right < end for start, end in keep)):
            spans.append(Span(i, i))
        most = bounds[i] + n_p
        for j in range(i, count):
            if protected[j] or bounds[j + 1] > most:
                break
            spans.append(Span(i, j + 1))
    return spans
