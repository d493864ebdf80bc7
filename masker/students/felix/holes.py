"""Holes: what a rewriting leaves of a text, and what stands in place of the rest.

A source's words are kept or not, by the longest common subsequence of its pieces and its target's. Between two words
that are kept, a hole may lose words and gain pieces; every word outside the holes stays as it is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from masker.core.spans import Span
from masker.core.surface import replacement
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Hole:
    """The words of `span` are deleted (none, if it is empty) and `pieces` inserted in their place."""

    span: Span
    pieces: tuple[int, ...]


def align(vocabulary: Vocabulary, text: Text, target: Sequence[int]) -> list[Hole]:
    """The holes that turn `text` into the pieces `target`, from left to right; at least one word is kept between two.

    A word is kept if all its pieces are, and if no new piece goes on with it: `quick` is not kept in `quick ##ly`.
    """
    match = _common(text.pieces, target)
    continuation = vocabulary.continuation
    holes: list[Hole] = []
    word, at = 0, 0  # the next word, and the next piece of the target
    for i in range(len(text.words)):
        first, end = text.bounds[i], text.bounds[i + 1]
        place = match[first]
        after = place + end - first
        if place < 0 or match[end - 1] != after - 1:
            continue
        if after < len(target) and continuation[target[after]] and (end == len(match) or match[end] != after):
            continue
        if word < i or at < place:
            holes.append(Hole(Span(word, i), tuple(target[at:place])))
        word, at = i + 1, after
    if word < len(text.words) or at < len(target):
        holes.append(Hole(Span(word, len(text.words)), tuple(target[at:])))
    return holes


def _common(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """A longest common subsequence: for each piece of the source its place in the target, -1 for none."""
    head, short = 0, min(len(source), len(target))
    while head < short and source[head] == target[head]:
        head += 1
    tail = 0
    while tail < short - head and source[-1 - tail] == target[-1 - tail]:
        tail += 1
    a, b = source[head : len(source) - tail], target[head : len(target) - tail]
    # longest[i][j]: length of the longest common subsequence of a[i:] and b[j:]
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = longest[i], longest[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    match = [*range(head), *[-1] * len(a), *range(len(target) - tail, len(target))]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            match[head + i] = head + j
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return match


def realise(vocabulary: Vocabulary, text: Text, holes: Sequence[Hole]) -> str:
    """Write the holes into the text, spaced and capitalised as the text is; `[UNK]` and its like are left out.

    A text of which nothing would be left stays as it is.
    """
    before = text.source
    for hole in reversed(holes):  # from the right, so that the words before a hole keep their numbers
        left = text.pieces[: text.bounds[hole.span.start]]
        infill = vocabulary.infill(left, [piece for piece in hole.pieces if vocabulary.infillable[piece]])
        new = replacement(text, hole.span, infill, fixed=[False] * len(text.words))
        text = vocabulary.read(text.source[: new.start] + new.new + text.source[new.end :])
    return text.source if text.words else before


def beginning(text: Text, pieces: int) -> Text:
    """The words of a text that are within its first `pieces` pieces: what a student reads of a long one."""
    if len(text.pieces) <= pieces:
        return text
    return Text(text.source, text.words[: sum(end <= pieces for end in text.bounds[1:])])
