"""Settings that suit the number of texts and the device, where nobody has chosen others."""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from masker.training.settings import TrainSettings, batch_for, rate_for

FEWEST = 300  # steps, below which a run from the embedded model has not learnt much: see docs/fitting.md
PASSES = 10  # over the same texts at most, to get there
MOST_ON_CPU = 5000  # steps: two hours on two cores
MEASURED = 50  # lines of a domain to measure span accuracy on, if that is not too great a share


def suited(
    settings: TrainSettings, texts: int, *, smallest: int, chosen: Collection[str] = (), gpu: bool
) -> TrainSettings:
    """Settings of a fit with what was not `chosen` as it suits so many texts, and so many of the smallest domain.

    Few texts are seen more often, in smaller batches; on a CPU many are not all seen.
    """
    few = texts * settings.epochs / settings.batch_size < FEWEST
    new: dict[str, Any] = {"held_out": min(0.08, max(settings.held_out, MEASURED / max(1, smallest)))}
    if few:  # and so few lines are measured that a gain may not show at once
        new |= {"batch_size": settings.accumulate * max(1, 32 // settings.accumulate), "patience": 10}
    settings = replace(settings, **{name: value for name, value in new.items() if name not in chosen})
    if not {"epochs", "steps"} & {*chosen}:
        passes = math.ceil(FEWEST / max(1, texts // settings.batch_size))
        settings = replace(settings, epochs=float(max(settings.epochs, min(PASSES, passes))))
        if not gpu and settings.epochs * texts / settings.batch_size > MOST_ON_CPU:
            settings = replace(settings, steps=MOST_ON_CPU)
    return for_device(settings, texts, chosen={*chosen, "batch_size"} if few else chosen, gpu=gpu)


def for_device(settings: TrainSettings, texts: int, *, chosen: Collection[str] = (), gpu: bool) -> TrainSettings:
    """Settings with the batch that suits a GPU, and the learning rate that suits the batch, where none was `chosen`."""
    if gpu and "batch_size" not in chosen:
        batch = batch_for(texts, settings.epochs) // settings.accumulate * settings.accumulate
        settings = replace(settings, batch_size=batch)
    return settings if "lr" in chosen else replace(settings, lr=rate_for(settings.batch_size))
