"""The training loop, one for models, students and judges: a task says what is learnt, the settings how.

Which rows a step sees and how fast it learns follow from the settings and the step's number alone, so that a run can
be taken up at any step.
"""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from masker.errors import MaskerError
from masker.training.examples import order
from masker.training.progress import Progress, Report, State
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask, Task

REPORT_EVERY = 10  # steps; to know the loss is to wait for the device


class Schedule:
    """What each step of a run is like, for rows of these lengths: its rows, its learning rate, and what follows it."""

    def __init__(self, lengths: np.ndarray, settings: LoopSettings, domain: np.ndarray | None = None) -> None:
        self._lengths, self._settings, self._domain = lengths, settings, domain
        self.per_epoch = max(1, len(lengths) // settings.batch_size)
        self.steps = settings.steps or max(1, math.ceil(settings.epochs * self.per_epoch))
        self._every = settings.eval_every or max(1, self.steps // 10)
        self._epoch, self._batches = -1, list[np.ndarray]()

    def rows(self, step: int) -> np.ndarray:
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch = epoch
            self._batches = order(self._lengths, self._settings.batch_size, epoch, self._settings.seed, self._domain)
        return self._batches[place]

    def rate(self, step: int) -> float:
        return self._settings.lr * warm_up_and_decay(step, self.steps, self._settings.warmup)

    def evaluates(self, done: int) -> bool:
        """Whether there is an evaluation after so many steps."""
        return done % self._every == 0 or done == self.steps

    def ends(self, state: State) -> bool:
        patience = self._settings.patience
        return state.step >= self.steps or (patience is not None and state.stale >= patience)


def warm_up_and_decay(step: int, steps: int, warmup: float) -> float:
    """The share of the highest learning rate: rises over the first `warmup` share of the steps, then falls to zero."""
    rise = max(1, round(warmup * steps))
    return (step + 1) / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


def train(
    task: Task,
    settings: LoopSettings,
    optimizer: torch.optim.Optimizer,
    *,
    state: State | None = None,
    report_every: int = REPORT_EVERY,
    report: Report = lambda _: None,
) -> State:
    """Teach a task until its steps or its patience run out; its module is left with the best weights.

    A run that was broken off goes on from its `state`.
    """
    schedule, state = Schedule(task.lengths, settings, task.domain), state or State()
    tokens: Tensor | int = 0
    trained = 0.0  # seconds, evaluations aside
    while not schedule.ends(state):
        began = time.monotonic()
        rate = schedule.rate(state.step)
        loss, seen = _step(task, optimizer, schedule.rows(state.step), state.step, rate=rate, clip=settings.clip)
        state.step += 1
        tokens = tokens + seen
        evaluated = schedule.evaluates(state.step)
        reported = evaluated or state.step % report_every == 0
        number = _finite(task.number(loss), state.step, settings.lr) if reported else math.nan
        trained += time.monotonic() - began
        improved = _evaluate(task, state) if evaluated else None
        state.seconds += time.monotonic() - began
        if reported:
            speed = int(tokens) / trained
            at = state.step, schedule.steps
            progress = Progress(*at, number, rate, state.newest, state.best, speed, evaluated)
            if improved is not None:
                task.keep(state, progress, improved=improved)
            report(progress)
    task.restore()
    return state


def teach(
    task: RowsTask, settings: LoopSettings, *, report_every: int = REPORT_EVERY, report: Report = lambda _: None
) -> State:
    """Train on one device, as the seed has it. Rows that are too few for a batch make a smaller one."""
    torch.manual_seed(settings.seed)
    settings = replace(settings, batch_size=min(settings.batch_size, len(task.lengths)))
    optimizer = adamw(task.module, settings, task.device)
    return train(task, settings, optimizer, report_every=report_every, report=report)


def _step(
    task: Task, optimizer: torch.optim.Optimizer, rows: np.ndarray, step: int, *, rate: float, clip: float
) -> tuple[Tensor, Tensor | int]:
    """One step; gives what `Task.backward` does."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    task.module.train()
    found = task.backward(rows, step)
    task.clip(clip)
    optimizer.step()
    optimizer.zero_grad()
    return found


def _evaluate(task: Task, state: State) -> bool | None:
    """Whether a new score is the best so far; None where nothing is measured."""
    task.module.eval()
    score = task.evaluate()
    return None if score is None else state.note(score)


def _finite(loss: float, step: int, lr: float) -> float:
    if not math.isfinite(loss):
        raise MaskerError(f"the loss is {loss} after step {step}; lower `lr`, it is {lr:g}")
    return loss


def adamw(module: nn.Module, settings: LoopSettings, device: torch.device, **options: Any) -> torch.optim.AdamW:
    """AdamW with weight decay for matrices only, as usual: not for biases and norms."""
    matrices = [p for p in module.parameters() if p.dim() > 1]
    others = [p for p in module.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.lr, fused=device.type == "cuda", **options)


def set_dropout(module: nn.Module, share: float) -> None:
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = share
