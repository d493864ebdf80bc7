"""A model on the CPU, by ONNX Runtime. Neither torch nor transformers is imported: it starts in a moment."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from masker.core.runtime import Array, SlotScores, array_module, to_numpy
from masker.errors import MaskerError
from masker.runtime import cores
from masker.runtime.graphs import FLOAT32, INT8, Graphs

_LANES, _LEAST = 4, 32  # calls at a time at most, and tokens that are worth one of their own


class OnnxGraph:
    """One of the graphs of a folder, and a session for it, with a head of `pieces` alone if they are given.

    Rows are shared out to up to `_LANES` calls at a time, and computed there from first to last: threads that share
    every product would wait for each other at every one. Where nothing that comes out is as long as the rows, they are
    `ragged`: every call has them only as long as its longest.
    """

    ragged = False

    def __init__(self, graphs: Graphs, kind: str = INT8, threads: int = 0, pieces: np.ndarray | None = None) -> None:
        self._graphs, self._kind, self._pieces = graphs, kind, pieces
        self._threads = threads or _named() or cores()
        self._lanes = min(_LANES, self._threads)
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        """What another process makes the rest from: threads are nobody else's, and sessions have some."""
        return {name: vars(self)[name] for name in ("_graphs", "_kind", "_pieces", "_threads", "_lanes", "_process")}

    @cached_property
    def _session(self) -> Any:
        """Made when it is needed: `explain` does not use int8, for instance."""
        return self._graphs.session(self._kind, 1 + self._threads - self._lanes, self._pieces)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._lanes)

    @cached_property
    def outputs(self) -> list[str]:
        return [output.name for output in self._session.get_outputs()]

    @cached_property
    def inputs(self) -> dict[str, list[Any]]:
        """Names and shapes."""
        return {given.name: given.shape for given in self._session.get_inputs()}

    @cached_property
    def _tables(self) -> dict[str, np.ndarray]:
        return {name: table for name, table in self._graphs.tables.items() if name in self.inputs}

    def run(self, rows: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What becomes of inputs that have a row for each text, and of others that are the same for all."""
        if self._process != os.getpid():  # forked: the threads have stayed behind, and it would wait for them
            self.__dict__ = {**self.__getstate__(), "_process": os.getpid()}
        ids, session = rows["ids"], self._session
        lanes = max(1, min(self._lanes, len(ids), ids.size // _LEAST))

        def run(k: int) -> list[np.ndarray]:
            part = slice(len(ids) * k // lanes, len(ids) * (k + 1) // lanes)
            own = {name: array[part] for name, array in rows.items()}
            if self.ragged:
                longest = int(own["attention"].any(0).sum())
                own |= {name: own[name][:, :longest] for name in ("ids", "attention")}
            own = {name: np.ascontiguousarray(array) for name, array in own.items()}
            results: list[np.ndarray] = session.run(None, own | self._tables | dict(others))
            return results

        found = [run(0)] if lanes == 1 else list(self._pool.map(run, range(lanes)))
        results = {name: np.concatenate(parts) for name, *parts in zip(self.outputs, *found, strict=True)}
        if any(part.dtype.kind == "f" and np.isnan(part).any() for part in results.values()):
            where = self._graphs.path.parent
            raise MaskerError(f"the model in {where} computes no numbers (NaN): its weights are broken; save it again")
        return results


class OnnxRuntime(OnnxGraph):
    """A graph of a masked LM, of which the scoring step is a part: no logits leave it."""

    ragged = True
    batch_tokens = 1024
    chunk = 32
    prefetch = 0

    @cached_property
    def _no_bias(self) -> np.ndarray:
        return np.zeros(self.inputs["bias"], dtype=np.float32)

    @cached_property
    def exact(self) -> "OnnxRuntime | None":
        return OnnxRuntime(self._graphs, FLOAT32, self._threads) if self._kind != FLOAT32 else None

    def narrowed(self, pieces: np.ndarray) -> "NarrowRuntime":
        return NarrowRuntime(self, pieces)

    def to_device(self, array: np.ndarray) -> np.ndarray:
        return array

    def __call__(
        self, ids: Array, attention: Array, slots: Array, asked: Array, bias: Array | None, top: int = 1
    ) -> SlotScores:
        results = self._run(ids, attention, slots, asked, bias, max(1, top))
        return SlotScores(*(_like(results[name], ids) for name in ("best", "best_log_p", "asked_log_p")))

    def styles(self, ids: Array, attention: Array) -> Array:
        if "styles" not in self.outputs:
            raise MaskerError("the model has no style classifier; fit it on two or more domains (masker fit)")
        first = np.zeros((len(ids), 1), dtype=np.int64)  # the first vector is what the classifier reads
        return _like(self._run(ids, attention, first, first[:, :, None], None, 1)["styles"], ids)

    def _run(self, *inputs: Any) -> dict[str, np.ndarray]:
        *arrays, bias, top = inputs
        feed = dict(zip(("ids", "attention", "slots", "asked"), map(to_numpy, arrays), strict=True))
        return self.run(feed, {"top": np.array([top]), "bias": self._no_bias if bias is None else to_numpy(bias)})


class NarrowRuntime(OnnxRuntime):
    """The same with a faster head, of few `pieces`. Rows that ask about others are computed with the whole one."""

    def __init__(self, whole: OnnxRuntime, pieces: np.ndarray) -> None:
        super().__init__(whole._graphs, whole._kind, whole._threads, pieces)
        self._whole, self._known = whole, pieces
        self._places = np.full(pieces.max() + 2, -1)  # the last stands for all that are beyond
        self._places[pieces] = np.arange(len(pieces))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {name: vars(self)[name] for name in ("_whole", "_known", "_places")}

    @cached_property
    def exact(self) -> "OnnxRuntime | None":
        return self._whole.exact and self._whole.exact.narrowed(self._known)

    def __call__(
        self, ids: Array, attention: Array, slots: Array, asked: Array, bias: Array | None, top: int = 1
    ) -> SlotScores:
        feed, wanted = [to_numpy(array) for array in (ids, attention, slots)], to_numpy(asked)
        places = self._places[np.minimum(wanted, len(self._places) - 1)]
        known = np.asarray((places >= 0).all((1, 2)))
        cut, parts = None if bias is None else to_numpy(bias)[self._known], list[SlotScores]()
        if known.any():
            a, b, c = (array[known] for array in feed)
            found = super().__call__(a, b, c, places[known], cut, top)
            parts.append(replace(found, best=self._known[found.best]))
        if not known.all():
            a, b, c = (array[~known] for array in feed)
            parts.append(self._whole(a, b, c, wanted[~known], bias, top))
        order = np.argsort(np.argsort(~known, kind="stable"))
        names = [field.name for field in fields(SlotScores)]
        whole = {name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names}
        return SlotScores(**{name: _like(array, ids) for name, array in whole.items()})


def _named() -> int:
    """How many threads the environment asks for; 0 if it does not say, or nothing that makes sense."""
    count = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(count) if count.isdecimal() else 0


def _like(result: np.ndarray, other: Array) -> Array:
    return result if isinstance(other, np.ndarray) else array_module(other)[0].from_numpy(result)
