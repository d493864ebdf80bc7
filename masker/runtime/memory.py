"""The memory of a device that is too small: what does not fit at once is computed in parts, and that is said."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from masker.errors import MaskerError

OutOfMemory = torch.OutOfMemoryError
R = TypeVar("R")


class InParts:
    """Batches are computed whole while they fit; once one did not, in parts of as many tokens as a half of it had."""

    def __init__(self) -> None:
        self._tokens: int | None = None

    def __call__(
        self, compute: Callable[..., tuple[Tensor, ...]], *inputs: Any, length: int | None = None
    ) -> tuple[Tensor, ...]:
        """What `compute` makes of arrays [B, ...]: tensors [B, ...]. The first is [B, L], or else L is the `length`."""
        found = self._parts(compute, inputs, inputs[0].shape[1] if length is None else length)
        return found[0] if len(found) == 1 else tuple(torch.cat(parts) for parts in zip(*found, strict=True))

    def rows(self, compute: Callable[..., Iterable[R]], rows: Sequence[Any], length: int) -> list[R]:
        """What `compute` makes of rows, the longest of which has so many pieces."""
        return [each for part in self._parts(compute, (rows,), length) for each in part]

    def _parts(self, compute: Callable[..., R], inputs: Sequence[Any], length: int) -> list[R]:
        count = len(inputs[0])
        rows = count if self._tokens is None else max(1, self._tokens // max(1, length))
        found, at = list[R](), 0
        while at < count or not found:
            part = [array[at : at + rows] for array in inputs]
            try:
                found.append(compute(*part))
                at += rows
                continue
            except OutOfMemory as error:  # what it holds is let go of first
                rows = halved(len(part[0]), f"texts of {length} pieces", error)
            self._tokens = rows * length
            torch.cuda.empty_cache()
        return found


def halved(rows: int, what: str, error: Exception) -> int:
    """Half as many rows at a time, and a word about it; an error where there is nothing left to halve."""
    if rows <= 1:
        raise MaskerError(
            f"the memory of the GPU is too small for one of the {what}; close other programs, or choose `device` 'cpu'"
        ) from error
    logging.getLogger("masker").warning(
        "masker: warning: out of memory with %d %s at a time; going on with %d", rows, what, rows // 2
    )
    return rows // 2
