"""What students' networks share: the encoder of a masked LM, their files, and tables of rows on their device."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from masker.core.batching import padded
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.folder import save_tensors
from masker.model.padded_mlm import _first_position

WEIGHTS = "model.safetensors"


def table(rows: Sequence[Sequence[int]], value: int, device: torch.device) -> Tensor:
    """[N, longest] of rows of unequal length, filled up with `value`, on the device."""
    return torch.from_numpy(padded(rows, value)[0]).to(device)


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


def load_shape(folder: Path) -> tuple[Any, Vocabulary]:
    """A masked LM of the shape that a student's folder tells, its weights random, and the vocabulary."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    mlm = AutoModelForMaskedLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    return mlm, load_vocabulary(folder)


def load_vocabulary(folder: Path) -> Vocabulary:
    from transformers import AutoTokenizer

    return Vocabulary(AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False))


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
