"""The network of a critic, and its files."""

import copy
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import Tensor, nn
from torch.nn.utils import parametrize

from masker.model.critic import ASPECTS, HEAD, CriticWeights, narrow
from masker.model.folder import PLAIN
from masker.model.padded_mlm import PaddedMLM, embeddings


class LowRank(nn.Module):
    """A weight that stays as it is, and a change to it of a low rank, which is learnt."""

    def __init__(self, weight: Tensor, rank: int) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / rank)

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.up @ self.down


class CriticNetwork(nn.Module):
    """Texts beside their rewrites -> a score for each of the ASPECTS, from the encoder's first vector."""

    def __init__(self, model: PaddedMLM) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.mlm.config.hidden_size, len(ASPECTS))

    def forward(self, ids: Tensor, attention: Tensor) -> Tensor:
        """[B, L] -> [B, ASPECTS]."""
        scores: Tensor = self.head(self.model.at(ids, attention, ids[:, :1] * 0)[:, 0])
        return scores

    def learn(self, rank: int) -> None:
        """Make the products of the encoder's layers learn changes of this rank, and nothing else but the head."""
        self.model.requires_grad_(False)
        skipped = {id(part) for part in embeddings(self.model.mlm).modules()}
        for part in self.model.mlm.base_model.modules():
            if isinstance(part, nn.Linear) and id(part) not in skipped:
                parametrize.register_parametrization(part, "weight", LowRank(part.weight, rank))

    def save(self, folder: Path) -> None:
        """What has been learnt, and nothing else."""
        found = {f"{HEAD}.{name}": _array(tensor) for name, tensor in self.head.named_parameters()}
        for name, part in self.model.mlm.named_modules():
            if parametrize.is_parametrized(part, "weight"):
                low = part.parametrizations.weight[0]  # type: ignore[union-attr, index]
                parts = narrow(_array(low.up), _array(low.down))
                found |= {f"{name}.weight{key}": array for key, array in parts.items()}
        save_file(found, folder / PLAIN)

    @classmethod
    def load(cls, model: PaddedMLM, folder: Path, base: Path) -> "CriticNetwork":
        """The critic in a folder, of the model that is in the folder `base`; the model itself stays as it is."""
        network = cls(copy.deepcopy(model, {id(model.vocabulary): model.vocabulary}))
        weights, state = CriticWeights(folder, base), network.model.mlm.state_dict()
        known = {name: torch.from_numpy(weights[name].copy()) for name in weights if name in state}
        network.model.mlm.load_state_dict({name: known[name].view(state[name].shape) for name in known}, strict=False)
        network.model.mlm.tie_weights()
        network.model._renew_head()
        network.head.load_state_dict({key: torch.from_numpy(weights[f"{HEAD}.{key}"]) for key in ("weight", "bias")})
        return network.eval()


def _array(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().float().cpu().numpy()
    return array
