from typing import Any

import numpy as np
import pytest
import torch
from conftest import make_model
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from masker.errors import MaskerError
from masker.runtime.memory import OutOfMemory
from masker.training.loop import Schedule, adamw, set_dropout, teach, warm_up_and_decay
from masker.training.progress import Progress, Score, State
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask

# -- the schedule ------------------------------------------------------------------------------------------------------


@given(st.integers(1, 500), st.floats(0, 0.99))
def test_the_rate_rises_and_falls(steps: int, warmup: float) -> None:
    rates = [warm_up_and_decay(step, steps, warmup) for step in range(steps)]
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < min(rates) <= max(rates) <= 1
    if round(warmup * steps) < steps:
        assert max(rates) == 1


def test_steps_are_those_of_the_epochs_unless_they_are_given() -> None:
    lengths = np.arange(30)
    assert Schedule(lengths, LoopSettings(epochs=1.5, batch_size=4)).steps == 11  # 7 batches, 2 rows are left over
    assert Schedule(lengths, LoopSettings(epochs=0.01, batch_size=4)).steps == 1
    assert Schedule(lengths, LoopSettings(epochs=3, batch_size=64)).steps == 3
    assert Schedule(lengths, LoopSettings(epochs=3, steps=5)).steps == 5


def test_a_run_can_be_taken_up_at_any_step() -> None:
    settings = LoopSettings(steps=20, batch_size=4)
    through = Schedule(np.arange(30), settings)
    seen = [through.rows(step).tolist() for step in range(20)]
    for step in (19, 3, 7, 6):
        assert Schedule(np.arange(30), settings).rows(step).tolist() == seen[step]
    first, second = ({row for batch in part for row in batch} for part in (seen[:7], seen[7:14]))
    assert first != second  # other rows are left out


def test_evaluations_are_ten_in_a_run_or_as_often_as_wanted_and_always_at_the_end() -> None:
    def after(**options: Any) -> list[int]:
        schedule = Schedule(np.arange(30), LoopSettings(batch_size=4, **options))
        return [done for done in range(1, schedule.steps + 1) if schedule.evaluates(done)]

    assert after(steps=50) == [*range(5, 51, 5)]
    assert after(steps=7, eval_every=3) == [3, 6, 7]
    assert after(steps=3) == [1, 2, 3]


def test_a_run_ends_with_its_steps_or_its_patience() -> None:
    patient, endless = (Schedule(np.arange(9), LoopSettings(steps=9, patience=n)) for n in (3, None))
    assert [patient.ends(State(step=8, stale=stale)) for stale in (2, 3)] == [False, True]
    assert [endless.ends(State(step=step, stale=99)) for step in (8, 9)] == [False, True]


# -- the optimizer -----------------------------------------------------------------------------------------------------


def test_only_matrices_decay() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    decaying, others = adamw(module, LoopSettings(weight_decay=0.5), torch.device("cpu")).param_groups
    assert (decaying["weight_decay"], [p.shape for p in decaying["params"]]) == (0.5, [(3, 2)])
    assert (others["weight_decay"], [p.shape for p in others["params"]]) == (0, [(3,)] * 3)


def test_dropout_is_what_the_settings_say() -> None:
    model = make_model()
    set_dropout(model, 0.25)
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.25}


# -- the loop ----------------------------------------------------------------------------------------------------------


class Number(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))


def run(scores: list[Score], **options: Any) -> tuple[float, State, list[Progress]]:
    """Train one number upwards without end, with these scores at the evaluations."""
    module, reports, left = Number(), list[Progress](), iter(scores)

    def loss(rows: Tensor, longest: int) -> Tensor:
        assert longest == max(int(row) % 7 + 1 for row in rows)
        return -module.value

    lengths = np.array([k % 7 + 1 for k in range(30)])
    settings = LoopSettings(**{"steps": 40, "eval_every": 10, "lr": 0.1, "warmup": 0, "batch_size": 4, **options})
    task = RowsTask(module, lengths, loss, (lambda: next(left)) if scores else None, torch.device("cpu"))
    state = teach(task, settings, report=reports.append)
    assert not module.training
    return float(module.value.detach()), state, reports


