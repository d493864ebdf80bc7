"""A trigram language model: counted in seconds, and a stranger to every system that it measures."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from masker.data.checked import check_kind, read_object
from masker.errors import MaskerError
from masker.evaluation.normalise import normalise
from masker.model.folder import one_line, staged

CARD, WEIGHTS = "ngram_lm.json", "model.safetensors"
START, END, UNKNOWN = "<s>", "</s>", "<unk>"


class NgramLM:
    """Interpolated Kneser-Ney trigrams of normalised words; ln P of a text includes its end.

    Words seen once are counted as <unk> and share its probability evenly; an unseen word gets the share of one of them.
    """

    def __init__(self, words: Sequence[str], rare: int, orders: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        self.words, self.rare = list(words), rare
        self.orders = list(orders)  # of 1, 2 and 3 words: sorted keys [N], how often each was seen [N]
        self._ids = {word: i for i, word in enumerate(self.words)}
        self._tables = [_Discounted(keys, counts, len(self.words)) for keys, counts in self.orders]

    @classmethod
    def fit(cls, lines: Iterable[str]) -> "NgramLM":
        """Count the words of lines, which are normalised first."""
        texts = [normalise(line).split() for line in lines]
        names, counts = np.unique([word for text in texts for word in text], return_counts=True)
        special = [START, END, UNKNOWN]
        words = [*special, *(word for word in names[counts > 1].tolist() if word not in special)]
        if len(words) == 3:
            raise MaskerError("no word occurs twice in the lines; give more of them to count")
        model = cls(words, max(1, int((counts == 1).sum())), [])
        keys, seen = np.unique(model._trigrams(texts), return_counts=True)
        orders, size = [(keys, seen)], len(words)
        for n in (2, 1):  # Kneser-Ney: what counts below is in how many contexts words were seen, not how often
            keys, seen = np.unique(keys % size**n, return_counts=True)
            orders.insert(0, (keys, seen))
        return cls(words, model.rare, orders)

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """ln P of each whole text."""
        split = [normalise(text).split() for text in texts]
        keys = self._trigrams(split)
        log_p = np.log(self._probabilities(keys))
        log_p -= np.log(self.rare) * (keys % len(self.words) == self._ids[UNKNOWN])
        stops = np.cumsum([len(words) + 1 for words in split], dtype=int)
        return [float(part.sum()) for part in np.split(log_p, stops)[: len(split)]]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model to a folder, its card last."""
        from safetensors.numpy import save_file

        folder = Path(folder).expanduser()
        tensors = {
            f"{name}.{n}": a for n, order in enumerate(self.orders, 1) for name, a in zip("kc", order, strict=True)
        }
        card = json.dumps({"rare": self.rare, "words": self.words}, ensure_ascii=False)
        with one_line(f"cannot save the language model in {folder}"), staged(folder) as stage:
            save_file(tensors, stage / WEIGHTS)
            (stage / CARD).write_text(card, "utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "NgramLM":
        """Load a model that `save_pretrained` wrote."""
        from safetensors.numpy import load_file

        folder = Path(folder).expanduser()
        card, where = read_object(folder / CARD), folder / CARD
        with one_line(f"cannot load the language model at {folder}"):
            check_kind("words", card["words"], list[str], where)
            check_kind("rare", card["rare"], int, where)
            if card["words"][:3] != [START, END, UNKNOWN] or card["rare"] < 1:
                raise MaskerError(f"{where} does not begin with {START}, {END} and {UNKNOWN}; count it again")
            tensors = load_file(folder / WEIGHTS)
            orders = [(tensors[f"k.{n}"], tensors[f"c.{n}"]) for n in (1, 2, 3)]
            size = len(card["words"])
            for n, (keys, counts) in enumerate(orders, 1):
                if keys.shape != counts.shape or not len(keys) or keys.min() < 0 or keys.max() >= size**n:
                    raise MaskerError(f"{where} and {WEIGHTS} do not belong together; count it again")
            return cls(card["words"], card["rare"], orders)

    def _probabilities(self, keys: np.ndarray) -> np.ndarray:
        """P(last word | the two before it) of trigrams."""
        size = len(self.words)
        p = np.full(len(keys), 1 / (size - 1))  # <s> never follows
        for n, table in enumerate(self._tables, 1):
            p = table.probabilities(keys % size**n, p)
        return p

    def _trigrams(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """All trigrams of texts as numbers: the last word is the last digit to the base of the number of words."""
        unknown, size = self._ids[UNKNOWN], len(self.words)
        # <s>, </s> and <unk> are the first three; written in a text, they are words like others
        rows = ((0, 0, *(max(self._ids.get(word, unknown), unknown) for word in text), 1) for text in texts)
        ids = np.array([i for row in rows for i in row], dtype=np.int64)
        keys = (ids[:-2] * size + ids[1:-1]) * size + ids[2:]
        return keys[ids[2:] != 0]


class _Discounted:
    """n-grams of one order: a discount is taken from each count, and given to the order below."""

    def __init__(self, keys: np.ndarray, counts: np.ndarray, size: int) -> None:
        self.keys, self.counts, self.size = keys, counts, size
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        self.discount = float(once / (once + 2 * twice)) if once and twice else 0.5
        self.contexts, first = np.unique(keys // size, return_index=True)  # keys are sorted, so contexts are in runs
        self.totals = np.add.reduceat(counts, first)
        self.types = np.diff([*first, len(keys)])

    def probabilities(self, keys: np.ndarray, below: np.ndarray) -> np.ndarray:
        """P(last word | words before it), `below` being the same with one word less."""
        at, found = _find(self.keys, keys)
        seen = np.where(found, self.counts[at] - self.discount, 0.0)
        at, found = _find(self.contexts, keys // self.size)
        p = (seen + self.discount * self.types[at] * below) / self.totals[at]
        return np.where(found, p, below)


def _find(table: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where keys are in a sorted table, and which of them are there at all."""
    at = np.searchsorted(table, keys).clip(max=len(table) - 1)
    return at, table[at] == keys
