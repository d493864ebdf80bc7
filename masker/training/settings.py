"""Settings of training runs, checked when they are made: what all runs have, and what those of a padded MLM add."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from masker.errors import MOST, MOST_SEED, MaskerError, unknown

Precision = Literal["auto", "fp32", "bf16", "fp16"]
LARGEST, STEPS = 2048, 800  # what fills a GPU, with texts of a sentence; below so many steps little is learnt
LARGEST_EVER = 2**20  # texts of a batch: no memory holds more


def require(
    name: str,
    value: float,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    most: int = MOST,
) -> None:
    """Refuse a value outside its bounds, in one line that names the parameter, its value and the bound; whole numbers
    may be up to `most`.
    """
    for holds, bound in (
        (value > above, f"above {above:g}"),
        (value >= at_least, f"at least {at_least:g}"),
        (value < below, "finite" if below == math.inf else f"below {below:g}"),
        (value <= most or not isinstance(value, int), f"at most {most}"),
    ):
        if not holds:
            raise MaskerError(f"`{name}` is {value} but must be {bound}")


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """What every training run has. `steps` overrides `epochs`.

    The learning rate rises to `lr` over the first `warmup` share of the steps and falls linearly to zero. Every
    `eval_every` steps (by default 10 times per run) the held-out texts are measured; training stops after `patience`
    evaluations without a gain (never, where it is None), and the best weights are the ones that are kept.
    """

    epochs: float = 3.0
    steps: int | None = None
    batch_size: int = 64
    lr: float = 2e-4
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip: float = 1.0
    eval_every: int | None = None
    patience: int | None = 5
    seed: int = 0

    def __post_init__(self) -> None:
        self._require("epochs", "steps", "lr", "clip", "eval_every", "patience", above=0)
        self._require("batch_size", above=0, most=LARGEST_EVER)
        self._require("weight_decay", at_least=0)
        self._require("seed", at_least=0, most=MOST_SEED)
        self._require("warmup", at_least=0, below=1)

    def _require(self, *names: str, **bounds: Any) -> None:
        """The same bounds for several settings, as `require` takes them; one that is None is not checked."""
        for name in names:
            if (value := getattr(self, name)) is not None:
                require(name, value, **bounds)


def batch_for(texts: int, epochs: float) -> int:
    """The largest batch up to LARGEST, a power of two, with which a run still has STEPS steps."""
    return 2 ** min(LARGEST.bit_length() - 1, max(6, math.floor(math.log2(max(1.0, texts * epochs / STEPS)))))


def rate_for(batch_size: int) -> float:
    """A learning rate that suits a batch: 2e-4 for 64, twice as much for 2,048."""
    return float(f"{2e-4 * (batch_size / 64) ** 0.2:.2g}")


@dataclass(frozen=True, kw_only=True)
class TrainSettings(LoopSettings):
    """How to train a padded MLM. `batch_size` is what one step sees, over all processes and `accumulate` parts.

    Evaluations measure the span accuracy of the `held_out` share of the lines, and write a checkpoint. In a share
    `reveal` of the spans the first pieces are shown, which the search editor needs to fill spans piece by piece.
    `style` weighs the loss of the style classifier, which learns from a quarter of the rows besides; with 0 there is
    none. With `keep_embeddings` the pieces that the base knows keep their embeddings, and so do positions: a student
    that shares them goes on as it was.
    """

    accumulate: int = 1
    dropout: float = 0.1
    reveal: float = 0.4
    style: float = 0.3
    keep_embeddings: bool = False
    held_out: float = 0.02
    precision: Precision = "auto"
    compile: bool = False  # a minute at the start for steps that take half as long, where texts fill the window
    workers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("accumulate", "workers", above=0)
        self._require("style", at_least=0)
        self._require("dropout", "reveal", "held_out", at_least=0, below=1)
        if self.precision not in get_args(Precision):
            raise unknown("precision", self.precision, list(get_args(Precision)))
        self.part()

    def part(self, processes: int = 1) -> int:
        """How many of a step's rows a process computes at a time."""
        parts = self.accumulate * processes
        if self.batch_size % parts:
            of = f"`accumulate` {self.accumulate}" + (f" x {processes} processes" if processes > 1 else "")
            raise MaskerError(f"`batch_size` is {self.batch_size} but must be a multiple of {parts} ({of})")
        return self.batch_size // parts
