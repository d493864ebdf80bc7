"""Holes: what a rewriting leaves of a text, and what stands in place of the rest.

A source's words are kept or not, by the longest common subsequence of its pieces and its target's. Between two words
that are kept, a hole may lose words and gain pieces; every word outside the holes stays as it is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from masker.core.alignment import common_subsequence
from masker.core.candidates import spelt, write
from masker.core.spans import Span
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
    match = [-1] * len(text.pieces)  # for each piece of the source its place in the target, -1 for none
    for i, j in common_subsequence(text.pieces, target, forward=True):
        match[i] = j
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


def realise(vocabulary: Vocabulary, text: Text, holes: Sequence[Hole]) -> str:
    """Write the holes into the text, spaced and capitalised as the text is; `[UNK]` and its like are left out.

    A text of which nothing would be left stays as it is.
    """
    before = text.source
    for hole in reversed(holes):  # from the right, so that the words before a hole keep their numbers
        infill = spelt(vocabulary, text, hole.span, [piece for piece in hole.pieces if vocabulary.infillable[piece]])
        new = write(vocabulary, text, hole.span, infill, [False] * len(text.words))
        text = vocabulary.read(text.source[: new.start] + new.new + text.source[new.end :])
    return text.source if text.words else before


def beginning(text: Text, pieces: int) -> Text:
    """The words of a text that are within its first `pieces` pieces: what a student reads of a long one."""
    if len(text.pieces) <= pieces:
        return text
    return Text(text.source, text.words[: sum(end <= pieces for end in text.bounds[1:])])
