"""How likely single words of texts are where they stand, whatever a domain thinks of their number."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from masker.core.batching import by_length
from masker.core.padding import mask_spans
from masker.core.runtime import Pending, array_module, to_numpy
from masker.core.scoring import DomainScorer, Pieces, span_rows
from masker.core.task import Task


class WordTable:
    """Some words of each of several texts, one after the other, to be asked about; [S] of them all together."""

    def __init__(self, task: Task, texts: Sequence[Pieces], words: Sequence[Sequence[int]]) -> None:
        self._task, frame = task, task.frame
        self.sizes = np.fromiter(map(len, words), np.int64, len(words))  # how many words of each text
        word = np.fromiter(chain.from_iterable(words), np.int64, int(self.sizes.sum()))
        self._rows = span_rows(texts, self.sizes, np.stack([word, word + 1], 1), task.window)
        around = len(frame.start) + 1 + len(frame.end) + frame.n_p
        self._lengths = self._rows[:, 1] - self._rows[:, 0] - self._rows[:, 3] + around
        self._flat = np.fromiter(chain([0], *(text.pieces for text in texts)), np.int64)

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
