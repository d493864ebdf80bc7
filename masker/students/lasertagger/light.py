"""A tagger on the CPU, by ONNX Runtime: neither torch nor transformers is imported."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.folder import fingerprint
from masker.model.tokenizer import FileTokenizer
from masker.model.weights import Weights
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import OnnxGraph
from masker.students.base import Pair, owner
from masker.students.lasertagger.tagging import Tagged, Tagging

BASE = "base:"  # before the name of a weight of the model whose embeddings are shared


class TaggerWeights(Mapping[str, np.ndarray]):
    """The weights of a student, and of the model whose embeddings it shares as `base:NAME`."""

    def __init__(self, folder: Path, base: Path | None) -> None:
        self._own, self._base = Weights(folder), Weights(base) if base else {}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._base[name.removeprefix(BASE)] if name.startswith(BASE) else self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (BASE + name for name in self._base)

    def __len__(self) -> int:
        return len(self._own) + len(self._base)


class LightTagger(Tagging):
    """A LaserTagger whose folder has graphs, which `masker export` writes. It can edit, and nothing else."""

    batch_tokens = 1024
    chunk = 256

    def __init__(self, graph: OnnxGraph, vocabulary: Vocabulary, **fields: Any) -> None:
        self._graph, self.card = graph, {}
        self._describe(vocabulary, **fields)

    def _best(self, ids: np.ndarray, attention: np.ndarray, slots: np.ndarray, keep: np.ndarray) -> Tagged:
        found = self._graph.run({"ids": ids, "attention": attention, "slots": slots}, {"keep": keep})
        return lambda: (found["best"], found["sure"])

    @classmethod
    def _load(
        cls, folder: Path, fields: dict[str, Any], device: str | None, *, exact: bool = False, **options: Any
    ) -> "LightTagger":
        base = owner(folder) if fields.pop("shared", False) else None
        graphs = Graphs(folder, TaggerWeights(folder, base), mark_of(folder, base))
        return cls(OnnxGraph(graphs, FLOAT32 if exact else INT8), Vocabulary(FileTokenizer(base or folder)), **fields)

    @classmethod
    def create(cls, base: str | Path | None, pairs: Sequence[Pair], **options: Any) -> "LightTagger":
        raise MaskerError("a student without torch cannot be taught; create a LaserTagger")

    def fit(self, pairs: Sequence[Pair], **options: Any) -> dict[str, Any]:
        raise MaskerError("an exported student cannot be taught; delete its graphs.safetensors, or load it on a GPU")

    def _save(self, folder: Path, *, packed: bool) -> dict[str, Any]:
        raise MaskerError("an exported student is not saved again; copy its folder")


def mark_of(folder: Path, base: Path | None) -> str:
    """The fingerprint of all that the graphs of a student are made of."""
    return fingerprint(folder, base) if base else fingerprint(folder)
