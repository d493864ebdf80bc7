"""Which runtime is taken, by which device there is and which files there are."""

import sys
from pathlib import Path

import pytest
import torch

from masker import runtime
from masker.errors import MaskerError
from masker.model.light import LightModel
from masker.model.padded_mlm import PaddedMLM
from masker.runtime import chosen_device, gpus, load, runtime_for
from masker.runtime.onnx import OnnxRuntime
from masker.runtime.torch import TorchRuntime
from masker.training.device import choose_device


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)


def test_graphs_are_for_the_cpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load(folder, "cpu"), LightModel)
    assert isinstance(load(folder, torch.device("cpu")), LightModel)
    assert isinstance(load(folder, "cuda"), PaddedMLM)
    for there, kind in ((0, LightModel), (1, PaddedMLM)):
        monkeypatch.setattr(runtime, "gpus", lambda there=there: there)
        assert isinstance(load(folder), kind)


def test_without_graphs_it_is_torch(model_folder: Path) -> None:
    model = load(model_folder, "cpu")
    assert isinstance(model, PaddedMLM)
    assert isinstance(runtime_for(model, "cpu"), TorchRuntime)


def test_int8_has_a_sibling_in_float32(folder: Path) -> None:
    plain, exact = (runtime_for(load(folder, "cpu"), exact=exact) for exact in (False, True))
    assert isinstance(plain, OnnxRuntime)
    assert plain.exact is not None
    assert plain.exact.exact is None
    assert exact.exact is None


def test_the_embedded_model_needs_no_torch(without_torch: None) -> None:
    assert isinstance(load(), LightModel)


@pytest.mark.parametrize("device", [None, "cuda"])
def test_what_needs_torch_says_so(model_folder: Path, device: str | None, without_torch: None) -> None:
    name = None if device else model_folder
    with pytest.raises(MaskerError, match=r"needs packages that are not installed; pip install 'masker-nlp\[train\]'"):
        load(name, device)


def test_a_device_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "gpus", lambda: 2)
    assert chosen_device("cpu") == "cpu"
    assert chosen_device("cuda:1") == "cuda:1"
    assert chosen_device() == "cuda"
    monkeypatch.setattr(runtime, "gpus", lambda: 0)
    assert chosen_device() == "cpu"


def test_where_there_can_be_no_gpu_torch_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([self / "nvidia0"] if "nvidia" in pattern else []))
    assert gpus() == 3
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([]))
    assert gpus() == 0
    monkeypatch.setattr(sys, "platform", "win32")
    assert gpus() == 3
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)
    assert gpus() == 0


@pytest.mark.parametrize("device", ["meta", "mkldnn", "vulkan", "", "gpu", "cuda:x", "cuda:-1", "cpu:", "cud", "CPU"])
def test_a_device_that_computes_nothing_is_unknown(device: str) -> None:
    for choose in (chosen_device, choose_device):
        with pytest.raises(MaskerError, match=f"unknown device '{device}'; known: cpu, cuda, mps, xpu, cuda:1"):
            choose(device)


def test_the_cpu_is_one_device() -> None:
    assert chosen_device("cpu:0") == "cpu"
    with pytest.raises(MaskerError, match="no device 'cpu:7': all cores of the CPU are one device; say cpu"):
        chosen_device("cpu:7")
