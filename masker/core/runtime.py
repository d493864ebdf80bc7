"""Where log-probabilities are computed: what the core asks of a runtime, and nothing of how it is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")
Pending = Callable[[], T]  # work that a device has been given: called, it waits for the result
Array = Any  # a NumPy array, or a torch tensor on any device; results are of the kind of the inputs, and where they are


@dataclass(frozen=True)
class SlotScores:
    """Per mask: the best allowed pieces, their log-probabilities with the bias, and those of the pieces asked about."""

    best: Array  # [B, m, top]
    best_log_p: Array  # [B, m, top]
    asked_log_p: Array  # [B, m, K]


class Runtime(Protocol):
    """Who computes probabilities. `bias` [V] comes to those of the best pieces: it is 0, or less for pieces that are to
    be infilled more rarely, -inf for those that are not. `top` 0 asks for no best pieces.

    `batch_tokens` and `chunk` are how many tokens a batch and texts a time suit it; `prefetch`, how many such chunks
    should have been begun besides. `exact` is the same in float32, where this one is in int8.
    """

    batch_tokens: int
    chunk: int
    prefetch: int

    @property
    def exact(self) -> "Runtime | None": ...

    def narrowed(self, pieces: np.ndarray) -> "Runtime":
        """The same, or one that is faster as long as only these pieces are infilled and asked about."""
        ...

    def to_device(self, array: np.ndarray) -> Array:
        """The array where inputs are best built: on the device that computes."""
        ...

    def __call__(
        self, ids: Array, attention: Array, slots: Array, asked: Array, bias: Array | None, top: int = 1
    ) -> SlotScores: ...

    def styles(self, ids: Array, attention: Array) -> Array:
        """Whole texts [B, L] -> log-probabilities [B, D] of the model's domains, by its style classifier."""
        ...


def array_module(array: Array) -> tuple[Any, dict[str, Any]]:
    """NumPy or torch, whichever an array is of, and what its constructors need to be told to make another beside it."""
    if isinstance(array, np.ndarray):
        return np, {}
    import torch

    return torch, {"device": array.device}


def to_numpy(array: Array) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def moving(array: Array) -> Pending[np.ndarray]:
    """Begin to move an array off its device. What is returned waits for it, but for nothing that is begun later."""
    if isinstance(array, np.ndarray) or array.device.type != "cuda":
        return lambda: to_numpy(array)
    torch, _ = array_module(array)
    moved, done = array.to("cpu", non_blocking=True), torch.cuda.current_stream(array.device).record_event()

    def wait() -> np.ndarray:
        done.synchronize()
        return moved.numpy()

    return wait
