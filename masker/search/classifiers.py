"""Two opinions on style, asked by the search editor: the encoder's, a pass per text, and that of the words alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from masker.core.batching import by_length, padded
from masker.core.padding import Frame
from masker.core.runtime import Runtime, to_numpy
from masker.core.task import Task
from masker.core.vocabulary import Vocabulary
from masker.model.bag_of_words import BagOfWords


@dataclass(frozen=True)
class StyleClassifiers:
    """Asks both style classifiers how much texts read like the target domain: log p(to | from or to)."""

    runtime: Runtime
    vocabulary: Vocabulary
    frame: Frame
    window: int
    to: int
    from_: int  # columns of the two domains
    bag_of_words: BagOfWords
    batch_tokens: int

    @classmethod
    def of(cls, task: Task, domains: Sequence[str], bag_of_words: BagOfWords) -> "StyleClassifiers":
        """Those of a task; `domains` are the names of the classifiers' columns."""
        assert task.from_ is not None
        to, from_ = (list(domains).index(name) for name in (task.to, task.from_))
        runtime = task.target.runtime
        return cls(runtime, task.vocabulary, task.frame, task.window, to, from_, bag_of_words, task.batch_tokens)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """[n, 2] natural logarithms: the encoder's opinion, and that of the words."""
        return np.stack([self.of_encoder(texts), self.of_words(texts)], 1)

    def of_words(self, texts: Sequence[str]) -> np.ndarray:
        """[n], without asking the model."""
        return self._between(self.bag_of_words.log_probs(texts))

    def of_encoder(self, texts: Sequence[str]) -> np.ndarray:
        """[n], a pass each."""
        start, end = self.frame.start, self.frame.end
        rows = [[*start, *self.vocabulary.read(text).pieces[: self.window], *end] for text in texts]
        result = np.zeros(len(rows))
        for chosen in by_length([len(row) for row in rows], self.batch_tokens):
            inputs = padded([rows[k] for k in chosen.tolist()], self.frame.pad)
            log_p = to_numpy(self.runtime.styles(*map(self.runtime.to_device, inputs)))  # [B, D]
            result[chosen] = self._between(log_p)
        return result

    def _between(self, log_p: np.ndarray) -> np.ndarray:
        return log_p[:, self.to] - np.logaddexp(log_p[:, self.to], log_p[:, self.from_])


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """log p - log(1 - p)."""
    return np.asarray(log_p - np.log1p(-np.minimum(np.exp(log_p), 1 - 1e-9)))
