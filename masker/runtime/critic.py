"""How probably a reader accepts rewrites, by a critic: on the CPU by ONNX Runtime in int8, else by torch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from masker.core.batching import by_length, padded
from masker.core.vocabulary import Vocabulary
from masker.model.critic import CriticCard, CriticWeights, rows_of
from masker.model.folder import GRAPHS, fingerprint
from masker.runtime import chosen_device, load_network
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import OnnxGraph

if TYPE_CHECKING:
    from masker.runtime import Device


_REMEMBERED = 50_000  # pairs: more than come of the texts that are edited at a time


class Critic(ABC):
    """A critic that was taught by ratings (`masker critic`)."""

    batch_tokens: int  # that suit it
    remembers = False  # what it has read: in int8, what it makes of a pair depends on others that are read with it

    def __init__(self, card: CriticCard, vocabulary: Vocabulary) -> None:
        self.card, self.vocabulary = card, vocabulary
        self._known: dict[tuple[str, str, str], float] = {}  # by the domain, a text and its rewrite

    def knows(self, to: str) -> bool:
        """Whether it has seen rewrites to this domain rated."""
        return to in self.card.domains

    def accepts(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        """[N] the probabilities that a reader accepts `texts` as rewrites of `sources`."""
        if not self.remembers:
            return self._read(to, sources, texts)
        if len(self._known) > _REMEMBERED:
            self._known = {}
        known, pairs = self._known, [*zip(repeat(to), sources, texts)]
        if fresh := [*dict.fromkeys(pair for pair in pairs if pair not in known)]:
            found = self._read(to, [source for _, source, _ in fresh], [text for _, _, text in fresh])
            known.update(zip(fresh, found.tolist(), strict=True))
        return np.array([known[pair] for pair in pairs])

    def _read(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        rows = rows_of(self.vocabulary, to, sources, texts)
        scores = np.zeros(len(rows))
        for chosen in by_length([len(each) for each in rows], self.batch_tokens):
            scores[chosen] = self._scores(*padded([rows[k] for k in chosen.tolist()], self.vocabulary.pad))
        return self.card.probability(scores)

    @abstractmethod
    def _scores(self, ids: np.ndarray, attention: np.ndarray) -> np.ndarray:
        """[B, L] -> [B]."""


class TorchCritic(Critic):
    """In bfloat16 on a GPU, in float32 on the CPU."""

    remembers = True

    def __init__(self, network: Any, card: CriticCard, device: "Device" = None) -> None:
        import torch

        from masker.runtime.memory import InParts

        super().__init__(card, network.model.vocabulary)
        self.device = torch.device(chosen_device(device))
        on_gpu = self.device.type == "cuda"
        self.network = network.to(self.device, torch.bfloat16 if on_gpu else torch.float32).eval()
        self.batch_tokens, self._in_parts = 65_536 if on_gpu else 1024, InParts()

    def _scores(self, ids: np.ndarray, attention: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            inputs = (torch.from_numpy(array).to(self.device) for array in (ids, attention))
            (found,) = self._in_parts(lambda *part: (self.network(*part),), *inputs)
            scores: np.ndarray = found[:, 0].float().cpu().numpy()
        return scores


class OnnxCritic(Critic):
    """By its graphs, with the weights of the model; neither torch nor transformers is imported."""

    batch_tokens = 1024

    def __init__(self, folder: Path, base: Path, vocabulary: Vocabulary, *, exact: bool = False) -> None:
        super().__init__(CriticCard.read(folder), vocabulary)
        graphs = Graphs(folder, CriticWeights(folder, base), fingerprint(folder, base))
        self._graph = OnnxGraph(graphs, FLOAT32 if exact else INT8)
        self._graph.ragged = True

    def _scores(self, ids: np.ndarray, attention: np.ndarray) -> np.ndarray:
        return self._graph.run({"ids": ids, "attention": attention}, {})["scores"][:, 0]


def load_critic(
    folder: Path, base: Path, vocabulary: Vocabulary, device: "Device" = None, *, exact: bool = False
) -> Critic:
    """The critic in a folder, of the model in another. On the CPU by ONNX Runtime, in int8 unless `exact`."""
    if (folder / GRAPHS).is_file() and chosen_device(device) == "cpu":
        return OnnxCritic(folder, base, vocabulary, exact=exact)
    from masker.model.critic_network import CriticNetwork

    return TorchCritic(CriticNetwork.load(load_network(base), folder, base), CriticCard.read(folder), device)
