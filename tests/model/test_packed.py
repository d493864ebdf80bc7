"""Weights in twelve and eight bits."""

import pytest
import torch

from masker.model.packed import COMMON, pack, unpack


def round_trip(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return unpack(pack(weights), {name: weight.shape for name, weight in weights.items()})


@pytest.mark.parametrize("shape", [(3, 128), (5, 384), (7, 33), (1, 1), (2, 256)])
def test_a_matrix_comes_back_to_half_a_step(shape: tuple[int, int]) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3
    again = round_trip({"layer": weight})["layer"]
    group = weight.reshape(-1, 128 if shape[1] % 128 == 0 else shape[1])
    step = group.abs().amax(1, keepdim=True) / 2047
    assert ((again.reshape(group.shape) - group).abs() <= 0.51 * step + 1e-6).all()


def test_rare_pieces_have_eight_bits_and_common_ones_twelve() -> None:
    weight = torch.randn(COMMON + 500, 128, generator=torch.Generator().manual_seed(1))
    error = (round_trip({"word_embeddings": weight})["word_embeddings"] - weight).abs().amax(1)
    limit = weight.abs().amax(1)
    assert (error[:COMMON] <= 0.51 * limit[:COMMON] / 2047).all()
    assert (error[COMMON:] <= 0.51 * limit[COMMON:] / 127).all()
    assert (error[COMMON:] > limit[COMMON:] / 2047).any()


def test_vectors_are_exact_and_zeros_stay_zero() -> None:
    weights = {"bias": torch.randn(7), "layer": torch.zeros(4, 128), "scalar": torch.tensor(2.5)}
    again = round_trip(weights)
    assert all(torch.equal(again[name], weight) for name, weight in weights.items())


def test_it_takes_about_a_third_of_float32() -> None:
    weight = torch.randn(1024, 512, generator=torch.Generator().manual_seed(2))
    size = sum(tensor.numel() * tensor.element_size() for tensor in pack({"layer": weight}).values())
    assert size < 0.38 * 4 * weight.numel()


def test_what_was_not_stored_is_left_out() -> None:
    assert unpack({}, {"layer": torch.Size((2, 2))}) == {}
