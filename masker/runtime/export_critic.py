"""Writing the graphs of a critic for ONNX Runtime."""

from pathlib import Path

import numpy as np
import torch

from masker.model.critic import LONGEST, CriticWeights
from masker.model.critic_network import CriticNetwork
from masker.model.folder import GRAPHS, fingerprint, one_line, staged
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.export import Step, attend, write_step


def export_critic(folder: Path, base: Path) -> Path:
    """Write the graphs of a critic, of the model in the folder `base`, into its folder."""
    network = CriticNetwork.load(PaddedMLM.from_pretrained(base), folder, base)
    network.model.mlm.set_attn_implementation("eager")
    network.model.attend = attend
    saved = network.model.mlm.state_dict()
    weights = {
        name: array.reshape(tuple(saved[name].shape)) if name in saved else array
        for name, array in CriticWeights(folder, base).items()
    }
    vocabulary = network.model.vocabulary
    body = np.random.default_rng(0).choice(np.flatnonzero(vocabulary.infillable), (32, 24))
    body[:, 12] = vocabulary.end[0]
    ids = np.array([[*vocabulary.start, vocabulary.domain(network.model.domains[0]), *row] for row in body.tolist()])
    feed = {"ids": ids, "attention": np.ones_like(ids)}
    longest = min(network.model.max_length, 2 * LONGEST + 8)
    shape = {0: torch.export.Dim("B", min=1), 1: torch.export.Dim("L", min=2, max=longest)}
    inputs = {name: torch.from_numpy(array) for name, array in feed.items()}
    step = Step(network, inputs, dict.fromkeys(feed, shape), ("scores",), feed)
    with one_line(f"cannot export to {folder}"), staged(folder) as stage:
        write_step(step, weights, fingerprint(folder, base), stage)
    return folder / GRAPHS
