"""Two opinions on style, asked by the search editor: the encoder's, a pass per text, and that of the words alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from masker.core.batching import by_length
from masker.core.padding import Frame
from masker.core.runtime import Pending, Runtime, to_numpy
from masker.core.task import Task
from masker.model.bag_of_words import BagOfWords
from masker.search.keys import ranges, starts_of
from masker.search.lexicon import Lexicon

_AT_A_TIME = 1 << 15  # words that are read by their classifier: what it makes of them stays in a core's cache


@dataclass(frozen=True)
class StyleClassifiers:
    """Asks both style classifiers how much texts read like the target domain: log p(to | from or to)."""

    runtime: Runtime
    frame: Frame
    window: int
    to: int
    from_: int  # columns of the two domains
    bag_of_words: BagOfWords
    batch_tokens: int
    lexicon: Lexicon = field(default_factory=Lexicon)

    @classmethod
    def of(cls, task: Task, domains: Sequence[str], bag_of_words: BagOfWords) -> "StyleClassifiers":
        """Those of a task; `domains` are the names of the classifiers' columns."""
        assert task.from_ is not None
        to, from_ = (list(domains).index(name) for name in (task.to, task.from_))
        return cls(task.target.runtime, task.frame, task.window, to, from_, bag_of_words, task.batch_tokens)

    def of_words(self, rows: np.ndarray) -> np.ndarray:
        """[N, L] words, 0 after the last -> [N], without asking the model."""
        return np.asarray(-np.logaddexp(0.0, -self.margins(rows)))

    def margins(self, rows: np.ndarray) -> np.ndarray:
        """[N] the words' own log-odds of the two domains. A word or pair counts once, however often it is there."""
        lengths, result = np.count_nonzero(rows, axis=1), np.zeros(len(rows))
        for part in by_length(lengths, _AT_A_TIME):
            result[part] = self._margins(rows[part, : max(1, lengths[part[0]])])
        return result

    def _margins(self, rows: np.ndarray) -> np.ndarray:
        buckets = np.sort(self.lexicon.buckets(rows), axis=1)
        counted = buckets >= 0
        counted[:, 1:] &= buckets[:, 1:] != buckets[:, :-1]
        weights, bias = self._between
        return np.asarray((weights.take(buckets, mode="clip") * counted).sum(1) + bias)

    @cached_property
    def _between(self) -> tuple[np.ndarray, float]:
        words, to, from_ = self.bag_of_words, self.to, self.from_
        scaled = words.weights[to] * words.scale[to] - words.weights[from_] * words.scale[from_]
        return scaled, float(words.bias[to] - words.bias[from_])

    def of_encoder(self, pieces: Sequence[Sequence[int]]) -> np.ndarray:
        """[N], a pass each."""
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return self.begin_encoder(np.fromiter(chain.from_iterable(pieces), np.int64, int(sizes.sum())), sizes)()

    def begin_encoder(self, pieces: np.ndarray, sizes: np.ndarray) -> Pending[np.ndarray]:
        """The same, of texts one after the other, with so many pieces each; what is returned waits for it."""
        frame, starts, head = self.frame, starts_of(sizes), len(self.frame.start)
        sizes = np.minimum(sizes, self.window)
        lengths, answers = sizes + head + len(frame.end), []
        for chosen in by_length(lengths, self.batch_tokens):
            k, size = np.arange(lengths[chosen[0]]), sizes[chosen, None]
            ids = np.full((len(chosen), len(k)), frame.pad)
            ids[:, :head] = frame.start
            ids[(k >= head) & (k < head + size)] = pieces[ranges(starts[chosen], sizes[chosen])]
            for place, token in enumerate(frame.end, head):
                ids[k == place + size] = token
            attention = (k < lengths[chosen, None]).astype(np.int64)
            answers.append((chosen, self.runtime.styles(*map(self.runtime.to_device, (ids, attention)))))  # [B, D]

        def wait() -> np.ndarray:
            result = np.zeros(len(sizes))
            for chosen, answer in answers:
                log_p = to_numpy(answer)
                result[chosen] = log_p[:, self.to] - np.logaddexp(log_p[:, self.to], log_p[:, self.from_])
            return result

        return wait
