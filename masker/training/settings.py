"""Settings of a training run, checked when they are made."""

import math
from dataclasses import dataclass
from typing import Literal

from masker.errors import MaskerError


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train. `steps` overrides `epochs`; `batch_size` is what one step sees, in all processes and parts.

    The learning rate rises over the first `warmup` share of the steps and falls linearly to zero. Every `eval_every`
    steps (by default 10 times a run) the span accuracy of held-out lines is measured and a checkpoint written; training
    stops when it has not risen for `patience` evaluations, and the best checkpoint is the one that is kept.
    In a share `reveal` of the spans the first pieces are shown, which the search editor needs to fill spans piece by
    piece; `style` weighs the loss of the style classifier, which learns from a quarter of the rows beside; with 0 there
    is none.
    """

    epochs: float = 3.0
    steps: int | None = None
    batch_size: int = 64
    accumulate: int = 1
    lr: float = 2e-4
    warmup: float = 0.06
    weight_decay: float = 0.01
    dropout: float = 0.1
    reveal: float = 0.4
    style: float = 0.3
    clip: float = 1.0
    eval_every: int | None = None
    patience: int = 5
    held_out: float = 0.02
    seed: int = 0
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    compile: bool = False  # a minute at the start for steps that take half as long, where texts fill the window
    workers: int = 1

    def __post_init__(self) -> None:
        positive = ("epochs", "batch_size", "accumulate", "lr", "clip", "patience", "workers")
        for name in (*positive, *(n for n in ("steps", "eval_every") if getattr(self, n) is not None)):
            if not 0 < getattr(self, name) < math.inf:
                raise MaskerError(f"{name} is {getattr(self, name)}, but must be above 0 and finite")
        for name in ("weight_decay", "style", "seed"):
            if not 0 <= getattr(self, name) < math.inf:
                raise MaskerError(f"{name} is {getattr(self, name)}, but must be at least 0")
        for name in ("warmup", "dropout", "reveal", "held_out"):
            if not 0 <= getattr(self, name) < 1:
                raise MaskerError(f"{name} is {getattr(self, name)}, but must be at least 0 and below 1")
        if self.batch_size % self.accumulate:
            raise MaskerError(f"batch_size {self.batch_size} cannot be accumulated over {self.accumulate} equal parts")
        if self.precision not in ("auto", "fp32", "bf16", "fp16"):
            raise MaskerError(f"precision is '{self.precision}', but must be one of auto, fp32, bf16, fp16")
