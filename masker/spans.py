"""Which spans may be edited (paper, "Where to edit?")."""

from collections.abc import Sequence
from dataclasses import dataclass

from masker.text import Text


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Words `start` up to `stop`; empty when they are equal: then text is only inserted before word `start`."""

    start: int
    stop: int


def protected_words(text: Text, keep: Sequence[tuple[int, int]] = ()) -> list[bool]:
    """Words that no edit may touch: a final punctuation mark, and all that share a character with a range of `keep`."""
    return [
        i == text.final or any(word.start < end and start < word.end for start, end in keep)
        for i, word in enumerate(text.words)
    ]


def enumerate_spans(text: Text, n_p: int, keep: Sequence[tuple[int, int]] = ()) -> list[Span]:
    """All word-aligned spans of at most `n_p` pieces, empty ones included, in the order of the paper's Figure 1.

    `keep` are character ranges to leave alone: no span holds a word of one, and no text is inserted inside one.
    """
    protected = protected_words(text, keep)
    spans = []
    for i in range(len(text.words) + 1):
        left = text.words[i - 1].end if i else 0
        right = text.words[i].start if i < len(text.words) else len(text.source)
        if not any(start < left and right < end for start, end in keep):
            spans.append(Span(i, i))
        for j in range(i, len(text.words)):
            if protected[j] or text.bounds[j + 1] - text.bounds[i] > n_p:
                break
            spans.append(Span(i, j + 1))
    return spans
