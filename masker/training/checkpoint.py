"""Checkpoints of a run, written whole or not at all, and its metrics. Everything is safetensors and JSON."""

import json
import math
import os
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from masker.errors import MaskerError
from masker.model.claim import RUN
from masker.model.folder import one_line, save_tensors, staged
from masker.model.padded_mlm import PaddedMLM
from masker.training.progress import State

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def start(out: Path) -> None:
    """Begin a run: leftovers of an earlier one in the same folder go, and nothing else."""
    out.mkdir(parents=True, exist_ok=True)
    finish(out)
    for path in (out / "metrics.jsonl", *(out / "tensorboard").glob("events.out.tfevents.*")):
        path.unlink(missing_ok=True)


def save(out: Path, model: PaddedMLM, optimizer: Any, state: State, fingerprint: dict[str, Any], *, best: bool) -> None:
    folder = out / RUN
    weights = dict(model.named_parameters())
    with staged(folder) as stage:
        if best:
            save_tensors(weights, stage / "best.safetensors")
    name = f"step-{state.step:08d}"
    with staged(folder) as stage:  # the folder is renamed as one, so weights, moments and state always belong together
        inner = stage / name
        inner.mkdir()
        save_tensors(weights, inner / "model.safetensors")
        save_tensors(_moments(optimizer), inner / "optimizer.safetensors")
        (inner / "state.json").write_text(json.dumps({"state": asdict(state), "run": fingerprint}), "utf-8")
    for old in folder.glob("step-*"):
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


def newest(out: Path) -> Path:
    """The folder of the checkpoint that a run would go on from."""
    found = sorted((out / RUN).glob("step-*"))
    if not found:
        raise MaskerError(f"there is no checkpoint to resume in {out}; start a new run, without `resume`")
    return found[-1]


def load(out: Path, model: PaddedMLM, optimizer: Any, fingerprint: dict[str, Any]) -> State:
    from safetensors.torch import load_file

    found = newest(out)
    with one_line(f"cannot resume from {found}"):
        saved = json.loads((found / "state.json").read_text("utf-8"))
        now, then = json.loads(json.dumps(fingerprint)), saved["run"]
        if other := [key for key in now if now[key] != then.get(key)]:
            names = ", ".join(f"`{key}`" for key in other)
            raise MaskerError(f"the run in {out} was started with other {names}; resume it with the same")
        _load_weights(model, load_file(found / "model.safetensors"))
        _load_moments(optimizer, load_file(found / "optimizer.safetensors"))
        return State.from_dict(saved["state"])


def load_best(out: Path, model: PaddedMLM) -> None:
    from safetensors.torch import load_file

    _load_weights(model, load_file(out / RUN / "best.safetensors"))


def finish(out: Path) -> None:
    """Checkpoints have served their purpose once the model is saved."""
    folder = out / RUN
    for path in sorted(folder.glob("step-*")):
        gone = path.rename(folder / f".gone-{path.name}")  # at once, so that half of one is never resumed
        shutil.rmtree(gone, ignore_errors=True)
    (folder / "best.safetensors").unlink(missing_ok=True)
    with suppress(OSError):  # somebody else's files are in it
        folder.rmdir()


def _load_weights(model: PaddedMLM, weights: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def _parameters(optimizer: Any) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _moments(optimizer: Any) -> dict[str, Tensor]:
    state = optimizer.state
    return {f"{k}.{m}": state[p][m] for k, p in enumerate(_parameters(optimizer)) for m in _MOMENTS if p in state}


def _load_moments(optimizer: Any, moments: dict[str, Tensor]) -> None:
    for k, parameter in enumerate(_parameters(optimizer)):
        if f"{k}.step" in moments:
            on = {m: moments[f"{k}.{m}"] for m in _MOMENTS}
            fused = parameter.device.type == "cuda"
            optimizer.state[parameter] = {
                m: t.to(parameter.device) if fused or m != "step" else t for m, t in on.items()
            }


def _step(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except ValueError:
        return math.inf  # half a line, written when the run was killed


class Log:
    """metrics.jsonl, and TensorBoard events where tensorboard is installed. Lines after a resumed step are dropped."""

    def __init__(self, out: Path, step: int) -> None:
        self._path = out / "metrics.jsonl"
        if self._path.is_file():
            lines = [line for line in self._path.read_text("utf-8").splitlines() if _step(line) <= step]
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text("".join(line + "\n" for line in lines), "utf-8")
            os.replace(temporary, self._path)
        try:
            from torch.utils.tensorboard import SummaryWriter

            self._board: Any = SummaryWriter(str(out / "tensorboard"), purge_step=step + 1)
        except ImportError:
            self._board = None

    def write(self, step: int, **values: float) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **{k: round(v, 6) for k, v in values.items()}}) + "\n")
        for name, value in values.items() if self._board else ():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        if self._board:
            self._board.close()
