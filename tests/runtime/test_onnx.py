import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import FIGURE_1, make_model

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.onnx import EXACT, FILE, OnnxRuntime, cores, find_exported, load_exported
from masker.runtime.torch import TorchRuntime

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
TEXTS = [FIGURE_1, "The food was terrible, and we don't like it!", "so", "[MASK] it was n't good .", "a é 😀 ...", ""]


@pytest.fixture(scope="module")
def model() -> PaddedMLM:
    model = make_model()
    model.add_style()
    model.bag_of_words = BagOfWords.fit([["bad food", "rude staff"], ["great food", "nice staff"]])
    return model


@pytest.fixture(scope="module")
def folder(model: PaddedMLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the exported files in it."""
    from masker.runtime.export import export

    folder = tmp_path_factory.mktemp("exported") / "tiny"
    model.save_pretrained(folder)
    assert export(folder) == folder / FILE
    return folder


def inputs(model: PaddedMLM) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 60, (5, 13))
    attention = np.ones_like(ids)
    attention[1, 8:] = 0
    return ids, attention, rng.integers(0, 8, (5, 4)), rng.integers(0, len(model.vocabulary), (5, 4, 3))


def test_float32_gives_what_torch_gives(model: PaddedMLM, folder: Path) -> None:
    runtime, torch_runtime = OnnxRuntime(folder / EXACT), TorchRuntime(model, "cpu")
    arrays = inputs(model)
    bias = np.where(model.vocabulary.infillable, 0, -np.inf).astype(np.float32)
    for top in (1, 4):
        ours, theirs = runtime(*arrays, bias, top), torch_runtime(*arrays, bias, top)
        np.testing.assert_array_equal(ours.best, theirs.best)
        np.testing.assert_allclose(ours.best_log_p, theirs.best_log_p, atol=1e-3)
        np.testing.assert_allclose(ours.asked_log_p, theirs.asked_log_p, atol=1e-3)
    np.testing.assert_allclose(runtime.styles(*arrays[:2]), torch_runtime.styles(*arrays[:2]), atol=1e-3)
    assert isinstance(runtime(*map(torch.from_numpy, arrays), None).best, torch.Tensor)


def test_the_vocabulary_reads_and_writes_the_same(model: PaddedMLM, folder: Path) -> None:
    exported = load_exported(folder / FILE)
    ours, theirs = exported.vocabulary, model.vocabulary
    for text in TEXTS:
        assert ours.read(text) == theirs.read(text)
    np.testing.assert_array_equal(ours.infillable, theirs.infillable)
    np.testing.assert_array_equal(ours.continuation, theirs.continuation)
    assert exported.frame == model.frame
    assert exported.domains == model.domains
    assert exported.has_style
    assert exported.bag_of_words is not None
    assert model.bag_of_words is not None
    np.testing.assert_allclose(
        exported.bag_of_words.log_probs(["bad food"]), model.bag_of_words.log_probs(["bad food"])
    )
    assert [ours.domain(name) for name in exported.domains] == [theirs.domain(name) for name in exported.domains]


def test_int8_finds_and_float32_decides(model: PaddedMLM, folder: Path) -> None:
    masker, plain = Masker.from_pretrained(folder, device="cpu"), Masker(model, device="cpu")
    assert isinstance(masker._runtime, OnnxRuntime)
    assert isinstance(plain._runtime, TorchRuntime)
    same = 0
    for text in TEXTS[:4]:
        ours, theirs = (m.edit(text, to="positive", method="paper") for m in (masker, plain))
        same += ours.text == theirs.text
        if ours.text == theirs.text:
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)
    assert same >= 2
    a, b = masker.explain(TEXTS[1], to="positive"), plain.explain(TEXTS[1], to="positive")
    np.testing.assert_allclose([r.score for r in a.spans], [r.score for r in b.spans], atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_however_many_threads_there_are_the_answers_are_the_same(
    model: PaddedMLM, folder: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masker.runtime.onnx._LEAST", 8)
    runtime, plain = OnnxRuntime(folder / EXACT, threads), OnnxRuntime(folder / EXACT, 1)
    bias = np.where(model.vocabulary.infillable, 0, -np.inf).astype(np.float32)
    arrays = inputs(model)
    for some in (arrays, [array[:1] for array in arrays], [array[:2, :8] for array in arrays]):
        ours, theirs = runtime(*some, bias, 2), plain(*some, bias, 2)
        np.testing.assert_array_equal(ours.best, theirs.best)
        np.testing.assert_allclose(ours.best_log_p, theirs.best_log_p, atol=1e-5)
        np.testing.assert_allclose(ours.asked_log_p, theirs.asked_log_p, atol=1e-5)
    np.testing.assert_allclose(runtime.styles(*arrays[:2]), plain.styles(*arrays[:2]), atol=1e-5)


@pytest.mark.parametrize(("asked", "threads"), [("3", 3), ("2,1", 2), ("", 0), ("many", 0)])
def test_the_environment_says_how_many_threads(
    asked: str, threads: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert OnnxRuntime(folder / FILE)._threads == (threads or cores())


def test_exact_is_float32_alone(model: PaddedMLM, folder: Path) -> None:
    exact, plain = Masker.from_pretrained(folder, device="cpu", exact=True), Masker(model, device="cpu")
    assert isinstance(exact._runtime, OnnxRuntime)
    assert exact._runtime.exact is None
    for text in TEXTS:
        ours, theirs = (m.edit(text, to="positive", method="paper") for m in (exact, plain))
        assert ours.text == theirs.text
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)


@pytest.mark.parametrize("file", [FILE, EXACT])
def test_pieces_that_are_not_allowed_are_passed_over(model: PaddedMLM, folder: Path, file: str) -> None:
    """Where the best of all are allowed, and where some of them are not."""
    runtime, arrays = OnnxRuntime(folder / file), inputs(model)
    free = runtime(*arrays, None, 4)
    for refused in ([], [free.best[0, 0, 0]], free.best[:, :, 0].ravel(), free.best.ravel()):
        bias = np.zeros(len(model.vocabulary), np.float32)
        bias[refused] = -np.inf
        found, every = runtime(*arrays, bias, 4), runtime(*arrays, None, len(bias))
        for row, slot in np.ndindex(found.best.shape[:2]):
            allowed = [k for k in every.best[row, slot] if not np.isin(k, refused)][:4]
            assert found.best[row, slot].tolist() == allowed
        np.testing.assert_array_equal(found.asked_log_p, free.asked_log_p)


def test_columns_of_very_different_size_are_evened_out() -> None:
    """One column is a thousand times as large as the others: int8 alone would leave nothing of those."""
    onnx = pytest.importorskip("onnx")
    from masker.runtime.export import _even_out

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
    _even_out(model, onnx, {"x": x})
    assert [node.op_type for node in graph.node] == ["MatMul"]  # it was copied into the model
    assert [node.op_type for node in model.graph.node] == ["Mul", "MatMul"]
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    even = x * values["x_shrink"]
    assert np.abs(even).max() < 8 * np.median(np.abs(even).max(0))
    np.testing.assert_allclose(even @ values["w"], x @ w, rtol=1e-4, atol=1e-4)


def test_neither_torch_nor_transformers_is_imported(folder: Path) -> None:
    code = (
        "import sys; from masker import Masker; "
        f"Masker.from_pretrained({str(folder)!r}, device='cpu').edit('the food was bad .', to='positive'); "
        "assert not {'torch', 'transformers'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_is_not_chosen_for_another_device_or_without_the_file(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert find_exported(copy) == copy / FILE
    (copy / FILE).unlink()
    assert find_exported(copy) is None
    assert isinstance(Masker.from_pretrained(copy, device="cpu")._runtime, TorchRuntime)


def test_a_broken_file_is_one_line(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / FILE).write_bytes(b"nothing")
    with pytest.raises(MaskerError, match="write it again with masker export"):
        Masker.from_pretrained(copy, device="cpu").edit("it was bad .", "positive", method="paper")


def test_a_folder_of_its_own_is_complete(folder: Path, tmp_path: Path) -> None:
    from masker.runtime.export import export

    path = export(folder, tmp_path / "out")
    assert {p.name for p in path.parent.iterdir()} >= {FILE, EXACT, "masker.json", "tokenizer.json"}
    assert json.loads((path.parent / "masker.json").read_text())["n_p"] == 4
    assert Masker.from_pretrained(path.parent, device="cpu").edit("the food was bad .", to="positive").text
    with pytest.raises(MaskerError, match="`out`"):
        export("nobody/nothing")


def test_saving_another_model_in_the_folder_removes_what_was_exported(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    make_model(seed=3).save_pretrained(copy)
    assert find_exported(copy) is None
    assert not (copy / EXACT).exists()
