"""BLEU by sacreBLEU. Nothing of the metric is computed here, only resampled."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

from masker.evaluation.tally import Tally


def bleu(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Tally:
    """Corpus BLEU of already tokenised outputs; `references` holds one sequence of lines a reference file."""
    metric = BLEU(tokenize="none", effective_order=True)  # which changes no statistic, and silences a warning
    rows = []
    for output, *targets in zip(outputs, *references, strict=True):
        found = metric.sentence_score(output, targets)
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return Tally(np.array(rows, dtype=float), _corpus_scores)


def bleu_signature(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    """sacreBLEU's own description of the figure that `bleu` gives."""
    metric = BLEU(tokenize="none", force=True)  # force: do not warn that the text looks tokenised, it is
    metric.corpus_score(list(outputs), [list(lines) for lines in references])
    return metric.get_signature().format()


def _corpus_scores(sums: np.ndarray) -> np.ndarray:
    orders = (sums.shape[1] - 2) // 2
    return np.array(
        [
            BLEU.compute_bleu(
                correct=[int(x) for x in row[2 : 2 + orders]],
                total=[int(x) for x in row[2 + orders :]],
                sys_len=int(row[0]),
                ref_len=int(row[1]),
                smooth_method="exp",
            ).score
            for row in sums
        ]
    )
