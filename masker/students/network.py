"""What students' networks share: the encoder of a masked LM, their files, and tables of rows on their device."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import save_file
from torch import Tensor, nn

from masker.core.batching import padded
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.folder import PACKED, PLAIN, save_tensors
from masker.model.packed import pack
from masker.model.padded_mlm import PaddedMLM, _first_position, embeddings
from masker.model.pretrained import check_finite
from masker.model.weights import Weights


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


def keep_layers(mlm: Any, count: int) -> None:
    """Only the first layers of an encoder."""
    there = mlm.config.num_hidden_layers
    if not 0 < count <= there:
        raise MaskerError(f"`layers` is {count}; the encoder has {there}")
    stacks = [part for part in mlm.base_model.modules() if isinstance(part, nn.ModuleList) and len(part) == there]
    del stacks[0][count:]
    mlm.config.num_hidden_layers = count


def load_shape(folder: Path, owner: Path | None = None) -> tuple[Any, Vocabulary]:
    """A masked LM of the shape that a student's folder tells, its weights random, and the vocabulary.

    Embeddings and vocabulary are those of the model in the folder `owner`, if there is one.
    """
    from transformers import AutoConfig, AutoModelForMaskedLM

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    base = PaddedMLM.from_pretrained(owner) if owner else None
    if base:
        config.vocab_size = base.mlm.config.vocab_size  # the model may have learnt of more domains since
    mlm = AutoModelForMaskedLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    if base is None:
        return mlm, load_vocabulary(folder)
    embeddings(mlm).load_state_dict(embeddings(base.mlm).state_dict())
    return mlm, base.vocabulary


def load_vocabulary(folder: Path) -> Vocabulary:
    from transformers import AutoTokenizer

    return Vocabulary(AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False))


def save_weights(module: nn.Module, folder: Path, *, without: str | None = None, packed: bool = False) -> None:
    """The parameters and saved buffers, each once where several names share one tensor; not those of one part."""
    saved = {name for name in module.state_dict() if without not in name.split(".")}
    named = [*module.named_parameters(), *module.named_buffers()]
    tensors = {name: tensor for name, tensor in named if name in saved}
    if packed:
        arrays = {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}
        save_file(pack(arrays, bits=8), folder / PACKED)
    else:
        save_tensors(tensors, folder / PLAIN)


def load_weights(module: nn.Module, folder: Path, *, without: str | None = None) -> None:
    shapes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    weights = {
        name: torch.from_numpy(array.reshape(shapes.get(name, array.shape))) for name, array in Weights(folder).items()
    }
    wanted = {name for name, _ in module.named_parameters() if without not in name.split(".")}
    if missing := wanted - set(weights):
        raise MaskerError(f"the weights of {folder} lack {', '.join(sorted(missing)[:3])}; train the student again")
    module.load_state_dict(weights, strict=False)
    check_finite(module, folder)
