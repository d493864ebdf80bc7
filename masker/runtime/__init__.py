"""Where log-probabilities are computed. Whether by torch or by ONNX Runtime, and on which device, is decided here."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from masker.core.runtime import Runtime
from masker.errors import MaskerError, missing, unknown
from masker.model.folder import exported_folder
from masker.model.light import LightModel

if TYPE_CHECKING:
    import torch

    from masker.model.padded_mlm import PaddedMLM

    Model = PaddedMLM | LightModel
    Device = str | torch.device | None


DEVICES = ("cpu", "cuda", "mps", "xpu")  # torch knows more, and some of them compute nothing


def load(name: str | Path | None = None, device: "Device" = None) -> "Model":
    """The embedded model (None), a folder or a hub id, in the form that a runtime for `device` needs.

    On the CPU that is ONNX Runtime where the folder has graphs for it, which `masker export` writes; else it is torch.
    """
    folder = exported_folder(name)
    if folder and chosen_device(device) == "cpu":
        return LightModel.read(folder)
    return load_network(name)


def load_network(name: str | Path | None = None) -> "PaddedMLM":
    """The same as a network of torch's."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        what = "the embedded model on another device than the CPU" if name is None else f"the model '{name}'"
        raise missing("train", what)
    from masker.model.padded_mlm import PaddedMLM

    return PaddedMLM.from_pretrained(name)


def runtime_for(model: "Model", device: "Device" = None, *, exact: bool = False) -> Runtime:
    """What computes with a model. Where that is in int8, its sibling in float32 is its `exact`."""
    if isinstance(model, LightModel):
        from masker.runtime.graphs import FLOAT32, INT8, Graphs
        from masker.runtime.onnx import OnnxRuntime

        return OnnxRuntime(Graphs(model.folder), FLOAT32 if exact else INT8)
    from masker.runtime.torch import TorchRuntime

    return TorchRuntime(model, device, exact=exact)


def chosen_device(device: "Device" = None) -> str:
    """The device that was named, or else a GPU if there is one, or else the CPU."""
    if device is None:
        return "cuda" if gpus() else "cpu"
    kind, sign, index = str(device).partition(":")
    if kind not in DEVICES or (sign and not index.isdecimal()):
        raise unknown("device", str(device), [*DEVICES, "cuda:1"])
    if kind == "cpu" and int(index or 0):
        raise MaskerError(f"there is no device '{device}': all cores of the CPU are one device; say cpu")
    return "cpu" if kind == "cpu" else str(device)


def gpus() -> int:
    """How many there are that torch can use. It takes seconds to import, and is asked only where there may be one."""
    nodes = ("nvidia[0-9]*", "kfd", "dxg")  # NVIDIA's, AMD's, and those of Windows in its Linux
    if sys.platform == "darwin" or find_spec("torch") is None:
        return 0
    if sys.platform == "linux" and not any(any(Path("/dev").glob(node)) for node in nodes):
        return 0
    import torch

    return torch.cuda.device_count()


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
