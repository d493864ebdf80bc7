"""Texts with replacements made, as arrays: what these do not touch is not tokenised again."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from masker.core.scoring import windows
from masker.core.spans import protected_words
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text, is_punctuation
from masker.core.vocabulary import Vocabulary
from masker.search.keys import ranges, starts_of

NEW = -2  # in the place of the number of an old word; one less than what stands before the first, so never next to it


class Patch(NamedTuple):
    """What becomes of the whitespace chunks that a replacement touches, if it is the only one."""

    start: int  # characters of the text before
    end: int
    first: int  # words of the text before
    last: int
    pieces: list[int]
    widths: list[int]  # [m] how many of the pieces its words have
    homes: list[int]  # [m] which words of the text before they are
    edges: list[int]  # words before which something has changed


# a text, the replacements to be made in it, which are in order and apart, and the patches that are known of it
Revision = tuple[Text, Sequence[Replacement], dict[Replacement, Patch]]


class Edited:
    """Whole texts with replacements made, N of them with W words all together, one after the other."""

    def __init__(self, vocabulary: Vocabulary, texts: Sequence[Revision]) -> None:
        self._vocabulary, self._made_of, number = vocabulary, texts, np.arange(len(texts))
        made = [_patches(vocabulary, *each) for each in texts]
        patches = [patch for of_text in made for patch in of_text]
        of = np.repeat(number, _sizes(made))  # [P] the text of every patch
        first, last, words, edges = (
            _flat((p.first, p.last, len(p.homes), len(p.edges)) for p in patches).reshape(-1, 4).T
        )
        before = _sizes(text.words for text, _, _ in texts)
        grown = words - (last - first)
        longer = np.bincount(of, grown, len(texts)).astype(np.int64)
        self.sizes = before + longer  # [N] words
        self.starts = starts_of(self.sizes)  # [N] the first of them
        self.number = np.repeat(number, self.sizes)  # [W] the text of every word
        moved = self.starts[of] + starts_of(grown) - starts_of(longer)[of]  # [P] by what a patch is from where it was
        passed = np.bincount(moved + first + words, grown, len(self.number) + 1)[:-1].astype(np.int64).cumsum()
        homes = np.arange(len(self.number)) - (self.starts - starts_of(longer))[self.number] - passed
        new = ranges(moved + first, words)  # the words of patches
        at, bounds = (starts_of(before) + number)[self.number], _flat(text.bounds for text, _, _ in texts)
        at = (at + homes).clip(0, max(0, len(bounds) - 2))
        pieces = _sizes(text.pieces for text, _, _ in texts)
        widths, source = bounds[at + 1] - bounds[at], bounds[at] + starts_of(pieces)[self.number]
        widths[new] = _flat(patch.widths for patch in patches)
        source[new] = pieces.sum() + starts_of(widths[new])
        homes[new] = _flat(patch.homes for patch in patches)
        self.widths = widths  # [W] how many pieces they have
        self.homes = homes  # [W] which words of the text before they are, NEW where they are none
        known = _flat(chain((text.pieces for text, _, _ in texts), (patch.pieces for patch in patches)))
        self.pieces = np.concatenate([[0], known[ranges(source, widths)]])  # of all texts; it is never empty
        wide = np.zeros(len(self.number) + len(texts), np.int64)
        wide[np.arange(len(self.number)) + self.number] = widths
        self._bounds = 1 + starts_of(wide)  # [W + N] where in these each word begins, and where each text ends
        self._old = (starts_of(before)[self.number] + homes).clip(0)
        self._edges, self._edged = _flat(p.edges for p in patches) + np.repeat(moved, edges), np.repeat(of, edges)

    @cached_property
    def sources(self) -> list[str]:
        """[N] the texts."""
        return [written(text.source, replacements) for text, replacements, _ in self._made_of]

    def old(self, values: np.ndarray, none: float) -> np.ndarray:
        """Of every word what is known of all the words before, one after the other; `none` of a new one."""
        return np.where(self.homes >= 0, values[self._old], none)

    def near(self, reach: int) -> np.ndarray:
        """[W] whether words stand at most so many words away from an edit."""
        start = self.starts[self._edged]
        first = np.maximum(start, self._edges - reach)
        stop = np.minimum(start + self.sizes[self._edged], self._edges + reach)
        counts = (np.bincount(at, minlength=len(self.homes) + 1) for at in (first, stop))
        return np.asarray(np.subtract(*counts)[:-1].cumsum() > 0)

    def rows(self, number: np.ndarray, span: np.ndarray, window: int) -> np.ndarray:
        """[S, 4] the masked inputs of spans of words, from and to [S, 2], in texts; see `core.scoring.span_rows`."""
        bounds, ends = self._bounds, self.starts + self.sizes + np.arange(len(self.sizes))
        first = bounds[ends - self.sizes]
        start, stop = bounds[span + number[:, None]].T
        at = first[number]
        return windows(at, (bounds[ends] - first)[number], start - at, stop - at, window)

    def protected(self, task: Task) -> np.ndarray:
        """[W] which words no further edit may touch, as `protected_words` has it."""
        found = np.zeros(len(self.homes), bool)
        if not len(found):
            return found
        ends = (self.starts + self.sizes).tolist()
        last = np.where(self.sizes > 0, self.homes.take(self.starts + self.sizes - 1, mode="clip"), NEW).tolist()
        for source, (text, _, _), start, end, home in zip(
            self.sources, self._made_of, self.starts.tolist(), ends, last, strict=True
        ):
            keep = task.kept_in(source)
            if keep or home < 0:
                found[start:end] = protected_words(self._vocabulary.read(source), keep)
            elif all(map(is_punctuation, text.word(home))):
                found[end - 1] = True  # it may have become the last
        return found


def written(source: str, replacements: Sequence[Replacement]) -> str:
    """A text with replacements made, which are in order and apart."""
    for r in reversed(replacements):
        source = source[: r.start] + r.new + source[r.end :]
    return source


def _patches(
    vocabulary: Vocabulary, before: Text, replacements: Sequence[Replacement], known: dict[Replacement, Patch]
) -> list[Patch]:
    made = list[Patch]()
    for r in replacements:
        if (patch := known.get(r)) is None:
            patch = known[r] = _patch(vocabulary, before, r)
        made.append(patch)
    if len(made) > 1 and any(b.start <= a.end for a, b in pairwise(made)):  # they touch the same words
        return [_made(vocabulary, before, 0, len(before.source), replacements)]
    return made


def _patch(vocabulary: Vocabulary, before: Text, r: Replacement) -> Patch:
    source, words, (start, end, new) = before.source, before.words, r
    if not (source[start : start + 1].isspace() and (new or source[end:])[:1].isspace()):
        while start and not source[start - 1].isspace():
            start -= 1
    first = not words or start <= words[0].start
    while first and end < len(source) and source[end].isspace():
        end += 1  # a tokenizer may read what is no longer first, or is now, in another way
    if first or not (source[end - 1].isspace() and (new or source[: r.start])[-1:].isspace()):
        while end < len(source) and not source[end].isspace():
            end += 1
    return _made(vocabulary, before, start, end, [r])


def _made(vocabulary: Vocabulary, before: Text, start: int, end: int, replacements: Sequence[Replacement]) -> Patch:
    """The chunks from one character to another, with replacements."""
    source, words = before.source, before.words
    first, last = bisect_left(before.starts, start), bisect_left(before.starts, end)
    if (start, end) == replacements[0][:2]:  # all of the chunks is new
        chunks = enumerate(replacements[0].new.split(), first)
        new = [word[2] for k, chunk in chunks for word in vocabulary.chunk(chunk, spaced=k > 0)]
        edges = [*range(first, first + len(new) + (bool(new) or first < last))]
        return Patch(start, end, first, last, [*chain(*new)], [*map(len, new)], [NEW] * len(new), edges)
    parts, shifts, at, by = list[str](), list[tuple[int, int, int]](), start, 0
    for r in replacements:
        parts += (source[at : r.start], r.new)
        begin, by = r.start + by, by + len(r.new) - (r.end - r.start)
        shifts.append((begin, begin + len(r.new), by))
        at = r.end
    made = vocabulary.words("".join([*parts, source[at:end]]), start, first=not first)
    place = {words[i][:2]: i for i in range(first, last)}
    pieces, widths = [piece for word in made for piece in word.pieces], [len(word.pieces) for word in made]
    homes = [place.get(_home(word.start, word.end, shifts), NEW) for word in made]
    edges = [first + k for k, (a, b) in enumerate(pairwise([first - 1, *homes, last])) if b != a + 1]
    return Patch(start, end, first, last, pieces, widths, homes, edges)


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


def _sizes(some: Iterable[Sequence[object]]) -> np.ndarray:
    return np.fromiter(map(len, some), np.int64)


def _flat(some: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(some), np.int64)
