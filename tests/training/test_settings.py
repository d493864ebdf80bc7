import math
from typing import Any

import pytest

from masker.errors import MaskerError
from masker.evaluation.judges.base import Training
from masker.students.base import StudentSettings
from masker.training.settings import STEPS, LoopSettings, TrainSettings, batch_for, rate_for, require

ALL = [
    {"epochs": 0}, {"epochs": math.nan}, {"steps": 0}, {"batch_size": 0}, {"lr": math.inf}, {"lr": -1}, {"warmup": 1},
    {"patience": 0}, {"eval_every": 0}, {"seed": -1}, {"weight_decay": -1}, {"clip": 0},
    {"steps": 10**23}, {"batch_size": 2**20 + 1}, {"seed": 10**23},
]  # fmt: skip
SOME = [
    (TrainSettings, {"dropout": -0.1}), (TrainSettings, {"held_out": 1}), (TrainSettings, {"reveal": 1}),
    (TrainSettings, {"workers": 0}), (TrainSettings, {"accumulate": 0}), (TrainSettings, {"style": -1}),
    (StudentSettings, {"dropout": 1}), (StudentSettings, {"held_out": 1}), (StudentSettings, {"max_length": 0}),
    (Training, {"max_length": 2}), (Training, {"seed": 2**32}), (Training, {"max_length": 2**31}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "wrong"), [(s, w) for s in (TrainSettings, StudentSettings, Training) for w in ALL] + SOME
)
def test_settings_are_checked_and_errors_name_the_parameter_and_both_numbers(
    settings: type[LoopSettings], wrong: dict[str, Any]
) -> None:
    ((name, value),) = wrong.items()
    bounds = r"(finite|(above|below|at least|at most) \d+)"
    with pytest.raises(MaskerError, match=rf"^`{name}` is {value} but must be {bounds}$"):
        settings(**wrong)


def test_a_batch_is_shared_equally() -> None:
    assert TrainSettings(batch_size=24, accumulate=3).part() == 8
    assert TrainSettings(batch_size=24, accumulate=3).part(2) == 4
    with pytest.raises(MaskerError, match=r"^`batch_size` is 8 but must be a multiple of 3 \(`accumulate` 3\)$"):
        TrainSettings(batch_size=8, accumulate=3)
    with pytest.raises(MaskerError, match=r"^`batch_size` is 9 but must be a multiple of 6 \(`accumulate` 3 x 2 proc"):
        TrainSettings(batch_size=9, accumulate=3).part(2)


def test_precisions_are_known_by_name() -> None:
    with pytest.raises(MaskerError, match="unknown precision 'fp8'; known: auto, fp32, bf16, fp16"):
        TrainSettings(precision="fp8")  # type: ignore[arg-type]


def test_bounds() -> None:
    require("phrases", 0, at_least=0)
    require("share", 0.5, above=0, below=1)
    for bounds in ({"above": 3}, {"at_least": 4}, {"below": 3}):
        with pytest.raises(MaskerError, match=r"^`phrases` is 3 but must be "):
            require("phrases", 3, **bounds)


def test_a_batch_that_fills_a_gpu_and_leaves_steps_enough() -> None:
    assert [batch_for(texts, 3.0) for texts in (0, 100, 29_000, 333_000, 10**8)] == [64, 64, 64, 1024, 2048]
    assert all(3 * texts / batch_for(texts, 3.0) >= STEPS for texts in range(20_000, 1_000_000, 7_001))
    assert [rate_for(size) for size in (64, 2048)] == [2e-4, 4e-4]
