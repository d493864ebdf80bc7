import json
from pathlib import Path

import pytest
import torch
from toy import CORPORA

from masker.errors import MaskerError
from masker.model import folder as _files
from masker.model.padded_mlm import PaddedMLM
from masker.training import checkpoint
from masker.training.checkpoint import Log
from masker.training.fit import fit
from masker.training.progress import Score, State
from masker.training.settings import TrainSettings


@pytest.fixture
def model(base: Path) -> PaddedMLM:
    return PaddedMLM.from_pretrained(base)


def adam(model: PaddedMLM, steps: int = 0) -> torch.optim.Optimizer:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(steps):
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
    return optimizer


def test_round_trip(model: PaddedMLM, base: Path, tmp_path: Path) -> None:
    optimizer = adam(model, 3)
    state = State(step=3, newest=Score(1, 0.4), best=Score(1.5, 0.2, {"style_accuracy": 50.0}), best_step=2)
    checkpoint.save(tmp_path, model, optimizer, state, {"data": "x"}, best=True)
    other = PaddedMLM.from_pretrained(base)
    fresh = adam(other)
    assert checkpoint.load(tmp_path, other, fresh, {"data": "x"}) == state
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        for moment in ("step", "exp_avg", "exp_avg_sq"):
            assert torch.equal(optimizer.state[a][moment], fresh.state[b][moment])


def test_the_newest_is_kept_and_found(model: PaddedMLM, tmp_path: Path) -> None:
    for step in (5, 10, 100):
        checkpoint.save(tmp_path, model, adam(model), State(step=step), {}, best=False)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-00000100"]
    assert checkpoint.load(tmp_path, model, adam(model), {}).step == 100


@pytest.mark.parametrize("fails_at", range(6))
def test_half_a_checkpoint_is_never_picked_up(
    model: PaddedMLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """The disk is full, or the machine stops, at any of the moments of writing one."""
    checkpoint.save(tmp_path, model, adam(model, 1), State(step=1), {}, best=True)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        next(model.parameters()).add_(1)

    calls = 0

    def failing(real):  # type: ignore[no-untyped-def]
        def call(*arguments, **kw):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls > fails_at:
                raise OSError(28, "No space left on device")
            return real(*arguments, **kw)

        return call

    monkeypatch.setattr("safetensors.torch.save_file", failing(__import__("safetensors.torch").torch.save_file))
    monkeypatch.setattr(_files.os, "replace", failing(_files.os.replace))
    monkeypatch.setattr(Path, "write_text", failing(Path.write_text))
    with pytest.raises((MaskerError, OSError), match="No space left"):
        checkpoint.save(tmp_path, model, adam(model), State(step=2), {}, best=True)
    monkeypatch.undo()
    state = checkpoint.load(tmp_path, model, adam(model), {})
    assert state.step == 1
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
    assert not [p.name for p in (tmp_path / "checkpoints").iterdir() if p.name.startswith(".")]


def test_what_a_killed_process_left_is_cleaned_up(model: PaddedMLM, tmp_path: Path) -> None:
    scratch = tmp_path / "checkpoints" / ".writing-abc" / "step-00000009"
    scratch.mkdir(parents=True)
    (scratch / "state.json").write_text("{")
    with pytest.raises(MaskerError, match="no checkpoint to resume"):
        checkpoint.load(tmp_path, model, adam(model), {})
    checkpoint.save(tmp_path, model, adam(model), State(step=1), {}, best=True)
    checkpoint.finish(tmp_path)
    assert not (tmp_path / "checkpoints").exists()


def test_a_broken_checkpoint_is_one_line(model: PaddedMLM, tmp_path: Path) -> None:
    checkpoint.save(tmp_path, model, adam(model, 1), State(step=1), {}, best=True)
    weights = tmp_path / "checkpoints" / "step-00000001" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(MaskerError, match=r"cannot resume from .*step-00000001") as error:
        checkpoint.load(tmp_path, model, adam(model), {})
    assert "\n" not in str(error.value)


def test_other_data_or_settings_are_refused(model: PaddedMLM, tmp_path: Path) -> None:
    checkpoint.save(tmp_path, model, adam(model), State(step=1), {"data": "x", "lr": 0.1, "steps": 5}, best=True)
    with pytest.raises(MaskerError, match="was started with other `lr`, `steps`; resume it with the same"):
        checkpoint.load(tmp_path, model, adam(model), {"data": "x", "lr": 0.2, "steps": 6})


def test_a_run_removes_only_what_is_its_own(tmp_path: Path, base: Path) -> None:
    """Someone's folder may already have things in it, even by these names."""
    mine = [tmp_path / "notes.txt", tmp_path / "checkpoints" / "other.pt", tmp_path / "tensorboard" / "notes.txt"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    (tmp_path / "metrics.jsonl").write_text('{"step": 99}\n')
    (tmp_path / "tensorboard" / "events.out.tfevents.1.old").write_text("")
    fit(CORPORA, tmp_path, base=base, settings=TrainSettings(steps=2, batch_size=8))
    assert all(path.read_text() == "precious" for path in mine)
    assert not list(tmp_path.glob("checkpoints/step-*"))
    assert not list(tmp_path.glob("tensorboard/*.old"))
    assert [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()] == [1, 2]


def test_the_log_drops_what_is_after_the_step_and_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 10, "loss": 2.0}\n{"step": 20, "loss": 1.0}\n{"step": 30, "lo')
    log = Log(tmp_path, 10)
    log.write(20, loss=0.5)
    log.close()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"step": 10, "loss": 2.0},
        {"step": 20, "loss": 0.5},
    ]
