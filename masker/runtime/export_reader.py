"""Writing the graphs of a reader for ONNX Runtime: a causal LM, and how likely each piece is after those before."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from masker.model.causal import load_causal
from masker.model.folder import GRAPHS, fingerprint, one_line, staged
from masker.model.reader import ReaderCard, prefix
from masker.model.weights import Weights
from masker.runtime.export import Step, write_step

# In SmolLM2 the inputs of a quarter of the feed-forward products have a column 40 to 6,000 times as large as is usual;
# with those in int8, the log-odds of a text are wrong by 2.6 nats on average.
MOST = 32.0


class _Read(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        """As `next_log_p`, in what the exporter understands."""
        log_p: Tensor = self.model(input_ids=ids[:, :-1]).logits.log_softmax(-1)  # [B, L - 1, V]
        return log_p.gather(2, ids[:, 1:, None])[..., 0]


def export_reader(folder: Path) -> Path:
    """Write the graphs of a reader into its folder."""
    card = ReaderCard.read(folder)
    model, vocabulary = load_causal(folder)
    model.eval().set_attn_implementation("eager")
    saved = model.state_dict()
    weights = {name: array.reshape(tuple(saved[name].shape)) for name, array in Weights(folder).items()}
    longest = card.window + len(prefix(vocabulary, card.domains[0])) + 32
    length = torch.export.Dim("L", min=3, max=longest)
    body = np.random.default_rng(0).integers(0, len(vocabulary), (16, 20))
    ids = np.concatenate([np.full((16, 1), vocabulary.start), body], 1)
    step = Step(
        _Read(model), {"ids": torch.from_numpy(ids)}, {"ids": {0: torch.export.Dim("B", min=1), 1: length}},
        ("log_p",), {"ids": ids}, most=MOST,
    )  # fmt: skip
    with one_line(f"cannot export to {folder}"), staged(folder) as stage:
        write_step(step, weights, fingerprint(folder), stage)
    return folder / GRAPHS
