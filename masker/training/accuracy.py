"""How good a padded MLM is on texts that it has not seen: at masked spans, and at telling styles apart."""

import torch
from torch import Tensor

from masker.core.padding import IGNORE
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.memory import InParts
from masker.training.device import autocast
from masker.training.examples import EncodedCorpus
from masker.training.objective import span_loss

EVALUATED_SPANS = 1000  # held-out spans that a span accuracy is measured on, at least


@torch.inference_mode()
def span_accuracy(
    model: PaddedMLM, corpus: EncodedCorpus, *, domains: bool, seed: int = 0, batch: int = 256
) -> tuple[float, float]:
    """Percent of masked spans of which all n_p pieces are predicted right, the paper's measure of health; and loss."""
    n_p = model.frame.n_p
    rows = torch.argsort(corpus.lengths).to(model.device)
    generator = torch.Generator(model.device).manual_seed(seed)
    right, count, loss, in_parts = 0, 0, 0.0, InParts()

    def asked(ids: Tensor, attention: Tensor, slots: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """[B, m * n_p] the best pieces, and the loss of all."""
        with autocast(model.device):
            logits = model(ids, attention, slots)  # [B, m * n_p, V]
        return logits.float().argmax(-1), span_loss(logits, targets)[None]

    while count < EVALUATED_SPANS:
        for chosen in rows.split(batch):
            masked = corpus.draw(chosen, model.frame, generator, domains=domains)
            best, losses = in_parts(asked, masked.ids, masked.attention, masked.slots, masked.targets)
            right_pieces = (best.flatten() == masked.targets.flatten()).view(-1, n_p)
            real = masked.targets.flatten()[::n_p] != IGNORE
            right += int((right_pieces.all(1) & real).sum())
            loss += float(losses.sum()) / n_p
            count += int(real.sum())
    return 100.0 * right / count, loss / count


@torch.inference_mode()
def style_accuracy(model: PaddedMLM, corpus: EncodedCorpus, *, batch: int = 512) -> float:
    """Percent of the texts that the style classifier puts into their domain."""
    right, tokens, in_parts = 0, [model.vocabulary.domain(name) for name in model.domains], InParts()

    def asked(ids: Tensor, attention: Tensor) -> tuple[Tensor]:
        with autocast(model.device):
            return (model.style_logits(ids, attention),)

    for rows in torch.argsort(corpus.lengths).to(model.device).split(batch):
        whole = corpus.whole(rows, model.frame)
        (logits,) = in_parts(asked, whole.ids, whole.attention)
        right += int((logits.argmax(1) == corpus.labels(rows, tokens)[0]).sum())
    return 100.0 * right / len(corpus)
