import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import FIGURE_1

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.folder import GRAPHS, exported_folder
from masker.model.padded_mlm import PaddedMLM
from masker.runtime import cores
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import OnnxRuntime
from masker.runtime.torch import TorchRuntime

TEXTS = [FIGURE_1, "The food was terrible, and we don't like it!", "so", "[MASK] it was n't good .", "a é 😀 ...", ""]


@pytest.fixture(scope="module")
def graphs(folder: Path) -> Graphs:
    return Graphs(folder)


def inputs(model: PaddedMLM) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 60, (5, 13))
    attention = np.ones_like(ids)
    attention[1, 8:] = 0
    return ids, attention, rng.integers(0, 8, (5, 4)), rng.integers(0, len(model.vocabulary), (5, 4, 3))


def test_float32_gives_what_torch_gives(model: PaddedMLM, graphs: Graphs) -> None:
    runtime, torch_runtime = OnnxRuntime(graphs, FLOAT32), TorchRuntime(model, "cpu")
    arrays = inputs(model)
    bias = np.where(model.vocabulary.infillable, 0, -np.inf).astype(np.float32)
    for top in (1, 4):
        ours, theirs = runtime(*arrays, bias, top), torch_runtime(*arrays, bias, top)
        np.testing.assert_array_equal(ours.best, theirs.best)
        np.testing.assert_allclose(ours.best_log_p, theirs.best_log_p, atol=2e-5)
        np.testing.assert_allclose(ours.asked_log_p, theirs.asked_log_p, atol=2e-5)
    np.testing.assert_allclose(runtime.styles(*arrays[:2]), torch_runtime.styles(*arrays[:2]), atol=1e-5)
    assert isinstance(runtime(*map(torch.from_numpy, arrays), None).best, torch.Tensor)


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
    model: PaddedMLM, graphs: Graphs, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masker.runtime.onnx._LEAST", 8)
    runtime, plain = OnnxRuntime(graphs, FLOAT32, threads), OnnxRuntime(graphs, FLOAT32, 1)
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
    asked: str, threads: int, graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert OnnxRuntime(graphs)._threads == (threads or cores())


def test_exact_is_float32_alone(model: PaddedMLM, folder: Path) -> None:
    exact, plain = Masker.from_pretrained(folder, device="cpu", exact=True), Masker(model, device="cpu")
    assert isinstance(exact._runtime, OnnxRuntime)
    assert exact._runtime.exact is None
    for text in TEXTS:
        ours, theirs = (m.edit(text, to="positive", method="paper") for m in (exact, plain))
        assert ours.text == theirs.text
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)


@pytest.mark.parametrize("kind", [INT8, FLOAT32])
def test_pieces_that_are_not_allowed_are_passed_over(model: PaddedMLM, graphs: Graphs, kind: str) -> None:
    """Where the best of all are allowed, and where some of them are not."""
    runtime, arrays = OnnxRuntime(graphs, kind), inputs(model)
    free = runtime(*arrays, None, 4)
    for refused in ([], [free.best[0, 0, 0]], free.best[:, :, 0].ravel(), free.best.ravel()):
        bias = np.zeros(len(model.vocabulary), np.float32)
        bias[refused] = -np.inf
        found, every = runtime(*arrays, bias, 4), runtime(*arrays, None, len(bias))
        for row, slot in np.ndindex(found.best.shape[:2]):
            allowed = [k for k in every.best[row, slot] if not np.isin(k, refused)][:4]
            assert found.best[row, slot].tolist() == allowed
        np.testing.assert_array_equal(found.asked_log_p, free.asked_log_p)


def test_neither_torch_nor_transformers_is_imported(folder: Path) -> None:
    code = (
        "import sys; from masker import Masker; "
        f"Masker.from_pretrained({str(folder)!r}, device='cpu').edit('the food was bad .', to='positive'); "
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"[]"


def test_it_is_not_chosen_without_the_file(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert exported_folder(copy) == copy
    (copy / GRAPHS).unlink()
    assert exported_folder(copy) is None
    assert isinstance(Masker.from_pretrained(copy, device="cpu")._runtime, TorchRuntime)


def test_a_broken_file_is_one_line(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / GRAPHS).write_bytes(b"nothing")
    with pytest.raises(MaskerError, match="write it again with masker export"):
        Masker.from_pretrained(copy, device="cpu")


def test_all_sessions_look_up_embeddings_in_one_array(folder: Path) -> None:
    runtime = OnnxRuntime(Graphs(folder), INT8)
    assert runtime.exact is not None
    (table,) = [name for name in runtime._tables if "word_embeddings" in name]
    assert runtime._tables[table] is runtime.exact._tables[table]


def test_it_goes_to_other_processes() -> None:
    """By a pickle, or by a fork, which takes none of the threads with it."""
    masker = Masker.from_pretrained(device="cpu")
    text, options = "the food was terrible .", {"to": "positive", "method": "search"}
    there = masker.edit(text, **options)
    assert pickle.loads(pickle.dumps(masker)).edit(text, **options) == there
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if not child:  # nothing of the tests may go on here
        signal.alarm(100)
        os._exit(masker.edit(text, **options) != there)
    assert os.waitpid(child, 0)[1] == 0
