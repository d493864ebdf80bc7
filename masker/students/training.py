"""What the training of all students shares: the encoder of a base model, the loop, and its scores on held-out pairs."""

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from masker.core.vocabulary import Vocabulary
from masker.data.corpora import hold_out
from masker.errors import MaskerError
from masker.model.folder import save_tensors
from masker.model.padded_mlm import PaddedMLM, _first_position
from masker.students.base import Pair, StudentProgress, StudentSettings
from masker.training.examples import order
from masker.training.loop import _groups, _schedule, set_dropout

WEIGHTS = "model.safetensors"
REPORT_EVERY = 10  # steps; to know the loss is to wait for the device


class Encoder(nn.Module):
    """The encoder of a masked LM."""

    def __init__(self, mlm: Any) -> None:
        super().__init__()
        self.body = mlm.base_model
        self.config = mlm.config
        self._first = _first_position(mlm)
        self._positions = "position_ids" in inspect.signature(type(mlm.base_model).forward).parameters

    def forward(self, ids: Tensor, attention: Tensor) -> Tensor:
        """ids, attention [B, L] -> [B, L, H]."""
        inputs = {"input_ids": ids, "attention_mask": attention}
        if self._positions:  # explicit, because some models would derive them from the ids that are not [PAD]
            inputs["position_ids"] = (torch.arange(ids.shape[1], device=ids.device) + self._first).expand_as(ids)
        hidden: Tensor = self.body(**inputs)[0]
        return hidden

    @property
    def width(self) -> int:
        return int(self.config.hidden_size)

    @property
    def max_length(self) -> int:
        """The longest input that there are positions for."""
        return int(getattr(self.config, "max_position_embeddings", 512)) - self._first


def load_base(base: str | Path | None) -> PaddedMLM:
    """The model whose encoder a student starts from: `.mlm.base_model` and `.vocabulary` of it."""
    return PaddedMLM.from_pretrained(base)


def load_shape(folder: Path) -> tuple[Any, Vocabulary]:
    """A masked LM of the shape that a student's folder tells, its weights random, and the vocabulary."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    mlm = AutoModelForMaskedLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    return mlm, Vocabulary(tokenizer)


def save_weights(module: nn.Module, folder: Path) -> None:
    """The parameters and saved buffers, each once where several names share one tensor."""
    saved = module.state_dict()
    named = [*module.named_parameters(), *module.named_buffers()]
    save_tensors({name: tensor for name, tensor in named if name in saved}, folder / WEIGHTS)


def load_weights(module: nn.Module, folder: Path) -> None:
    from safetensors.torch import load_file

    weights = load_file(folder / WEIGHTS)
    wanted = {name for name, _ in module.named_parameters()}
    if missing := wanted - set(weights):
        raise MaskerError(f"the weights of {folder} lack {', '.join(sorted(missing)[:3])}; train the student again")
    module.load_state_dict(weights, strict=False)


def choose_device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise MaskerError(f"cannot use the device '{name}': {str(error).splitlines()[0]}") from error
    return device


def autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Float32 on the CPU, bfloat16 on a GPU."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def padded(rows: Sequence[Sequence[int]], value: int, device: torch.device) -> Tensor:
    """[N, longest] of rows of unequal length, on the device, where batches are taken from it by index."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    table = np.full((len(rows), max(1, lengths.max(initial=0))), value, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.fromiter((i for row in rows for i in row), dtype=np.int64)
    return torch.from_numpy(table).to(device)


