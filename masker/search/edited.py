"""A text with replacements made: what they do not touch is not tokenised again."""

from bisect import bisect_left
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from masker.core.spans import protected_words
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text, is_punctuation
from masker.core.vocabulary import Vocabulary

NEW = -2  # in the place of the number of an old word; one less than what stands before the first, so never next to it


class Patch(NamedTuple):
    """What becomes of the whitespace chunks that a replacement touches, if it is the only one."""

    start: int  # characters of the text before
    end: int
    first: int  # words of the text before
    last: int
    pieces: list[int]
    bounds: list[int]  # [m] where in the pieces of the text its words begin
    homes: list[int]  # [m] which words of the text before they are
    edges: list[int]  # words before which something has changed


class Edited:
    """A whole text with replacements made, which are in order and apart.

    `homes` tells which words of the text before its words are, NEW where they are none. `patches` are those that are
    known of the text before.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        before: Text,
        replacements: Sequence[Replacement],
        patches: dict[Replacement, Patch] | None = None,
    ) -> None:
        self._vocabulary, self._before, self._replacements = vocabulary, before, replacements
        made, patches = list[Patch](), {} if patches is None else patches
        for r in replacements:
            if (patch := patches.get(r)) is None:
                patch = patches[r] = _patch(vocabulary, before, r)
            made.append(patch)
        if len(made) > 1 and any(b.start <= a.end for a, b in pairwise(made)):  # they touch the same words
            made = [_made(vocabulary, before, 0, len(before.source), replacements)]
        known, old = before.pieces, before.bounds
        pieces, bounds, homes, edges = list[int](), list[int](), list[int](), list[int]()
        done = 0  # words of the text before
        for patch in made:
            first = patch.first
            by, moved = len(pieces) - old[done], len(homes) - done  # what came before has made it so much longer
            pieces += known[old[done] : old[first]]
            pieces += patch.pieces
            bounds += [at + by for at in old[done:first] + patch.bounds] if by else old[done:first] + patch.bounds
            homes += range(done, first)
            homes += patch.homes
            edges += [at + moved for at in patch.edges]
            done = patch.last
        by = len(pieces) - old[done]
        bounds += [at + by for at in old[done:]] if by else old[done:]
        self.pieces, self.bounds = pieces + known[old[done] :], bounds
        self.homes = homes + list(range(done, len(before.words)))
        self._edges = edges

    @cached_property
    def source(self) -> str:
        return written(self._before.source, self._replacements)

    @cached_property
    def text(self) -> Text:
        return self._vocabulary.read(self.source)

    def protected(self, task: Task) -> list[bool]:
        """Which words no further edit may touch, as `protected_words` has it."""
        keep = task.kept_in(self.source)
        if keep or not self.homes or self.homes[-1] < 0:
            return protected_words(self.text, keep)
        protected = [False] * len(self.homes)
        protected[-1] = all(map(is_punctuation, self._before.word(self.homes[-1])))  # it may have become the last
        return protected

    def near(self, reach: int, among: Container[int]) -> list[int]:
        """Those of some old words that stand at most so many words away from an edit."""
        found, at, homes = list[int](), 0, self.homes
        for edge in self._edges:
            stop = min(edge + reach, len(homes))
            found += [j for j in range(max(at, edge - reach), stop) if homes[j] in among]
            at = max(at, stop)
        return found


def written(source: str, replacements: Sequence[Replacement]) -> str:
    """A text with replacements made, which are in order and apart."""
    for r in reversed(replacements):
        source = source[: r.start] + r.new + source[r.end :]
    return source


def _patch(vocabulary: Vocabulary, before: Text, r: Replacement) -> Patch:
    source, words = before.source, before.words
    start, end = r.start, r.end
    while start and not source[start - 1].isspace():
        start -= 1
    if not words or start <= words[0].start:  # a tokenizer may read what is no longer first, or is now, in another way
        while end < len(source) and source[end].isspace():
            end += 1
    while end < len(source) and not source[end].isspace():
        end += 1
    return _made(vocabulary, before, start, end, [r])


def _made(vocabulary: Vocabulary, before: Text, start: int, end: int, replacements: Sequence[Replacement]) -> Patch:
    """The chunks from one character to another, with replacements."""
    source, words = before.source, before.words
    first, last = bisect_left(before.starts, start), bisect_left(before.starts, end)
    parts, shifts, at, by = list[str](), list[tuple[int, int, int]](), start, 0
    for r in replacements:
        parts += (source[at : r.start], r.new)
        new, by = r.start + by, by + len(r.new) - (r.end - r.start)
        shifts.append((new, new + len(r.new), by))
        at = r.end
    made = vocabulary.words("".join([*parts, source[at:end]]), start, first=not first)
    whole = (start, end) == replacements[0][:2]  # all of the chunks is new
    place = {} if whole else {words[i][:2]: i for i in range(first, last)}
    pieces, bounds, homes, at = list[int](), list[int](), list[int](), before.bounds[first]
    for begin, stop, of_word, _ in made:
        homes.append(place.get(_home(begin, stop, shifts), NEW) if place else NEW)
        bounds.append(at + len(pieces))
        pieces += of_word
    edges = [first + k for k, (a, b) in enumerate(pairwise([first - 1, *homes, last])) if b != a + 1]
    return Patch(start, end, first, last, pieces, bounds, homes, edges)


def _home(start: int, end: int, shifts: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """Where characters stood before; nowhere if some of them are new. `shifts` say where new characters are, from and
    to, and how far what comes after them is moved.
    """
    by = 0
    for begin, stop, shift in shifts:
        if end <= begin:
            break
        if start < stop:
            return -1, -1
        by = shift
    return start - by, end - by
