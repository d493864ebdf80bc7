"""The generator of delete and retrieve (Li et al. 2018): a recurrent network that writes a sentence out of two parts.

One GRU reads the words of the content and another those of the markers, and what both have read is shown to a third at
every word that it writes (Cho et al. 2014), with maxout before the words, whose embeddings all of them share. The paper
has 512 where 256 stand here, which one core learns in half an hour. It is trained with torch (`generator_training`) and
read with NumPy.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from masker.baselines.attention import sigmoid

WEIGHTS, WORDS = "generator.safetensors", "generator.json"
HIDDEN, EMBEDDING = 256, 128
LONGEST = 64  # words of a text that are read
BEAMS, MORE = 10, 5  # width of the search; words by which a sentence may be longer than its parts
END, UNKNOWN, FIRST = 0, 1, 2  # numbers of words: END stands before and after a sentence, FIRST is that of the first


@dataclass
class Generator:
    """`weights` are named as torch does; `words` are those that can be read and written, the most frequent first."""

    words: list[str]
    weights: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        self._numbers = {word: k for k, word in enumerate(self.words, FIRST)}

    def ids(self, words: Sequence[str]) -> list[int]:
        """The numbers of words, and END."""
        return [*(self._numbers.get(word, UNKNOWN) for word in words[:LONGEST]), END]

    def write(self, content: Sequence[str], markers: Sequence[str]) -> tuple[list[str], float]:
        """The likeliest sentence that a beam search finds, and the mean log-likelihood of its words."""
        read = np.concatenate([self._read(content, "content"), self._read(markers, "markers")])
        beams, total, states = [[END]], np.zeros(1), np.zeros((1, self._size), np.float32)
        done: list[tuple[float, list[int]]] = []
        for length in range(1, len(content) + len(markers) + MORE + 2):
            log_p, states = self._next([beam[-1] for beam in beams], read, states)
            sums = total[:, None] + log_p
            rows, words = _best(sums)
            done += [(float(sums[r, END]) / length, beams[r][1:]) for r, w in zip(rows, words, strict=True) if w == END]
            on = words != END
            rows, words = rows[on], words[on]
            if len(done) >= BEAMS or not len(rows):
                break
            beams = [[*beams[r], w] for r, w in zip(rows.tolist(), words.tolist(), strict=True)]
            total, states = sums[rows, words], states[rows]
        score, ids = max(done, default=(float(total[0]) / length, beams[0][1:]))
        return [self.words[k - FIRST] for k in ids], score

    @property
    def _size(self) -> int:
        return int(self.weights["by_state.weight"].shape[1])

    @cached_property
    def _to_words(self) -> np.ndarray:
        return np.ascontiguousarray(self.weights["embedding.weight"].T)  # [EMBEDDING, V], which is read faster

    def _read(self, words: Sequence[str], part: str) -> np.ndarray:
        """What a part's GRU knows at its end [H]."""
        w, state = self.weights, np.zeros(self._size, np.float32)
        given = w["embedding.weight"][self.ids(words)] @ w[f"{part}.weight_ih_l0"].T + w[f"{part}.bias_ih_l0"]
        for row in given:
            state = _gru(row, w[f"{part}.weight_hh_l0"] @ state + w[f"{part}.bias_hh_l0"], state)
        return state

    def _next(self, words: Sequence[int], read: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log-likelihoods of what follows words [K, V], and the states after these [K, H]."""
        w = self.weights
        last = w["embedding.weight"][words]
        given = last @ w["by_word.weight"].T + w["by_word.bias"] + w["by_context.weight"] @ read
        states = _gru(given, states @ w["by_state.weight"].T + w["by_state.bias"], states)
        out = states @ w["out_state.weight"].T + w["out_state.bias"] + last @ w["out_word.weight"].T
        out = (out + w["out_context.weight"] @ read).reshape(len(words), -1, 2).max(2)
        scores = out @ self._to_words + w["bias"]
        scores[:, UNKNOWN] = -np.inf
        scores -= scores.max(1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(1, keepdims=True)), states

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(weight) for name, weight in self.weights.items()}, folder / WEIGHTS)
        (folder / WORDS).write_text(json.dumps({"words": self.words}, ensure_ascii=False), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Generator":
        from safetensors.numpy import load_file

        return cls(json.loads((folder / WORDS).read_text("utf-8"))["words"], load_file(folder / WEIGHTS))


def _best(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the highest [K, V], BEAMS of them, the highest first."""
    frequent = sums[:, :500]  # nothing below the best of these is among the best of all, which saves sorting them
    least = np.partition(frequent, -min(BEAMS, frequent.size), axis=None)[-min(BEAMS, frequent.size)]
    rows, words = np.nonzero(sums >= least)
    order = np.argsort(-sums[rows, words], kind="stable")[:BEAMS]
    return rows[order], words[order]


def _gru(given: np.ndarray, known: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The state of a GRU after a word, from the shares of the word and of the state in its gates [..., 3H]."""
    (r, z, n), (was_r, was_z, was_n) = np.split(given, 3, -1), np.split(known, 3, -1)
    new = np.tanh(n + sigmoid(r + was_r) * was_n)
    return np.asarray(new + sigmoid(z + was_z) * (state - new))
