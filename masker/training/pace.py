"""How long a training run will take on this machine, said before it begins."""

import math
import time

import torch

from masker.model.padded_mlm import PaddedMLM
from masker.training.objective import span_loss
from masker.training.settings import TrainSettings


def seconds_for(model: PaddedMLM, settings: TrainSettings, texts: int, pieces: float) -> float:
    """About how long a run over texts of so many pieces will take on this device, by a step that is timed."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).train()
    n_p, rows = model.settings.n_p, settings.part()
    length = min(model.settings.window, max(1, round(pieces))) + n_p + 3
    ids = torch.full((rows, length), model.vocabulary.mask, device=device)
    slots = torch.arange(1, 1 + n_p, device=device).expand(rows, -1)
    taken = []
    for _ in range(3):  # the first is always slow
        began = time.perf_counter()
        span_loss(model(ids, torch.ones_like(ids), slots), ids[:, :n_p]).backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    model.zero_grad(set_to_none=True)
    steps = settings.steps or math.ceil(settings.epochs * max(1, texts // settings.batch_size))
    # the style classifier reads a quarter of the texts besides, then there are the optimizer and the evaluations
    return steps * settings.accumulate * min(taken) * 1.4
