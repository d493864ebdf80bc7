import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization.quant_utils import quantize_data
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from masker.errors import MaskerError
from masker.model.folder import GRAPHS, PLAIN, STYLE, TOKENIZER
from masker.runtime.graphs import CODES, FORMS, SCALE, TURNED, Graphs, made_from


@pytest.mark.parametrize("shrunk", [False, True])
def test_int8_is_that_of_onnx_runtimes_quantiser(shrunk: bool) -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(37, 24)).astype(np.float32)
    weight[3] = 0
    weight[5] *= 1e-30
    shrink = rng.uniform(0.1, 1, 24).astype(np.float32) if shrunk else None
    made = made_from(weight, shrink, FORMS)
    even = weight if shrink is None else weight / shrink
    for row in range(len(weight)):
        _, scale, codes = quantize_data(even[row], onnx.TensorProto.INT8, symmetric=True)
        assert made[SCALE][row] == scale
        np.testing.assert_array_equal(made[CODES][:, row], codes)
    np.testing.assert_array_equal(made[TURNED], weight.T)
    assert made[""] is weight
    assert all(array.flags.c_contiguous for array in made.values())


def test_only_the_forms_that_are_wanted_are_made() -> None:
    weight = np.ones((2, 3), np.float32)
    assert made_from(weight, None, [TURNED]).keys() == {TURNED}
    assert made_from(weight[0], None, FORMS).keys() == {""}


@pytest.mark.parametrize("name", [PLAIN, STYLE, TOKENIZER])
def test_graphs_of_other_weights_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    Graphs(copy)
    if name == TOKENIZER:
        (copy / name).write_text((copy / name).read_text() + "\n")
    else:
        arrays = load_file(copy / name)
        some = next(name for name, array in arrays.items() if array.dtype == np.float32)
        save_file({**arrays, some: arrays[some] + 1}, copy / name)
    with pytest.raises(MaskerError, match="of other weights than those beside it; write it again with masker export"):
        Graphs(copy)


def test_another_format_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    with safe_open(copy / GRAPHS, "np") as file:
        said = file.metadata()
    save_file(load_file(copy / GRAPHS), copy / GRAPHS, {**said, "format": "7"})
    with pytest.raises(MaskerError, match="has format 7, this version reads 1"):
        Graphs(copy)
