"""The device that a module is trained and run on, and the precision that suits it."""

from contextlib import AbstractContextManager
from typing import Any

import torch

from masker.errors import MaskerError
from masker.runtime import chosen_device


def choose_device(name: str | None) -> torch.device:
    """The device of that name; without one a GPU, if there is any."""
    try:
        usual = "cuda" if torch.cuda.is_available() else "cpu"
        device = torch.device(chosen_device(usual if name is None else name))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise MaskerError(f"cannot use the device '{name}': {str(error).splitlines()[0]}") from error
    return device


def autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Float32 on the CPU, bfloat16 on a GPU."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
