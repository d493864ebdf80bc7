"""Words as numbers, so that thousands of drafts are compared, and read by the words' classifier, as arrays.

The classifier hashes words and pairs of words with CRC-32. That of `a b` follows from those of `a` and of ` b` by a
table for the length of ` b`, so that pairs need not be spelt out.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from masker.model.bag_of_words import BUCKETS

_ALL = 0xFFFFFFFF
_BUCKET = np.uint32(BUCKETS - 1)  # the bits of a checksum that say which bucket it is
_MOST = 500_000  # words, after which it begins anew: memory stays bounded whatever is read


class Lexicon:
    """Lower-case words and their numbers, from 1 on: 0 is no word, which stands before the first and after the last."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._ids: dict[str, int] = {"": 0}
        self._crc = np.zeros((2, 1024), np.uint32)  # of the word, and of the word with a space before it
        self._shift = np.zeros(1024, np.int64)  # where the table begins that goes with its length
        self._alpha = np.zeros(1024, bool)
        self._tables = np.zeros((0, 4, 256), np.uint32)
        self._table_of: dict[int, int] = {}
        self._note(0, [""])

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def full(self) -> bool:
        return len(self) > _MOST

    def ids(self, words: Iterable[str]) -> list[int]:
        known, words = self._ids, list(words)
        found = [*map(known.get, words)]
        if None in found:
            self._add([*dict.fromkeys(word for word, number in zip(words, found, strict=True) if number is None)])
        return [known[word] for word in words]

    def rows(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """[N, L] the numbers of the words of texts, 0 after the last."""
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        inside = np.arange(max(1, sizes.max(initial=0))) < sizes[:, None]
        table = np.zeros(inside.shape, np.int64)
        table[inside] = self.ids(chain.from_iterable(texts))
        return table

    def alpha(self, ids: np.ndarray) -> np.ndarray:
        """Whether words are made of letters alone."""
        return self._alpha[ids]

    def buckets(self, rows: np.ndarray) -> np.ndarray:
        """[N, L] ids, 0 after the last -> [N, 2 L + 1] buckets of the words and pairs, -1 where there is none."""
        around, size = np.pad(rows, ((0, 0), (1, 1))), rows.shape[1]
        crc, second = self._crc[0].take(around), around[:, 1:]
        buckets = np.empty((len(rows), 2 * size + 1), np.int32)
        buckets[:, :size] = crc[:, 1:-1] & _BUCKET
        first, pairs, table = crc[:, :-1].copy(), self._crc[1].take(second), self._shift.take(second)
        for _ in range(4):
            pairs ^= self._tables.take(table + (first & np.uint32(255)))
            first >>= np.uint32(8)
            table += 256
        buckets[:, size:] = pairs & _BUCKET
        none = rows == 0
        buckets[:, :size][none] = buckets[:, size + 1 :][none] = -1
        return buckets

    def _add(self, words: list[str]) -> None:
        first = len(self._ids)
        while first + len(words) > len(self._shift):
            self._crc = np.concatenate([self._crc, np.zeros_like(self._crc)], 1)
            self._shift = np.concatenate([self._shift, np.zeros_like(self._shift)])
            self._alpha = np.concatenate([self._alpha, np.zeros_like(self._alpha)])
        self._ids.update(zip(words, range(first, first + len(words)), strict=True))
        self._note(first, words)

    def _note(self, first: int, words: list[str]) -> None:
        """What is known of words, the numbers of which begin with the first."""
        mine, every = slice(first, first + len(words)), [f" {word}".encode(errors="surrogatepass") for word in words]
        self._crc[0, mine] = [zlib.crc32(spaced[1:]) for spaced in every]
        self._crc[1, mine] = [zlib.crc32(spaced) for spaced in every]
        self._alpha[mine] = [word.isalpha() for word in words]
        for size in {len(spaced) for spaced in every} - self._table_of.keys():
            self._table_of[size] = self._tables.size
            self._tables = np.concatenate([self._tables, _zeros(size)[None]])
        self._shift[mine] = [self._table_of[len(spaced)] for spaced in every]


@lru_cache(maxsize=256)
def _zeros(count: int) -> np.ndarray:
    """[4, 256] what so many zero bytes make of each byte of a checksum; all of it is the XOR of the four."""
    zeros = bytes(count)
    return np.array(
        [[zlib.crc32(zeros, ~(x << 8 * byte) & _ALL) ^ _ALL for x in range(256)] for byte in range(4)], np.uint32
    )
