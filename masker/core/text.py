"""Text: words and wordpieces with the characters they came from.

A word is a whitespace chunk with its outer punctuation split off: `"Don't!"` has the words `"`, `Don't`, `!` and `"`.
Scripts that are written without spaces are cut into words by libraries, where these are installed (`core.unspaced`).
Pieces never cross a word, so a span of words is always a span of whole pieces.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from masker.core.unspaced import is_unspaced, stretches

_CHUNK = re.compile(r"\S+")
_HALF = re.compile("[\ud800-\udfff]")
_ENDS = re.compile(r"[.!?…‼⁇⁈⁉。．！？｡؟۔।॥։።፧။។៕]+")  # Latin, Chinese, Arabic, Indian, Armenian, Khmer ...
_CLITIC = re.compile(r"['’](?:m|s|re|ve|ll|d|t)|n['’]t", re.IGNORECASE)
_ELIDED = re.compile(r"['’](?:em|n|til|cause|tis|twas|\d0s)", re.IGNORECASE)  # these stand apart in any text


def not_unicode(text: str) -> str | None:
    """What is wrong with a text that no encoding could write, as bytes in a command line that are no UTF-8 become."""
    half = _HALF.search(text)
    return half and f"not valid Unicode (half of a surrogate pair at character {half.start() + 1}); mend it"


@lru_cache(maxsize=4096)
def is_punctuation(character: str) -> bool:
    """Punctuation that is split off a word. An underscore never is: `_num_` is one word."""
    return character in "`´" or (character != "_" and unicodedata.category(character).startswith("P"))


def ends_sentence(word: str) -> bool:
    """Whether a word is a mark that a sentence may end with, or a run of them, in any script."""
    return bool(_ENDS.fullmatch(word))


def has_end(source: str, stop: int) -> bool:
    """Whether something that a sentence may end with, a mark or a new line, is among the first `stop` characters."""
    return bool(_ENDS.search(source, 0, stop)) or "\n" in source


def is_clitic(word: str) -> bool:
    """`'s`, `'m`, `n't` and their like: written onto the word before, or apart in space-tokenised text."""
    return bool(_CLITIC.fullmatch(word))


def split_chunk(chunk: str) -> tuple[tuple[int, int], ...]:
    """The words of one whitespace chunk, as offsets. A run of one punctuation mark (`...`, `!!`) is one word."""
    if chunk.isascii() or not is_unspaced(chunk):
        return split_spaced(chunk)
    parts = ((a, b, split_spaced(chunk[a:b]) if more else ((0, b - a),)) for a, b, more in stretches(chunk))
    return tuple((start + a, start + b) for start, _, words in parts for a, b in words)


@lru_cache(maxsize=65_536)
def split_spaced(chunk: str) -> tuple[tuple[int, int], ...]:
    """The same where spaces part the words."""
    left, right = 0, len(chunk)
    while right > 0 and is_punctuation(chunk[right - 1]):
        right -= 1
    while left < right and is_punctuation(chunk[left]):
        left += 1
    if 0 < left < right and any(kind.fullmatch(chunk, left - 1, right) for kind in (_CLITIC, _ELIDED)):
        left -= 1  # 'm and 'em keep their apostrophe
    edges = [*_runs(chunk, 0, left), left, right, *_runs(chunk, right, len(chunk))]
    edges = sorted({0, *edges, len(chunk)})
    return tuple(pairwise(edges))


def _runs(chunk: str, start: int, stop: int) -> list[int]:
    return [k for k in range(start + 1, stop) if chunk[k] != chunk[k - 1]]


def split_words(source: str) -> list[tuple[int, int]]:
    """Character offsets of all words of a text."""
    return [(m.start() + a, m.start() + b) for m in _CHUNK.finditer(source) for a, b in split_chunk(m.group())]


class Word(NamedTuple):
    """Characters `start` to `end` of the source, the ids of their wordpieces and where these stand in the word."""

    start: int
    end: int
    pieces: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


_START, _PIECES = attrgetter("start"), attrgetter("pieces")


@dataclass(frozen=True)
class Text:
    """A source string with its words. `vocabulary.Vocabulary.read` makes one."""

    source: str
    words: tuple[Word, ...]

    def __str__(self) -> str:
        return self.source

    def word(self, i: int) -> str:
        return self.source[self.words[i].start : self.words[i].end]

    @cached_property
    def pieces(self) -> list[int]:
        """Ids of all pieces, w_1 .. w_|W|."""
        return [*chain.from_iterable(map(_PIECES, self.words))]

    @cached_property
    def bounds(self) -> list[int]:
        """Index of each word's first piece, and of the end: word i is `pieces[bounds[i]:bounds[i+1]]`."""
        return [*accumulate(map(len, map(_PIECES, self.words)), initial=0)]

    @cached_property
    def parts(self) -> list[tuple[Any, Any]]:
        """What asked for it, and what it was cut into (`core.segments`): several editors read the same text."""
        return []

    @cached_property
    def starts(self) -> list[int]:
        """The first character of each word."""
        return [*map(_START, self.words)]

    @cached_property
    def final(self) -> int | None:
        """Index of the final word if it is punctuation: the paper never touches it."""
        last = len(self.words) - 1
        return last if last >= 0 and all(map(is_punctuation, self.word(last))) else None
