"""How likely single words of texts are where they stand, whatever a domain thinks of their number."""

import numpy as np

from masker.core.batching import by_length
from masker.core.padding import mask_spans
from masker.core.runtime import Pending, array_module, to_numpy
from masker.core.scoring import DomainScorer
from masker.core.task import Task
from masker.search.edited import Edited


class WordTable:
    """Some words [S] of texts, to be asked about."""

    def __init__(self, task: Task, texts: Edited, words: np.ndarray) -> None:
        self._task, frame, self._flat = task, task.frame, texts.pieces
        self._rows = texts.rows(texts.number[words], np.stack([words, words + 1], 1), task.window)
        around = len(frame.start) + 1 + len(frame.end) + frame.n_p
        self._lengths = self._rows[:, 1] - self._rows[:, 0] - self._rows[:, 3] + around

    def log_p(self, side: DomainScorer, rows: np.ndarray | None = None) -> np.ndarray:
        """[S], or those of `rows`, in a domain; a pass each."""
        return self.begin(side, rows)()

    def begin(self, side: DomainScorer, rows: np.ndarray | None = None) -> Pending[np.ndarray]:
        """The same; what is returned waits for it."""
        runtime, token, frame = side.runtime, side.token, self._task.frame
        flat, answers = runtime.to_device(self._flat), []
        for batch in by_length(self._lengths, self._task.batch_tokens, rows):
            part, length = self._rows[batch], int(self._lengths[batch].max())
            lo, hi, start, width = runtime.to_device(np.ascontiguousarray(part.T))
            masked = mask_spans(flat, lo, hi, start[:, None], width[:, None], frame, domain=True, length=length)
            most = max(
                1, part[:, 3].max()
            )  # so many masks are not [PAD]; what is thought of the others does not matter
            slots, old = masked.slots[:, :most], masked.targets[:, :most, None]
            answer = runtime(masked.with_domain(token), masked.attention, slots, old, None, 0)
            real = runtime.to_device(np.arange(most) < part[:, 3:])
            answers.append((batch, array_module(old)[0].where(real, answer.asked_log_p[:, :, 0], 0.0).sum(1)))

        def wait() -> np.ndarray:
            result = np.zeros(len(self._rows))
            for batch, answer in answers:
                result[batch] = to_numpy(answer)
            return result if rows is None else result[rows]

        return wait