def split_pairs(
    pairs: Sequence[Pair], dev: Sequence[Pair] | None, settings: StudentSettings
) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on and pairs to measure on; no source that is held out stays among the former."""
    if dev is not None or not settings.held_out:
        train, held = list(pairs), list(dev or [])
    else:
        sources = [pair.source for pair in pairs]
        out = set(hold_out(sources, share=settings.held_out, seed=settings.seed)[1])
        train = [pair for pair in pairs if pair.source.strip() not in out]
        held = [pair for pair in pairs if pair.source.strip() in out]
    if not train:
        raise MaskerError(f"{len(pairs)} pairs are too few to train on; give more")
    return train, held


@dataclass(frozen=True)
class Score:
    """Of held-out pairs: percent rewritten exactly, percent left as they were, and the loss."""

    exact: float
    keep_only: float
    loss: float


def same(a: str, b: str) -> bool:
    """Exact counts texts as equal whatever their case and white space."""
    return a.lower().split() == b.lower().split()


def score(edit: Callable[[Sequence[str]], list[str]], pairs: Sequence[Pair], loss: float) -> Score:
    outputs = edit([pair.source for pair in pairs])
    exact = sum(same(output, pair.target) for output, pair in zip(outputs, pairs, strict=True))
    kept = sum(output.split() == pair.source.split() for output, pair in zip(outputs, pairs, strict=True))
    return Score(100 * exact / len(pairs), 100 * kept / len(pairs), loss)


def train(
    module: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Tensor, int], Tensor],
    evaluate: Callable[[], Score] | None,
    *,
    settings: StudentSettings,
    device: torch.device,
    report: Callable[[StudentProgress], None],
) -> dict[str, Any]:
    """Train `module` (on `device` already) in place, and leave the best weights in it.

    `lengths` are those of the training rows; `loss(rows, longest)` is the mean loss of the rows with these indices, the
    longest of which has so many pieces; `evaluate` scores the held-out pairs, None where there are none.
    """
    sizes = np.asarray(lengths)
    batch = min(settings.batch_size, len(sizes))
    per_epoch = len(order(sizes, batch, 0, settings.seed))
    steps = settings.steps or max(1, math.ceil(settings.epochs * per_epoch))
    every = settings.eval_every or max(1, steps // 10)
    torch.manual_seed(settings.seed)
    set_dropout(module, settings.dropout)
    optimizer = torch.optim.AdamW(_groups(module, settings.weight_decay), lr=settings.lr, fused=device.type == "cuda")
    newest: Score | None = None
    best: Score | None = None
    best_step, stale, weights = 0, 0, dict[str, Tensor]()
    step, began, batches = 0, time.monotonic(), []
    while step < steps and (settings.patience is None or stale < settings.patience):
        if step % per_epoch == 0:
            batches = order(sizes, batch, step // per_epoch, settings.seed)
        rows = batches[step % per_epoch]
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * _schedule(step, steps, settings.warmup)
        module.train()
        with autocast(device):
            value = loss(torch.from_numpy(rows).to(device), int(sizes[rows].max()))
        value.backward()
        nn.utils.clip_grad_norm_(module.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        step += 1

        evaluated = step % every == 0 or step == steps
        if not evaluated and step % REPORT_EVERY:
            continue
        now = float(value.detach())
        if not math.isfinite(now):
            raise MaskerError(f"the loss is {now} after step {step}; lower lr, it is {settings.lr:g}")
        if evaluated and evaluate is not None:
            module.eval()
            newest = evaluate()
            stale += 1
            if best is None or (newest.exact, -newest.loss) > (best.exact, -best.loss):
                best, best_step, stale = newest, step, 0
                weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        exact, keep_only = (newest.exact, newest.keep_only) if newest else (None, None)
        report(StudentProgress(step, steps, now, exact, keep_only, best.exact if best else None, evaluated))
    if weights:
        module.load_state_dict(weights)
    module.eval()
    return {"steps": step, "best_step": best_step or step, "seconds": round(time.monotonic() - began, 1),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "scores": _rounded(best)}  # fmt: skip


def _rounded(best: Score | None) -> Mapping[str, float]:
    if best is None:
        return {}
    return {"exact": round(best.exact, 2), "keep_only": round(best.keep_only, 2), "loss": round(best.loss, 4)}
