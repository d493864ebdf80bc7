"""What a training run teaches. The loop chooses rows and asks a task for their loss; the rest is the task's affair."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from masker.runtime.memory import OutOfMemory, halved
from masker.training.device import autocast
from masker.training.progress import Progress, Score, State


class Task(ABC):
    """Rows to learn from, known by their numbers, and how well they are learnt."""

    module: nn.Module  # what is taught
    lengths: np.ndarray  # [N] pieces of each row
    domain: np.ndarray | None = None  # [N] which domain each row is of, where none is to be drowned by another

    def backward(self, rows: np.ndarray, step: int) -> tuple[Tensor, Tensor | int]:
        """Add up the gradients of a batch; gives its loss and its number of tokens, without waiting for the device.

        What does not fit into memory is computed in smaller parts.
        """
        while True:
            try:
                return self._backward(rows, step)
            except OutOfMemory as error:  # what it holds is let go of first
                self._halve(rows, error)
            self.module.zero_grad()
            torch.cuda.empty_cache()

    @abstractmethod
    def _backward(self, rows: np.ndarray, step: int) -> tuple[Tensor, Tensor | int]:
        """The same, as far as there is memory for it."""

    @abstractmethod
    def _halve(self, rows: np.ndarray, error: Exception) -> None:
        """Have a batch computed in parts of half as many rows as before."""

    @abstractmethod
    def evaluate(self) -> Score | None:
        """Measure the held-out texts; None where there are none."""

    @abstractmethod
    def keep(self, state: State, progress: Progress, *, improved: bool) -> None:
        """Called after each evaluation: remember the weights, at least where they have `improved`."""

    @abstractmethod
    def restore(self) -> None:
        """Called at the end of a run: go back to the best weights."""

    def clip(self, norm: float) -> None:
        nn.utils.clip_grad_norm_(self.module.parameters(), norm)

    def number(self, loss: Tensor) -> float:
        """The loss of a step as a number; waits for the device."""
        return float(loss)


class RowsTask(Task):
    """A task on one device. `loss(rows, longest)` is the mean loss of rows, the longest of which has so many pieces.

    `measure` scores the held-out texts, None where there are none. The best weights are kept in memory.
    """

    def __init__(
        self,
        module: nn.Module,
        lengths: np.ndarray,
        loss: Callable[[Tensor, int], Tensor],
        measure: Callable[[], Score] | None,
        device: torch.device,
    ) -> None:
        self.module, self.lengths, self.device = module, lengths, device
        self._loss, self._measure = loss, measure
        self._best: dict[str, Tensor] = {}
        self._fits: int | None = None  # rows at a time; all of them until memory has run out

    def _halve(self, rows: np.ndarray, error: Exception) -> None:
        self._fits = halved(self._at_a_time(rows), "rows of a batch", error)

    def _at_a_time(self, rows: np.ndarray) -> int:
        return min(self._fits or len(rows), len(rows))

    def _backward(self, rows: np.ndarray, step: int) -> tuple[Tensor, int]:
        total, size = torch.zeros((), device=self.device), self._at_a_time(rows)
        for k in range(0, len(rows), size):
            part = rows[k : k + size]
            with autocast(self.device):
                loss = self._loss(torch.from_numpy(part).to(self.device), int(self.lengths[part].max()))
                loss = loss * (len(part) / len(rows))
            loss.backward()
            total += loss.detach()
        return total, int(self.lengths[rows].sum())

    def evaluate(self) -> Score | None:
        return self._measure() if self._measure else None

    def keep(self, state: State, progress: Progress, *, improved: bool) -> None:
        if improved:
            self._best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}

    def restore(self) -> None:
        if self._best:
            self.module.load_state_dict(self._best)
        self.module.eval()
