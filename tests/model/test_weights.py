import json
from pathlib import Path

import numpy as np
import pytest
from conftest import make_model
from safetensors.numpy import load_file, save_file

from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.folder import INDEX, PACKED, PLAIN
from masker.model.padded_mlm import PaddedMLM
from masker.model.weights import Weights


@pytest.fixture
def model() -> PaddedMLM:
    model = make_model()
    model.add_style()
    model.bag_of_words = BagOfWords.fit([["bad"], ["good"]])
    return model


@pytest.mark.parametrize("packed", [False, True])
def test_they_are_those_that_torch_loads(model: PaddedMLM, packed: bool, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path, packed=packed)
    weights, parameters = Weights(tmp_path), dict(PaddedMLM.from_pretrained(tmp_path).named_parameters())
    expected = {name.removeprefix("mlm."): p.detach().numpy() for name, p in parameters.items()}
    assert set(weights) == set(expected)
    assert len(weights) == len(expected)
    for name, array in weights.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array.ravel(), expected[name].ravel(), err_msg=name)
    assert weights.size == model.size


def test_of_several_files(model: PaddedMLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    whole = {name: array.copy() for name, array in Weights(tmp_path).items()}
    arrays = load_file(tmp_path / PLAIN)
    (tmp_path / PLAIN).unlink()
    parts = {"a.safetensors": list(arrays)[::2], "b.safetensors": list(arrays)[1::2]}
    for file, names in parts.items():
        save_file({name: arrays[name] for name in names}, tmp_path / file)
    weight_map = {name: file for file, names in parts.items() for name in names}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    weights = Weights(tmp_path)
    assert set(weights) == set(whole)
    for name, array in whole.items():
        np.testing.assert_array_equal(weights[name], array)


def test_half_precision_is_widened(model: PaddedMLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    save_file({name: a.astype(np.float16) for name, a in load_file(tmp_path / PLAIN).items()}, tmp_path / PLAIN)
    assert {array.dtype for array in Weights(tmp_path).values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("share", [0.001, 0.5])
def test_a_broken_file_is_one_line(model: PaddedMLM, share: float, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path, packed=True)
    data = (tmp_path / PACKED).read_bytes()
    (tmp_path / PACKED).write_bytes(data[: int(share * len(data))])
    with pytest.raises(MaskerError, match=f"cannot load the model '.*{tmp_path.name}'"):
        list(Weights(tmp_path).values())
