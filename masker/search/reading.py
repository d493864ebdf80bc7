"""What is edited at a time: the segments of texts, what both classifiers say of them, and which are to be edited."""

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from masker.core.segments import Unit, passages
from masker.core.task import Task
from masker.search.classifiers import StyleClassifiers
from masker.search.segments import Segment

NEUTRAL = 0.1  # sentences that are so likely of the target domain are not turned where another one can be


def read_segments(
    task: Task, style: StyleClassifiers, unit: Unit, sources: Sequence[str], *, enough: float
) -> list[Segment]:
    """Those of texts; what is `enough` of the target domain to both classifiers is not to be edited."""
    segments = [
        Segment(number, p.text, p.words, np.zeros(0, np.int64), np.zeros(2), keep=p.keep, offset=p.offset)
        for number, source in enumerate(sources)
        for p in passages(task, source, unit)
    ]
    if not segments:
        return segments
    rows = style.lexicon.rows([segment.lower for segment in segments])
    in_encoder = style.of_encoder([segment.pieces for segment in segments])
    log_p = np.stack([in_encoder, style.of_words(rows)], 1)
    for segment, row, both in zip(segments, rows, log_p, strict=True):
        segment.ids, segment.log_p = row[: len(segment.lower)], both
    found = zip(segments, log_p.mean(1).tolist(), (log_p.min(1) < enough).tolist(), strict=True)
    for _, of_text in groupby(found, key=lambda each: each[0].number):
        _choose([*of_text], unit)
    return segments


def _choose(segments: Sequence[tuple[Segment, float, bool]], unit: Unit) -> None:
    """Which parts of a text are to be edited: those that speak for the source domain; if none does, the one that is
    nearest to it. What speaks for neither is left alone where something else can be turned.

    Each comes with what both classifiers together say of it, log p of the target domain, and whether it may be edited.
    """
    worst = min(opinion for _, opinion, _ in segments)
    nearest = next(segment for segment, opinion, _ in segments if opinion == worst)
    for segment, opinion, lacks in segments:
        turned = segment is nearest or opinion < math.log(NEUTRAL) or not unit.sentences
        segment.wanted = turned and lacks
