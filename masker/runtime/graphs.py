"""graphs.safetensors of a model folder: how ONNX Runtime computes the model, without its weights.

There are two graphs, float32 and int8. What they lack is named after the weight that it is made from:

    WEIGHT            the weight as it is stored
    WEIGHT|T          turned: columns become rows
    WEIGHT|T|int8     in int8; divided by WEIGHT|shrink before, where that is stored beside the graphs
    WEIGHT|T|scale    what the columns of that are to be multiplied with
    WEIGHT|table      an input rather than a constant: both graphs look embeddings up in one array

So the weights are stored once, whatever is computed with them, and the embedded model is ready in half a second.
"""

import json
import os
import zlib
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from masker.data.checked import check_kind
from masker.errors import MaskerError
from masker.model.folder import GRAPHS, fingerprint, one_line
from masker.model.weights import Weights
from masker.runtime.narrow import narrowed, vocabulary_size
from masker.runtime.standalone import standalone

FLOAT32, INT8 = "float32", "int8"
TURNED, CODES, SCALE = "|T", "|T|int8", "|T|scale"
FORMS = ("", TURNED, CODES, SCALE)
TABLE, SHRINK = "|table", "|shrink"
_FORMAT = "1"
_AGAIN = "write it again with masker export"


def made_from(weight: np.ndarray, shrink: np.ndarray | None, forms: Collection[str]) -> dict[str, np.ndarray]:
    """A weight in some of its FORMS. Its int8, with a scale for each column, is as ONNX Runtime's quantiser has it."""
    made = {"": weight}
    if TURNED in forms and weight.ndim == 2:
        made[TURNED] = np.ascontiguousarray(weight.T)
    if CODES in forms and weight.ndim == 2:
        even = weight if shrink is None else weight / shrink
        scale = (np.maximum(even.max(1), -even.min(1)).astype(np.float64) / 127).astype(np.float32)
        scale[scale < np.finfo(np.float32).tiny] = 1
        steps = even / scale[:, None]
        made |= {CODES: np.ascontiguousarray(np.rint(steps, out=steps).astype(np.int8).T), SCALE: scale}
    return {form: made[form] for form in forms if form in made}


class Graphs:
    """The graphs of a folder, and the weights that they are of: those beside them, if not told otherwise."""

    def __init__(self, folder: Path, weights: Mapping[str, np.ndarray] | None = None, mark: str = "") -> None:
        self.path, self._from = folder / GRAPHS, (folder, weights, mark)
        with one_line(f"cannot read {self.path}; {_AGAIN}"):
            self._file = safe_open(self.path, "np")
            said = self._file.metadata()
            if said["format"] != _FORMAT:
                raise MaskerError(f"{self.path} has format {said['format']}, this version reads {_FORMAT}; {_AGAIN}")
            self._lacks: dict[str, list[str]] = json.loads(said["lacks"])
            self._shapes: dict[str, list[int]] = json.loads(said["shapes"])
            check_kind("lacks", self._lacks, dict[str, list[str]], self.path)
            check_kind("shapes", self._shapes, dict[str, list[int]], self.path)
            self._stored = set(self._file.keys())
        if said["weights"] != (mark or fingerprint(folder)):
            raise MaskerError(f"{self.path} is of other weights than those beside it; {_AGAIN}, or delete it")
        self._weights = Weights(folder) if weights is None else weights

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._from  # open files are read again

    @cached_property
    def tables(self) -> dict[str, np.ndarray]:
        """What is given to the sessions at every call. They keep no copies of it."""
        names = {name for names in self._lacks.values() for name in names if name.endswith(TABLE)}
        return {name: self._read(name.removesuffix(TABLE)) for name in sorted(names)}

    def session(self, kind: str, threads: int, pieces: np.ndarray | None = None) -> Any:
        """A session of ONNX Runtime for one of the graphs; so many threads help with every call.

        With `pieces`, these alone of the vocabulary are to come out of it.
        """
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.enable_mem_pattern = False  # almost every batch has a shape of its own
        # all optimisations would take longer to load, and gain nothing
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        with one_line(f"cannot load {self.path}; {_AGAIN}"):
            graph = zlib.decompress(self._file.get_tensor(kind))
            size = (
                0 if pieces is None else min(n for n in map(len, self.tables.values()) if n >= vocabulary_size(graph))
            )
            constants = self.constants(kind, pieces, size)
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in constants.values()]
            options.add_external_initializers(list(constants), values)
            return onnxruntime.InferenceSession(
                graph if pieces is None else narrowed(graph, pieces, size), options, providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # slower than the two that it joins
            )  # fmt: skip

    def written(self, kind: str, rows: str) -> tuple[bytes, list[str]]:
        """One of the graphs as an ONNX file with its weights, and the names of those that it still lacks.

        These are what is made of the table `rows` itself, which is to be given at every call as before, as far as it is
        needed: with any of its rows.
        """
        constants = self.constants(kind)
        lacking = {n: array.nbytes for n, array in constants.items() if n.startswith(rows.removesuffix(TABLE) + "|")}
        graph = zlib.decompress(self._file.get_tensor(kind))
        return standalone(graph, constants, self.tables, rows=rows, elsewhere=lacking), list(lacking)

    def constants(self, kind: str, pieces: np.ndarray | None = None, size: int = 0) -> dict[str, np.ndarray]:
        """What a graph lacks, but for tables; of a vocabulary of this size `pieces` alone, if they are given."""
        forms: dict[str, list[str]] = {}
        for name in self._lacks[kind]:
            weight, bar, form = name.partition("|")
            if bar + form != TABLE:
                forms.setdefault(weight, []).append(bar + form)
        constants: dict[str, np.ndarray] = {}
        for weight, wanted in forms.items():
            shrink = self._file.get_tensor(weight + SHRINK) if weight + SHRINK in self._stored else None
            known = self.tables.get(weight + TABLE)
            whole = self._read(weight) if known is None else known
            made = made_from(whole if pieces is None or len(whole) != size else whole[pieces], shrink, wanted)
            constants |= {weight + form: array for form, array in made.items()}
        return constants

    def _read(self, weight: str) -> np.ndarray:
        return self._weights[weight].reshape(self._shapes[weight])


def write_graphs(
    stage: Path,
    mark: str,
    graphs: Mapping[str, bytes],
    lacks: Mapping[str, list[str]],
    shapes: Mapping[str, tuple[int, ...]],
    shrink: Mapping[str, np.ndarray],
) -> None:
    """Write graphs.safetensors into `stage`, for the weights that have this `fingerprint`."""
    arrays = {kind: np.frombuffer(zlib.compress(graph, 9), np.uint8) for kind, graph in graphs.items()}
    said = {"format": _FORMAT, "weights": mark, "lacks": json.dumps(lacks), "shapes": json.dumps(shapes)}
    save_file({**arrays, **{weight + SHRINK: array for weight, array in shrink.items()}}, stage / GRAPHS, said)
