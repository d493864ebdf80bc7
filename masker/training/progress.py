"""How a training run goes: what its evaluations measure, where it stands, and what it reports on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """How well held-out texts are done: `value` in percent, the loss, and under their names whatever else is known."""

    value: float
    loss: float
    details: Mapping[str, float] = field(default_factory=dict)

    def beats(self, other: "Score | None") -> bool:
        """Whether the value is higher, or where it is equal, the loss lower."""
        return other is None or (self.value, -self.loss) > (other.value, -other.loss)


@dataclass
class State:
    """Where a run stands."""

    step: int = 0
    newest: Score | None = None
    best: Score | None = None
    best_step: int = 0
    stale: int = 0  # evaluations since the best
    seconds: float = 0.0

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "State":
        """The state that `dataclasses.asdict` has made a dictionary of."""
        scores = {name: Score(**fields[name]) for name in ("newest", "best") if fields[name] is not None}
        return cls(**{**fields, **scores})

    def note(self, score: Score) -> bool:
        """Take in a new score; whether it is the best so far."""
        self.newest = score
        if not score.beats(self.best):
            self.stale += 1
            return False
        self.best, self.best_step, self.stale = score, self.step, 0
        return True


@dataclass(frozen=True)
class Progress:
    """What is known after a step: for a progress bar, and for the log where the step was `evaluated`."""

    step: int
    steps: int
    loss: float
    lr: float
    newest: Score | None
    best: Score | None
    tokens_per_second: float
    evaluated: bool


Report = Callable[[Progress], None]