def test_the_best_weights_are_kept_and_ties_go_to_the_lower_loss() -> None:
    value, state, reports = run([Score(50, 1.0), Score(60, 2.0), Score(60, 1.0), Score(60, 3.0)])
    assert state.best_step == 30
    assert state.best == Score(60, 1.0)
    assert [(p.step, p.newest.value, p.best.value) for p in reports if p.evaluated and p.newest and p.best] == [
        (10, 50, 50), (20, 60, 60), (30, 60, 60), (40, 60, 60)
    ]  # fmt: skip
    assert value < run([Score(k, 1.0) for k in range(4)])[0]


def test_without_a_measure_the_last_weights_are_kept() -> None:
    value, state, reports = run([])
    assert (state.step, state.best, state.best_step) == (40, None, 0)
    assert value == run([Score(k, 1.0) for k in range(4)])[0]
    assert [p.step for p in reports] == [10, 20, 30, 40]
    assert all(p.newest is None and p.tokens_per_second > 0 for p in reports)


def test_training_stops_when_nothing_is_gained() -> None:
    _, state, _ = run([Score(50, 1.0)] * 4, patience=2)
    assert (state.step, state.best_step) == (30, 10)


def test_rows_that_do_not_fit_into_memory_are_taken_in_parts(caplog: pytest.LogCaptureFixture) -> None:
    """With the gradients of the whole batch, and one line for every time that it had to be halved."""
    torch.manual_seed(0)
    data, module = torch.randn(11, 3), nn.Linear(3, 1)

    def gradients(most: int) -> tuple[float, Tensor]:
        def loss(rows: Tensor, longest: int) -> Tensor:
            if len(rows) > most:
                module(data).sum().backward()  # what was added before memory ran out must not count
                raise OutOfMemory("CUDA out of memory")
            return module(data[rows]).square().mean()

        module.zero_grad()
        task = RowsTask(module, np.arange(1, 12), loss, None, torch.device("cpu"))
        value, tokens = task.backward(np.arange(11), 0)
        assert tokens == 66
        return float(value), next(module.parameters()).grad.clone()  # type: ignore[union-attr]

    whole, expected = gradients(11)
    assert not caplog.records
    for most in (5, 10):
        loss, found = gradients(most)
        assert loss == pytest.approx(whole, rel=1e-5)
        assert torch.allclose(found, expected, rtol=1e-5)
    assert [record.getMessage() for record in caplog.records] == [
        "masker: warning: out of memory with 11 rows of a batch at a time; going on with 5"
    ] * 2
    with pytest.raises(MaskerError, match=r"^the memory of the GPU is too small for one of the rows of a batch; "):
        gradients(0)


def test_a_loss_that_explodes_is_one_line() -> None:
    settings = LoopSettings(steps=20, lr=0.001, eval_every=20)
    nan = torch.tensor(torch.nan, requires_grad=True)
    task = RowsTask(Number(), np.array([1, 2]), lambda rows, longest: nan, None, torch.device("cpu"))
    with pytest.raises(MaskerError, match=r"the loss is nan after step 10; lower `lr`, it is 0\.001"):
        teach(task, settings)


def test_the_seed_decides_what_is_dropped() -> None:
    def weights(seed: int) -> list[float]:
        module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        with torch.no_grad():
            module[0].weight.fill_(0.5)  # type: ignore[operator]
            module[0].bias.zero_()  # type: ignore[operator]
        task = RowsTask(module, np.ones(8), lambda rows, _: module(torch.ones(4)).sum(), None, torch.device("cpu"))
        teach(task, LoopSettings(steps=5, seed=seed))
        return module[0].weight.flatten().tolist()  # type: ignore[operator]

    assert weights(1) == weights(1) != weights(2)
