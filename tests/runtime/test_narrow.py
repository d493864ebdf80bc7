"""A head of few pieces gives what the whole one gives, but for the probability that the other pieces have."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from masker.model.padded_mlm import PaddedMLM
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import NarrowRuntime, OnnxRuntime

FEW = np.array([0, 5, 6, 7, 8, 9, 20, 21, 22, 40, 41])


def inputs(asked: np.ndarray) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 60, (len(asked), 13))
    attention = np.ones_like(ids)
    attention[1, 8:] = 0
    return ids, attention, rng.integers(0, 8, (len(asked), 4)), asked


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_it_gives_what_the_whole_head_gives_of_its_pieces(folder: Path, model: PaddedMLM, kind: str) -> None:
    whole = OnnxRuntime(Graphs(folder), kind)
    narrow = whole.narrowed(FEW)
    every = np.broadcast_to(FEW, (5, 4, len(FEW)))
    old, new = whole(*inputs(every), None), narrow(*inputs(every), None, len(FEW))
    mass = np.logaddexp.reduce(old.asked_log_p, -1, keepdims=True)
    np.testing.assert_allclose(new.asked_log_p, old.asked_log_p - mass, atol=1e-4)
    assert np.isin(new.best, FEW).all()
    np.testing.assert_array_equal(new.best[..., 0], FEW[old.asked_log_p.argmax(-1)])
    bias = np.zeros(len(model.vocabulary), np.float32)
    bias[FEW[:-1]] = -np.inf
    assert (narrow(*inputs(every), bias).best == FEW[-1]).all()
    np.testing.assert_allclose(narrow.styles(*inputs(every)[:2]), whole.styles(*inputs(every)[:2]), atol=1e-5)


def test_rows_that_ask_about_others_have_the_whole_head(folder: Path, model: PaddedMLM) -> None:
    whole = OnnxRuntime(Graphs(folder), FLOAT32)
    narrow, asked = whole.narrowed(FEW), np.full((5, 4, 2), 5)
    asked[1, 2, 0] = 30
    asked[3, 0, 1] = len(model.vocabulary) - 1
    found, other = narrow(*inputs(asked), None, 3), whole(*inputs(asked), None, 3)
    for row in (1, 3):
        np.testing.assert_allclose(found.asked_log_p[row], other.asked_log_p[row], atol=1e-5)
        np.testing.assert_array_equal(found.best[row], other.best[row])
    assert np.isin(found.best[[0, 2, 4]], FEW).all()
    assert (found.asked_log_p[[0, 2, 4]] > other.asked_log_p[[0, 2, 4]]).all()
    asked[:] = 30
    np.testing.assert_allclose(
        narrow(*inputs(asked), None).asked_log_p, whole(*inputs(asked), None).asked_log_p, atol=1e-5
    )


def test_it_goes_to_other_processes_and_has_an_exact_twin(folder: Path) -> None:
    narrow = OnnxRuntime(Graphs(folder)).narrowed(FEW)
    asked = np.full((5, 4, 1), 6)
    again = pickle.loads(pickle.dumps(narrow))
    np.testing.assert_array_equal(again(*inputs(asked), None).asked_log_p, narrow(*inputs(asked), None).asked_log_p)
    assert isinstance(narrow.exact, NarrowRuntime)
    assert narrow.exact.exact is None
