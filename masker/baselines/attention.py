"""A classifier that shows what it looks at: an LSTM in both directions with attention, as AC-MLM trains it.

As there, a word has the embedding that the masked LM has for its first piece, which stays as it is. Sizes are AC-MLM's:
32 and 24. It is trained with torch (`attention_training`) and read with NumPy.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WEIGHTS, WORDS = "attention.safetensors", "words.json"
HIDDEN, BETWEEN = 32, 24
LONGEST = 64  # words of a text that are looked at
UNKNOWN = 0


@dataclass
class AttentionClassifier:
    """`weights` are named as torch does; `words` are those that have an embedding, after the one for all others."""

    domains: tuple[str, ...]
    words: list[str]
    weights: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        self._numbers = {word: k for k, word in enumerate(self.words, 1)}

    def ids(self, words: Sequence[str]) -> list[int]:
        return [self._numbers.get(word, UNKNOWN) for word in words[:LONGEST]]

    def attend(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """How much each word is looked at [n], which sums up to 1, and the scores of the domains [D]."""
        w = self.weights
        x = w["embedding.weight"][self.ids(words)]
        seen = self._read(x, "") + self._read(x[::-1], "_reverse")[::-1]  # [n, HIDDEN]
        energy = np.maximum(seen @ w["attention.0.weight"].T + w["attention.0.bias"], 0.0)
        energy = (energy @ w["attention.2.weight"].T + w["attention.2.bias"])[:, 0]
        share = np.exp(energy - energy.max())
        share /= share.sum()
        return share, w["out.weight"] @ (share @ seen) + w["out.bias"]

    def confidence(self, words: Sequence[str], domain: str) -> float:
        """How sure it is that words are of a domain, from 0 to 1."""
        return float(sigmoid(self.attend(words)[1])[self.domains.index(domain)])

    def _read(self, x: np.ndarray, way: str) -> np.ndarray:
        """One direction of the LSTM: [n, E] -> [n, HIDDEN]."""
        w = self.weights
        gates = x @ w[f"lstm.weight_ih_l0{way}"].T + w[f"lstm.bias_ih_l0{way}"] + w[f"lstm.bias_hh_l0{way}"]
        hidden, cell = np.zeros((2, HIDDEN), np.float32)
        states = []
        for row in gates:
            i, f, g, o = np.split(row + w[f"lstm.weight_hh_l0{way}"] @ hidden, 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(cell)
            states.append(hidden)
        return np.array(states)

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(weight) for name, weight in self.weights.items()}, folder / WEIGHTS)
        words = {"domains": self.domains, "words": self.words}
        (folder / WORDS).write_text(json.dumps(words, ensure_ascii=False), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "AttentionClassifier":
        from safetensors.numpy import load_file

        known = json.loads((folder / WORDS).read_text("utf-8"))
        return cls(tuple(known["domains"]), known["words"], load_file(folder / WEIGHTS))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x.clip(-30, 30))))
