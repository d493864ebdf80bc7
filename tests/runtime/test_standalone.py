"""A graph written with its weights computes what the one without them does, whatever rows of its table it is given."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from masker.model.padded_mlm import PaddedMLM
from masker.runtime.graphs import FLOAT32, INT8, Graphs


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_it_computes_the_same(model: PaddedMLM, folder: Path, tmp_path: Path, kind: str) -> None:
    graphs = Graphs(folder)
    (rows,) = [name for name in graphs.tables if "word_embeddings" in name]
    file, lacking = graphs.written(kind, rows)
    (tmp_path / "graph.onnx").write_bytes(file)
    constants = graphs.constants(kind)
    (tmp_path / "elsewhere").write_bytes(b"".join(constants[name].tobytes() for name in lacking))
    onnx.checker.check_model(str(tmp_path / "graph.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "graph.onnx"))
    assert {given.name for given in session.get_inputs() if "|" in given.name} == {rows}

    table = graphs.tables[rows]
    ids = np.array([[2, 7, 5, 9, 3], [2, 7, 4, 3, 0]])
    some = np.array([2, 3, 4, 5, 7, 9, 0])
    feed: dict[str, Any] = {
        "attention": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]), "slots": np.array([[2], [2]]),
        "asked": np.array([[[6]], [[8]]]), "top": np.array([1]), "bias": np.zeros(len(model.vocabulary), np.float32),
    }  # fmt: skip
    whole = graphs.session(kind, 1).run(None, {**feed, "ids": ids, **graphs.tables})
    given = np.array([[some.tolist().index(piece) for piece in row] for row in ids])
    found = session.run(None, {**feed, "ids": given, rows: table[some]})
    for one, other in zip(whole, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
