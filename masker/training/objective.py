"""What a padded MLM minimises: the loss of its masks, and beside it that of its style classifier on whole texts."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from masker.core.padding import IGNORE, Masked
from masker.model.padded_mlm import PaddedMLM
from masker.training.examples import EncodedCorpus

STYLED = 4  # one row in so many is also shown whole to the style classifier


class WholeTexts(NamedTuple):
    """Texts for the style classifier, the number of the domain of each, and what it weighs; None without one."""

    ids: Tensor | None = None
    attention: Tensor | None = None
    labels: Tensor | None = None
    weights: Tensor | None = None

    @classmethod
    def draw(
        cls, model: PaddedMLM, corpus: EncodedCorpus, rows: Tensor, first: int, length: int | None = None
    ) -> "WholeTexts":
        """Every STYLED-th of the rows from `first` on. Domains weigh alike, however large they are."""
        if model.style is None:
            return cls()
        chosen = rows[first::STYLED] if first < len(rows) else rows[:1]
        whole = corpus.whole(chosen, model.frame, length)
        labels, shares = corpus.labels(chosen, [model.vocabulary.domain(name) for name in model.domains])
        return cls(whole.ids, whole.attention, labels, 1 / (len(shares) * shares[labels].clamp(min=1e-9)))


class Objective(nn.Module):
    """The sum of the masks' losses, and that of the style classifier's, which is 0 without one.

    Where it is compiled all rows have to be equally long: programs for any length would take minutes to make.
    """

    def __init__(self, model: PaddedMLM, *, compiled: bool) -> None:
        super().__init__()
        self.model = model
        self._compute = torch.compile(self._losses, dynamic=False) if compiled else self._losses

    def forward(self, masked: Masked, whole: WholeTexts) -> tuple[Tensor, Tensor]:
        return self._compute(masked.ids, masked.attention, masked.slots, masked.targets, *whole)

    def _losses(
        self, ids: Tensor, attention: Tensor, slots: Tensor, targets: Tensor, whole: Tensor | None,
        whole_attention: Tensor | None, labels: Tensor | None, weights: Tensor | None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        spans = span_loss(self.model(ids, attention, slots), targets)
        if whole is None or whole_attention is None or labels is None or weights is None:
            return spans, spans.new_zeros(())
        logits = self.model.style_logits(whole, whole_attention).float()
        return spans, (cross_entropy(logits, labels, reduction="none") * weights).sum()


def span_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """logits [B, m * n_p, V], targets [B, m * n_p] -> the sum over all masks."""
    return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORE, reduction="sum")
