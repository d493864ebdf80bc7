"""A critic: how probably a reader accepts a rewrite.

It is the model's own encoder, of which a few numbers have been changed, and reads a text and its rewrite together:

    [CLS] DOMAIN a text [SEP] its rewrite [SEP]

Of every weight W the critic stores two narrow matrices in int8, NAME.up and NAME.down, and what their product is to be
multiplied with, NAME.scale [rank]: it computes with W + (up * scale) @ down.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from masker.core.vocabulary import Vocabulary
from masker.data.checked import checked, read_versioned
from masker.errors import MaskerError
from masker.model.folder import CRITIC_CARD
from masker.model.weights import Weights

_FORMAT = 1
UP, DOWN, SCALE, HEAD = ".up", ".down", ".scale", "head"
ASPECTS = ("accepted", "style", "content", "fluency")  # what it learns to tell; the first is what it is asked for
LONGEST = 96  # pieces of a text, and of its rewrite, that are read


@dataclass(frozen=True)
class CriticCard:
    """What critic.json says: the domains whose rewrites it has seen rated, how its scores become probabilities
    (logit = scale * score + shift, on rewrites that it had not seen), and how it was made.
    """

    domains: tuple[str, ...]
    scale: float = 1.0
    shift: float = 0.0
    made: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "CriticCard":
        if not is_critic(folder):
            raise MaskerError(f"{folder} holds no critic ({CRITIC_CARD} is missing); make one with masker critic")
        where = folder / CRITIC_CARD
        card = checked(cls, read_versioned(where, _FORMAT), where)
        if card.scale <= 0:
            raise MaskerError(f"{where}: 'scale' is {card.scale}; it has to be above 0")
        return replace(card, domains=tuple(card.domains))

    def write(self, folder: Path) -> None:
        fields = {"format": _FORMAT, "domains": list(self.domains), "scale": self.scale, "shift": self.shift}
        text = json.dumps({**fields, "made": self.made}, indent=2, ensure_ascii=False)
        (folder / CRITIC_CARD).write_text(text + "\n", "utf-8")

    def probability(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-(self.scale * scores + self.shift))))


def is_critic(folder: str | Path) -> bool:
    return (Path(folder).expanduser() / CRITIC_CARD).is_file()


def rows_of(vocabulary: Vocabulary, to: str, sources: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """What the critic reads of rewrites; many of them may be of one source."""
    head, end = [*vocabulary.start, vocabulary.domain(to)], vocabulary.end
    known = {source: [*head, *vocabulary.pieces(source)[:LONGEST], *end] for source in {*sources}}
    pairs = zip(sources, texts, strict=True)
    return [[*known[source], *vocabulary.pieces(text)[:LONGEST], *end] for source, text in pairs]


def narrow(up: np.ndarray, down: np.ndarray) -> dict[str, np.ndarray]:
    """Two matrices [out, rank] and [rank, in] in int8, with one scale for each of their ranks."""
    tops = [np.maximum(np.abs(matrix).max(axis), 1e-12) / 127 for matrix, axis in ((up, 0), (down, 1))]
    codes = np.rint(up / tops[0]).astype(np.int8), np.rint(down / tops[1][:, None]).astype(np.int8)
    return {UP: codes[0], DOWN: codes[1], SCALE: (tops[0] * tops[1]).astype(np.float32)}


class CriticWeights(Mapping[str, np.ndarray]):
    """The weights that a critic computes with, by the names that they have in the model; its own last layer as HEAD."""

    def __init__(self, folder: Path, base: Path) -> None:
        self._own, self._base = Weights(folder), Weights(base)

    @cached_property
    def _changed(self) -> set[str]:
        return {name.removesuffix(UP) for name in self._own if name.endswith(UP)}

    def __getitem__(self, name: str) -> np.ndarray:
        if name.startswith(HEAD):
            return self._own[name].astype(np.float32)
        weight = self._base[name]
        if name not in self._changed:
            return weight
        up, down, scale = (self._own[name + part].astype(np.float32) for part in (UP, DOWN, SCALE))
        return np.asarray(weight.reshape(len(up), -1) + (up * scale) @ down)

    def __iter__(self) -> Iterator[str]:
        yield from self._base
        yield from (name for name in self._own if name.startswith(HEAD))

    def __len__(self) -> int:
        return sum(1 for _ in self)
