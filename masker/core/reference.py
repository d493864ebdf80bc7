"""The paper's method as one would say it, span by span: what tests compare the fast ways with.

There are no batches here, no windows and no pruning. Where log-probabilities come from is the caller's affair.
"""

from collections.abc import Callable, Sequence

import numpy as np

from masker.core.paper import best_edits
from masker.core.scoring import SpanScores
from masker.core.spans import enumerate_spans
from masker.core.task import Task

LogProbs = Callable[[list[list[int]]], Sequence[np.ndarray]]  # inputs, as ids -> [L, V] for each of them


def score_spans(task: Task, source: str, log_probs: LogProbs) -> SpanScores:
    """L1 to L4 of every span of a text."""
    text, frame = task.vocabulary.read(source), task.frame
    spans = enumerate_spans(text, frame.n_p, task.keep(text))
    domains = [side.token for side in (task.target, task.source) if side]
    inputs, old, first = [], [], []
    for span in spans:
        i, j = text.bounds[span.start], text.bounds[span.stop]
        masked = [*text.pieces[:i], *[frame.mask] * frame.n_p, *text.pieces[j:]]
        inputs += [[*frame.start, domain, *masked, *frame.end] for domain in domains]
        old.append([*text.pieces[i:j], *[frame.pad] * (frame.n_p - (j - i))])  # W
        first.append(len(frame.start) + 1 + i)
    log_p = log_probs(inputs)
    allowed, mask = task.allowed(), np.arange(frame.n_p)
    infills, likelihoods = [], []
    for k, W in enumerate(old):
        at_masks = [log_p[k * len(domains) + d][first[k] + mask] for d in range(len(domains))]  # [n_p, V] by domain
        What = np.where(allowed, at_masks[0][:, : len(allowed)], -np.inf).argmax(1)
        infills.append(What)
        likelihoods.append([p[mask, ids].sum() for p in at_masks for ids in (What, W)])
    L = np.array(likelihoods, dtype=np.float64).reshape(len(spans), -1).T
    return SpanScores(text, spans, np.array(infills).reshape(len(spans), -1), *L)


def edit(task: Task, source: str, log_probs: LogProbs) -> str:
    """The text after the edit with the highest Score, if that is above 0."""
    scores = score_spans(task, source, log_probs)
    best = best_edits(task, scores, top=1, min_score=0.0, keep=task.keep(scores.text))
    return best[0][1].apply(source) if best else source
