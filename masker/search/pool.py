"""Candidates by the thousand: infills of the spans of many texts, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from masker.core.surface import infill_words
from masker.core.vocabulary import Vocabulary
from masker.search.lexicon import Lexicon

_REMEMBERED = 500_000  # infills: memory stays bounded whatever is read


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
        return Pool(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def of(cls, pools: Sequence["Pool"]) -> "Pool":
        return cls(*(np.concatenate([getattr(pool, field.name) for pool in pools]) for field in fields(cls)))

    def distinct(self) -> "Pool":
        """Every infill of a span once, where it is most likely; by their spans."""
        if not len(self):
            return self
        order = np.lexsort((-self.target_log_p, *self.pieces.T, self.row))
        row, pieces = self.row[order], self.pieces[order]
        again = (row[1:] == row[:-1]) & (pieces[1:] == pieces[:-1]).all(1)
        return self.take(order[np.concatenate([[True], ~again])])


def compact(ids: np.ndarray, pad: int) -> np.ndarray:
    """[C, n_p] pieces without the [PAD]s among them, -1 after the last."""
    real = ids != pad
    order = np.argsort(~real, axis=1, kind="stable")
    return np.where(np.take_along_axis(real, order, 1), np.take_along_axis(ids, order, 1), -1)


class Spelling:
    """Which words pieces stand for, remembered."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self._vocabulary, self._lexicon = vocabulary, lexicon
        self._known: dict[tuple[bool, tuple[int, ...]], tuple[int, ...] | None] = {}

    def words(self, pieces: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[C, n_p] pieces -> [C, n_p] words, 0 after the last, and [C] how many they are, -1 where they are none.

        `inside` [C] is whether something stands before them: without, a tokenizer may write them in another way.
        """
        keys, back = np.unique(np.concatenate([inside[:, None], pieces], 1), axis=0, return_inverse=True)
        words = np.zeros((len(keys), pieces.shape[1]), np.int64)
        counts = np.zeros(len(keys), np.int64)
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        for k, (before, *ids) in enumerate(keys.tolist()):
            key = bool(before), tuple(i for i in ids if i >= 0)
            if key not in self._known:
                self._known[key] = self._spelt(*key)
            found = self._known[key]
            if found is None or len(found) > words.shape[1]:
                counts[k] = -1
            else:
                words[k, : len(found)], counts[k] = found, len(found)
        back = back.reshape(-1)
        return words[back], counts[back]

    def forget(self) -> None:
        """The lexicon has begun anew."""
        self._known.clear()

    def _spelt(self, inside: bool, pieces: tuple[int, ...]) -> tuple[int, ...] | None:
        vocabulary = self._vocabulary
        if pieces and vocabulary.continuation[pieces[0]] and (inside or not vocabulary.spaced):
            return None  # `core.candidates.written` knows the few places where it could stand
        left = vocabulary.chunk("a", spaced=True)[0][2] if inside else ()
        infill = vocabulary.infill(left, pieces)
        words = infill_words(infill)
        if "\ufffd" in infill or not all(map(str.isprintable, words)):
            return None
        return tuple(self._lexicon.ids(word.lower() for word in words))
