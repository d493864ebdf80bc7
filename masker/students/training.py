"""What the training of all students shares: the encoder of a base model, the loop, and its scores on held-out pairs."""

import inspect
from collections.abc import Callable, Sequence
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
from masker.students.base import Pair, StudentSettings
from masker.training.loop import set_dropout, teach
from masker.training.progress import Report, Score
from masker.training.task import RowsTask

WEIGHTS = "model.safetensors"


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


def same(a: str, b: str) -> bool:
    """Exact counts texts as equal whatever their case and white space."""
    return a.lower().split() == b.lower().split()


def score(edit: Callable[[Sequence[str]], list[str]], pairs: Sequence[Pair], loss: float) -> Score:
    """The value is Exact, the percentage that is rewritten exactly; `keep_only` is that of texts left as they were."""
    outputs = edit([pair.source for pair in pairs])
    exact = sum(same(output, pair.target) for output, pair in zip(outputs, pairs, strict=True))
    kept = sum(output.split() == pair.source.split() for output, pair in zip(outputs, pairs, strict=True))
    return Score(100 * exact / len(pairs), loss, {"keep_only": 100 * kept / len(pairs)})


def train(
    module: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Tensor, int], Tensor],
    evaluate: Callable[[], Score] | None,
    *,
    settings: StudentSettings,
    device: torch.device,
    report: Report,
) -> dict[str, Any]:
    """Train `module` (on `device` already) in place, and leave the best weights in it; see `RowsTask`."""
    set_dropout(module, settings.dropout)
    state = teach(RowsTask(module, np.asarray(lengths), loss, evaluate, device), settings, report=report)
    return {"steps": state.step, "best_step": state.best_step or state.step, "seconds": round(state.seconds, 1),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "scores": _rounded(state.best)}  # fmt: skip


def _rounded(best: Score | None) -> dict[str, float]:
    if best is None:
        return {}
    kept = best.details["keep_only"]
    return {"exact": round(best.value, 2), "keep_only": round(kept, 2), "loss": round(best.loss, 4)}
