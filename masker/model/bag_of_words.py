"""A second opinion on style: logistic regression on words and pairs of words, hashed into a small table.

It sees what the style classifier of the encoder overlooks: single words that still speak for the source domain. The two
are wrong in different places, so a rewrite that convinces both is seldom wrong.
"""

import warnings
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from masker.core.text import split_words

BUCKETS = 1 << 16


class BagOfWords:
    """Which domain a text's words speak for. `weights` [D, BUCKETS] are whole numbers, to be multiplied by `scale`."""

    def __init__(self, weights: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> None:
        self.weights, self.scale, self.bias = weights, scale, bias
        self._table = np.ascontiguousarray((weights * scale[:, None]).T)  # [BUCKETS, D]

    @classmethod
    def fit(cls, corpora: Sequence[Sequence[str]], *, seed: int = 0) -> "BagOfWords":
        """One corpus a domain. Domains weigh alike, however large they are."""
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression

        rows = [_buckets(text) for texts in corpora for text in texts]
        labels = np.repeat(np.arange(len(corpora)), [len(texts) for texts in corpora])
        ends = np.cumsum([0, *map(len, rows)])
        found = csr_matrix((np.ones(ends[-1], np.float32), np.concatenate(rows), ends), (len(rows), BUCKETS))
        model = LogisticRegression(C=0.3, class_weight="balanced", max_iter=200, tol=1e-3, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 200 rounds are enough, whatever is left to gain
            model.fit(found, labels)
        weights, bias = model.coef_, model.intercept_
        if len(corpora) == 2:  # scikit-learn has one row for two domains: that of the second against the first
            weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
        scale = np.abs(weights).max(1) / 127 + 1e-12
        return cls(
            np.round(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32), bias.astype(np.float32)
        )

    def log_probs(self, texts: Sequence[str]) -> np.ndarray:
        """Natural log-probabilities [n, D] of the domains."""
        sums = [self._table[_buckets(text)].sum(0) for text in texts]
        logits = np.array(sums).reshape(-1, len(self.bias)) + self.bias
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def state(self) -> dict[str, np.ndarray]:
        """As arrays to be stored; most weights are near zero, so the table is compressed."""
        table = np.frombuffer(zlib.compress(self.weights.tobytes(), 9), np.uint8)
        return {"words.weights": table, "words.scale": self.scale, "words.bias": self.bias}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "BagOfWords":
        table, scale, bias = (np.asarray(state[f"words.{name}"]) for name in ("weights", "scale", "bias"))
        weights = np.frombuffer(zlib.decompress(table.tobytes()), np.int8).reshape(len(bias), -1)
        return cls(weights, scale, bias)


def _buckets(text: str) -> np.ndarray:
    """The different words and pairs of neighbours of a text, as numbers of buckets."""
    words = [text[a:b].lower() for a, b in split_words(text)]
    pairs = (f"{a} {b}" for a, b in zip(["", *words], [*words, ""], strict=True))
    return np.fromiter({_bucket(gram) for gram in chain(words, pairs)}, np.int64)


@lru_cache(maxsize=1 << 18)
def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode()) % BUCKETS
