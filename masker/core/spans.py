"""Which spans may be edited (paper, "Where to edit?")."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from masker.core.text import Text


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
    spans = list[Span]()
    stop = 0  # the first word that is too far away, or protected
    for i in range(count + 1):
        stop = max(stop, i)
        most = bounds[i] + n_p
        while stop < count and not protected[stop] and bounds[stop + 1] <= most:
            stop += 1
        spans += _from(i, stop - i)[_inside(text, i, keep) if keep else 0 :]
    return spans


def may_be_edited(
    text: Text, span: Span, keep: Sequence[tuple[int, int]] = (), fixed: Sequence[bool] | None = None
) -> bool:
    """Whether a span, of any length, holds no protected word, and is not empty inside a range of `keep`.

    `fixed` are the protected words, if they are known.
    """
    if span.start == span.stop:
        return not (keep and _inside(text, span.start, keep))
    return not any((protected_words(text, keep) if fixed is None else fixed)[span.start : span.stop])


def _inside(text: Text, i: int, keep: Sequence[tuple[int, int]]) -> bool:
    """Whether what is inserted before word i would stand inside a range of `keep`."""
    left = text.words[i - 1].end if i else 0
    right = text.words[i].start if i < len(text.words) else len(text.source)
    return any(start < left and right < end for start, end in keep)


@lru_cache(maxsize=65_536)
def _from(i: int, most: int) -> tuple[Span, ...]:
    """The spans of 0 to `most` words from word i on."""
    return tuple(Span(i, i + size) for size in range(most + 1))
