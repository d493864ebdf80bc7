"""Candidates by the thousand: infills of the spans of many texts, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from masker.core.surface import infill_words
from masker.core.vocabulary import Vocabulary
from masker.search.keys import packed, row_keys, some_of, within
from masker.search.lexicon import Lexicon

_REMEMBERED = 500_000  # infills: memory stays bounded whatever is read
_APOSTROPHES = frozenset("'’")


@dataclass(frozen=True)
class Pool:
    """Infills, one a row. `owner` is the number of the text and `row` that of the span, among those that were asked."""

    owner: np.ndarray  # [C]
    row: np.ndarray  # [C]
    pieces: np.ndarray  # [C, n_p], -1 after the last
    target_log_p: np.ndarray  # [C] of the pieces, and of the [PAD]s after them
    source_log_p: np.ndarray

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, chosen: np.ndarray) -> "Pool":
        return Pool(*(getattr(self, field.name).take(chosen, 0) for field in fields(self)))

    @classmethod
    def of(cls, pools: Sequence["Pool"]) -> "Pool":
        return cls(*(np.concatenate([getattr(pool, field.name) for pool in pools]) for field in fields(cls)))

    def distinct(self) -> "Pool":
        """Every infill of a span once, where it is most likely; by their spans."""
        if not len(self):
            return self
        order = np.argsort(self.row, kind="stable")
        keys = -self.target_log_p, *packed(self.pieces)
        order = order[within(self.row[order], *(key[order] for key in keys))]
        row, pieces = self.row[order], self.pieces.take(order, 0)
        new = (row[1:] != row[:-1]) | some_of(pieces[1:] != pieces[:-1])
        return self.take(order[np.concatenate([[True], new])])


def compact(ids: np.ndarray, pad: int) -> np.ndarray:
    """[C, n_p] pieces without the [PAD]s among them, -1 after the last."""
    pieces = np.where(ids != pad, ids, -1)
    among = some_of((pieces[:, :-1] < 0) & (pieces[:, 1:] >= 0))  # a few of many
    order = np.argsort(pieces[among] < 0, axis=1, kind="stable")
    pieces[among] = np.take_along_axis(pieces[among], order, 1)
    return pieces


class Spelling:
    """Which words pieces stand for, remembered."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self._vocabulary, self._lexicon = vocabulary, lexicon
        self.forget()

    def forget(self) -> None:
        """The lexicon has begun anew."""
        self._known: dict[int, int] = {}  # the row of pieces, by their key
        self._spelt = np.zeros((0, 0), np.int64)  # [known, 1 + n_p] how many words, and which

    def words(self, pieces: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[C, n_p] pieces -> [C, n_p] words, 0 after the last, and [C] how many they are, -1 where they are none.

        `inside` [C] is whether something stands before them: without, a tokenizer may write them in another way.
        """
        if len(self._known) > _REMEMBERED:
            self.forget()
        asked = np.concatenate([pieces + 1, inside[:, None]], 1)
        keys, first, back = np.unique(row_keys(asked), return_index=True, return_inverse=True)
        numbers = keys.tolist()
        fresh = [k for k, key in enumerate(numbers) if key not in self._known]
        if fresh:
            self._known.update((numbers[k], n) for n, k in enumerate(fresh, len(self._known)))
            new = self._spelling(pieces[first[fresh]], inside[first[fresh]])
            self._spelt = np.concatenate([self._spelt.reshape(-1, 1 + pieces.shape[1]), new])
        spelt = self._spelt.take(np.array([self._known[key] for key in numbers], np.int64), 0).take(back.reshape(-1), 0)
        return spelt[:, 1:], spelt[:, 0]

    def _spelling(self, pieces: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """[N, n_p] pieces -> [N, 1 + n_p] how many words they are, and which."""
        vocabulary, n_p = self._vocabulary, pieces.shape[1]
        left = vocabulary.chunk("a", spaced=True)[0][2]
        goes_on = vocabulary.continuation[pieces[:, 0]] & (pieces[:, 0] >= 0) & (inside | (not vocabulary.spaced))
        found = list[tuple[str, ...] | None]()
        for row, after, no in zip(pieces.tolist(), inside.tolist(), goes_on.tolist(), strict=True):
            # `core.candidates.written` knows the few places where a piece that goes on with a word could stand
            infill = "\ufffd" if no else vocabulary.infill(left if after else (), [p for p in row if p >= 0])
            words = infill_words(infill)
            good = "\ufffd" not in infill and "".join(words).isprintable() and len(words) <= n_p
            torn = sum(map(_APOSTROPHES.__contains__, words)) % 2  # as of `'s`, whose other half is elsewhere
            found.append(words if good and not torn else None)
        spelt = np.zeros((len(found), 1 + n_p), np.int64)
        spelt[:, 0] = [-1 if words is None else len(words) for words in found]
        inside = np.arange(n_p) < spelt[:, :1]
        spelt[:, 1:][inside] = self._lexicon.ids(word.lower() for words in found if words for word in words)
        return spelt
