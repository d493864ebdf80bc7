import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import make_model

from masker import Masker
from masker.errors import MaskerError
from masker.model.folder import GRAPHS, PACKED, SETTINGS, TOKENIZER, exported_folder
from masker.model.padded_mlm import PaddedMLM
from masker.runtime import rewriting
from masker.runtime.export import export
from masker.runtime.graphs import FLOAT32, Graphs
from masker.runtime.onnx import OnnxRuntime
from masker.runtime.torch import TorchRuntime


def test_the_graphs_are_small_and_have_no_weights(folder: Path) -> None:
    graphs = Graphs(folder)
    assert (folder / GRAPHS).stat().st_size < 60_000
    names = {name.partition("|")[0] for names in graphs._lacks.values() for name in names}
    assert {"bert.embeddings.word_embeddings.weight", "style.weight"} <= names
    assert {f"bert.encoder.layer.{k}.output.dense.weight" for k in (0, 1)} <= names


def test_a_folder_of_its_own_is_complete(folder: Path, tmp_path: Path) -> None:
    path = export(folder, tmp_path / "out")
    assert path == tmp_path / "out" / GRAPHS
    assert {p.name for p in path.parent.iterdir()} >= {GRAPHS, SETTINGS, TOKENIZER}
    assert json.loads((path.parent / SETTINGS).read_text())["n_p"] == 4
    masker = Masker.from_pretrained(path.parent, device="cpu")
    assert isinstance(masker._runtime, OnnxRuntime)
    assert masker.edit("the food was bad .", to="positive").text


@pytest.mark.parametrize("name", ["nobody/nothing", None])
def test_what_has_no_folder_needs_one_to_write_to(name: str | None) -> None:
    with pytest.raises(MaskerError, match="`out`"):
        export(name)


def test_saving_another_model_in_the_folder_removes_the_graphs(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    make_model(seed=3).save_pretrained(copy)
    assert exported_folder(copy) is None


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_every_family_gives_what_torch_gives(family: str, packed: bool, tmp_path: Path) -> None:
    make_model(family).save_pretrained(tmp_path, packed=packed)
    assert (tmp_path / PACKED).exists() == packed
    export(tmp_path)
    model = PaddedMLM.from_pretrained(tmp_path)
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 60, (5, 13))
    seen = np.ones_like(ids)
    seen[1, 8:] = 0
    arrays = ids, seen, rng.integers(0, 8, (5, 4)), rng.integers(0, len(model.vocabulary), (5, 4, 3))
    runtimes = OnnxRuntime(Graphs(tmp_path), FLOAT32), TorchRuntime(model, "cpu")
    ours, theirs = (runtime(*arrays, None, 2) for runtime in runtimes)
    np.testing.assert_array_equal(ours.best, theirs.best)
    np.testing.assert_allclose(ours.asked_log_p, theirs.asked_log_p, atol=2e-5)


def test_columns_of_very_different_size_are_evened_out() -> None:
    """One column is a thousand times as large as the others: int8 alone would leave nothing of those."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(64, 16)).astype(np.float32), rng.normal(size=(16, 8)).astype(np.float32)
    x[:, 3] *= 1000
    w[3] /= 1000
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="one")], "g",
        [info("x", 1, [64, 16])], [info("y", 1, [64, 8])], [onnx.numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    assert rewriting.even_out(model, {"x": x}, most=32) == ({}, ["one"])  # beyond help: it is to stay in float32
    divided, hopeless = rewriting.even_out(model, {"x": x})
    assert hopeless == []
    assert [node.op_type for node in graph.node] == ["MatMul"]  # it was copied into the model
    assert [node.op_type for node in model.graph.node] == ["Mul", "MatMul"]
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    even = x * values["x_shrink"]
    assert np.abs(even).max() < 8 * np.median(np.abs(even).max(0))
    np.testing.assert_allclose(even @ values["w"], x @ w, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(divided["w"], values["x_shrink"])
