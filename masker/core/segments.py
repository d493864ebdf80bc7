"""Where a long text is cut: what lies between two cuts is edited by itself."""

from collections.abc import Iterator
from itertools import pairwise

from masker.core.spans import Span
from masker.core.text import Text

LONGEST = 64  # words of a segment: what goes on for longer without a sentence's end is cut


def split_segments(text: Text, longest: int | None) -> Iterator[Span]:
    """The whole text, or as many whole sentences at a time as fit into `longest` pieces."""
    if not text.words:
        return
    if longest is None or len(text.pieces) <= longest:
        yield from _cut(0, len(text.words))
        return
    ends = [i + 1 for i in range(len(text.words)) if text.word(i)[-1] in ".!?…" and text.word(i) != "..."]
    start = 0
    for end, after in pairwise([*ends, len(text.words)]):
        if after <= end:
            break
        if text.bounds[after] - text.bounds[start] > longest:
            yield from _cut(start, end)
            start = end
    yield from _cut(start, len(text.words))


def _cut(start: int, stop: int) -> Iterator[Span]:
    """Stretches of about the same length, none longer than LONGEST words."""
    count = -(-(stop - start) // LONGEST)
    edges = [start + (stop - start) * k // count for k in range(count + 1)]
    yield from (Span(a, b) for a, b in pairwise(edges))
