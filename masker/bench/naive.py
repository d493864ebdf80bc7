"""The paper's method as one would write it with Transformers alone: what Masker is compared with."""

from typing import Any

import numpy as np

from masker.core import reference


class Naive:
    """The reference implementation with masked sequences one at a time, or `batch` of them padded to the longest.

    Logits of all positions are computed.
    """

    def __init__(self, model: str | None, to: str, *, batch: int) -> None:
        from masker.api import Masker
        from masker.bench.worker import Counting
        from masker.model.padded_mlm import PaddedMLM

        masker = Masker(PaddedMLM.from_pretrained(model), device="cpu")
        self.model: Any = masker.model
        self.batch = batch
        self.task = masker.task(to)
        self.count = Counting(None)

    def edit(self, texts: list[str]) -> list[str]:
        return [reference.edit(self.task, text, self._log_probs) for text in texts]

    def _log_probs(self, inputs: list[list[int]]) -> list[np.ndarray]:
        import torch

        pad, found = self.task.frame.pad, list[np.ndarray]()
        for at in range(0, len(inputs), self.batch):
            part = inputs[at : at + self.batch]
            length = max(map(len, part))
            ids = torch.tensor([row + [pad] * (length - len(row)) for row in part])
            attention = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in part])
            with torch.no_grad():
                logits = self.model.mlm(input_ids=ids, attention_mask=attention).logits
            found.extend(logits.log_softmax(-1).numpy())
            self.count.rows += len(part)
        return found
