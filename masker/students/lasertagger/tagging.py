"""What a tagger does with texts, whatever computes its tags: torch, or ONNX Runtime without it."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from masker.core.batching import by_length, padded
from masker.core.runtime import Pending
from masker.core.vocabulary import Vocabulary
from masker.students.base import Student, check_target
from masker.students.lasertagger.rows import Row, joined, pieces_of, rows_of, written
from masker.students.lasertagger.tags import TagSet

Tagged = Pending[tuple[np.ndarray, np.ndarray]]  # [B, W] the best tags of rows, and how likely they are


class Tagging(Student):
    """A LaserTagger as far as it needs no torch. `targets` are the domains that it can write, if it knows several."""

    kind = "lasertagger"
    batch_tokens: int

    vocabulary: Vocabulary
    decoder: str
    window: int
    tags: TagSet
    targets: tuple[str, ...]
    rounds: int
    keep_bias: float

    def _describe(
        self, vocabulary: Vocabulary, *, decoder: str, window: int, phrases: Sequence[str],
        targets: Sequence[str] = (), rounds: int = 1, keep_bias: float = 0.0,
    ) -> None:  # fmt: skip
        """What student.json says."""
        self.vocabulary, self.decoder, self.window = vocabulary, decoder, window
        self.tags, self.targets = TagSet(phrases), tuple(targets)
        self.rounds, self.keep_bias = rounds, keep_bias

    def _fields(self) -> dict[str, Any]:
        fields = {"decoder": self.decoder, "window": self.window, "phrases": self.tags.phrases}
        return fields | {"targets": list(self.targets), "rounds": self.rounds, "keep_bias": self.keep_bias}

    @abstractmethod
    def _best(self, ids: np.ndarray, attention: np.ndarray, slots: np.ndarray, keep: np.ndarray) -> Tagged:
        """Ask about rows [B, L] with words in slots [B, W]; `keep` [1] is added to the logit of KEEP."""

    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        domain, results = self.domain(to), list(texts)
        going = list(range(len(results)))
        for _ in range(self.rounds):
            words = [list(pieces_of(self.vocabulary, results[k])) for k in going]
            changed = []
            for k, (numbers, _) in zip(going, self.tag(words, domain), strict=True):
                if any(numbers):
                    new = written(results[k], [self.tags.tags[n] for n in numbers])
                    changed += [k] * (new != results[k])
                    results[k] = new
            going = changed
        return results

    def tag(
        self, words: Sequence[Sequence[Sequence[int]]], domain: int | None, keep: float = 0.0
    ) -> list[tuple[list[int], list[float]]]:
        """For texts, as the pieces of their words: the numbers of their tags, one more than words, and how likely.

        `keep` comes to the student's own bias to keep words.
        """
        inputs = [rows_of(self.vocabulary, of_text, self.window, domain) for of_text in words]
        found = iter(self._tags([row for rows in inputs for row in rows], keep))
        parts = [list(islice(found, len(rows))) for rows in inputs]
        return [(joined([n for n, _ in rows]), joined([p for _, p in rows])) for rows in parts]

    def domain(self, to: str | None) -> int | None:
        """The token that tells which domain to write; None for a student that knows only one way."""
        check_target(self.targets, to)
        return self.vocabulary.domain(to) if self.targets and to else None

    def _tags(self, rows: Sequence[Row], keep: float) -> list[tuple[list[int], list[float]]]:
        batches = list(by_length([len(ids) for ids, _ in rows], self.batch_tokens))
        waiting = [self._asked([rows[k] for k in batch], keep) for batch in batches]  # none waits for another
        found: list[tuple[list[int], list[float]]] = [([], [])] * len(rows)
        for batch, wait in zip(batches, waiting, strict=True):
            best, sure = wait()
            for k, numbers, likely in zip(batch.tolist(), best.tolist(), sure.tolist(), strict=True):
                size = len(rows[k][1])
                found[k] = numbers[:size], likely[:size]
        return found

    def _asked(self, rows: Sequence[Row], keep: float) -> Tagged:
        ids, attention = padded([ids for ids, _ in rows], self.vocabulary.pad)
        slots, _ = padded([slots for _, slots in rows], 0)
        return self._best(ids, attention, slots, np.array([self.keep_bias + keep], np.float32))
