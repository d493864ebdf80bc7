"""Weights in twelve and eight bits."""

import numpy as np
import pytest

from masker.model.packed import COMMON, pack, stored_names, unpack


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def round_trip(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    packed = pack(weights)
    assert stored_names(packed) == list(weights)
    return {name: unpack(name, packed, packed.__getitem__).reshape(weights[name].shape) for name in weights}


@pytest.mark.parametrize("shape", [(3, 128), (5, 384), (7, 33), (1, 1), (2, 256)])
def test_a_matrix_comes_back_to_half_a_step(shape: tuple[int, int]) -> None:
    weight = normal(*shape) * 3
    again = round_trip({"layer": weight})["layer"]
    group = weight.reshape(-1, 128 if shape[1] % 128 == 0 else shape[1])
    step = np.abs(group).max(1, keepdims=True) / 2047
    assert (np.abs(again.reshape(group.shape) - group) <= 0.51 * step + 1e-6).all()


def test_rare_pieces_have_eight_bits_and_common_ones_twelve() -> None:
    weight = normal(COMMON + 500, 128)
    error = np.abs(round_trip({"word_embeddings": weight})["word_embeddings"] - weight).max(1)
    limit = np.abs(weight).max(1)
    assert (error[:COMMON] <= 0.51 * limit[:COMMON] / 2047).all()
    assert (error[COMMON:] <= 0.51 * limit[COMMON:] / 127).all()
    assert (error[COMMON:] > limit[COMMON:] / 2047).any()


def test_vectors_are_exact_and_zeros_stay_zero() -> None:
    weights = {"bias": normal(7), "layer": np.zeros((4, 128), np.float32), "scalar": np.float32(2.5).reshape(())}
    again = round_trip(weights)
    assert all(np.array_equal(again[name], weight) for name, weight in weights.items())


def test_it_takes_about_a_third_of_float32() -> None:
    weight = normal(1024, 512)
    assert sum(array.nbytes for array in pack({"layer": weight}).values()) < 0.38 * weight.nbytes


def test_names_that_look_like_parts() -> None:
    weights = {"layer.scale": normal(3), "layer.1.weight": normal(2, 128), "layer.0.low": normal(2)}
    again = round_trip({name: weights[name] for name in ("layer.scale", "layer.1.weight")})
    assert again.keys() == {"layer.scale", "layer.1.weight"}


def test_what_was_not_stored_is_an_error() -> None:
    with pytest.raises(KeyError):
        unpack("layer", {}, {}.__getitem__)
