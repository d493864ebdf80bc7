"""The paper's method as one would write it with Transformers alone: what Masker is compared with."""

from typing import Any

import numpy as np

from masker.core.editing import Task, best_edits
from masker.core.scoring import SpanScores
from masker.core.spans import enumerate_spans


class Naive:
    """Masked sequences one at a time, or `batch` of them padded to the longest; logits of all positions."""

    def __init__(self, model: str | None, to: str, *, batch: int) -> None:
        from masker.api import Masker
        from masker.bench.worker import Counting
        from masker.model.padded_mlm import PaddedMLM

        masker = Masker(PaddedMLM.from_pretrained(model), device="cpu")
        self.model: Any = masker.model
        self.batch = batch
        self.task: Task = masker._task(to, None, source_score=True, protect=None, forbid=())
        self.count = Counting(None)

    def edit(self, texts: list[str]) -> list[str]:
        return [self._edit(text) for text in texts]

    def _edit(self, source: str) -> str:
        task, vocabulary = self.task, self.task.vocabulary
        text = vocabulary.read(source)
        n_p, start = task.frame.n_p, len(vocabulary.start) + 1
        spans = enumerate_spans(text, n_p)
        bodies, old = [], []
        for span in spans:
            first, stop = text.bounds[span.start], text.bounds[span.stop]
            bodies.append((first, [*text.pieces[:first], *[vocabulary.mask] * n_p, *text.pieces[stop:]]))
            old.append([*text.pieces[first:stop], *[vocabulary.pad] * (n_p - (stop - first))])
        W = np.array(old)
        slots = np.arange(n_p)
        assert task.source
        target = self._log_p(bodies, task.target.token, start)  # [S, n_p, V]
        What = np.where(task.allowed(), target, -np.inf).argmax(-1)
        rows = np.arange(len(spans))[:, None]
        source_p = self._log_p(bodies, task.source.token, start)
        L = [p[rows, slots, ids].sum(1) for p in (target, source_p) for ids in (What, W)]
        scores = SpanScores(text, spans, What, *L)
        best = best_edits(task, scores, top=1, min_score=0.0, keep=[])
        return best[0][1].apply(source) if best else source

    def _log_p(self, bodies: list[tuple[int, list[int]]], domain: int, start: int) -> np.ndarray:
        """Log-probabilities at the masks of all sequences."""
        import torch

        vocabulary, n_p = self.task.vocabulary, self.task.frame.n_p
        found = []
        for at in range(0, len(bodies), self.batch):
            part = bodies[at : at + self.batch]
            ids = [[*vocabulary.start, domain, *body, *vocabulary.end] for _, body in part]
            length = max(map(len, ids))
            padded = torch.tensor([row + [vocabulary.pad] * (length - len(row)) for row in ids])
            attention = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in ids])
            with torch.no_grad():
                log_p = self.model.mlm(input_ids=padded, attention_mask=attention).logits.log_softmax(-1)
            found += [log_p[k, start + first : start + first + n_p].numpy() for k, (first, _) in enumerate(part)]
            self.count.rows += len(part)
        return np.stack(found)[:, :, : len(vocabulary)]
