import numpy as np
import pytest
import torch
from conftest import make_model

from masker.errors import MaskerError
from masker.runtime.torch import TorchRuntime


def inputs(vocabulary_size: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    ids = torch.randint(5, 60, (6, 14))
    attention = torch.ones_like(ids)
    attention[2, 9:] = 0
    return ids, attention, torch.randint(0, 9, (6, 4)), torch.randint(0, vocabulary_size, (6, 4, 2))


def test_the_last_layer_is_the_same_for_the_masks_alone(family: str) -> None:
    model = make_model(family).eval()
    ids, attention, slots, _ = inputs(9)
    with torch.no_grad():
        whole = model.encode(ids, attention)
        expected = whole.gather(1, slots[:, :, None].expand(-1, -1, whole.shape[-1]))
        torch.testing.assert_close(model.at(ids, attention, slots), expected, atol=1e-4, rtol=1e-4)


def test_results_are_of_the_kind_of_the_inputs_and_the_same(family: str) -> None:
    model = make_model(family)
    runtime = TorchRuntime(model, "cpu")
    size = len(model.vocabulary)
    tensors = inputs(size)
    bias = np.where(np.arange(size) % 3, 0, -np.inf).astype(np.float32)
    ours = runtime(*(x.numpy() for x in tensors), bias, 5)
    theirs = runtime(*tensors, torch.from_numpy(bias), 5)
    with torch.no_grad():
        log_p = model(*tensors[:3]).log_softmax(-1)
    expected, pieces = (log_p + torch.from_numpy(bias)).topk(5)
    for scores in (ours, theirs):
        np.testing.assert_array_equal(scores.best, pieces)
        np.testing.assert_allclose(scores.best_log_p, expected, atol=1e-4)
        np.testing.assert_allclose(scores.asked_log_p, log_p.gather(2, tensors[3]), atol=1e-4)
    assert isinstance(ours.best, np.ndarray)
    assert isinstance(theirs.best, torch.Tensor)
    assert runtime(*tensors, None, 0).best.shape == (6, 4, 0)


def test_slots_are_projected_in_parts() -> None:
    runtime = TorchRuntime(make_model(), "cpu")
    tensors = inputs(60)
    whole = runtime(*tensors, None, 2)
    runtime._slots = 9
    parts = runtime(*tensors, None, 2)
    torch.testing.assert_close(parts.best_log_p, whole.best_log_p, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(parts.asked_log_p, whole.asked_log_p, atol=1e-5, rtol=1e-5)


def test_styles_need_a_classifier() -> None:
    model = make_model()
    ids, attention, _, _ = inputs(9)
    with pytest.raises(MaskerError, match="no style classifier"):
        TorchRuntime(model, "cpu").styles(ids, attention)
    model.add_style()
    log_p = TorchRuntime(model, "cpu").styles(ids.numpy(), attention.numpy())
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, atol=1e-5)
