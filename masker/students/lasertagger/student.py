"""LaserTagger (Malmi et al. 2019): rewrites a text by tagging its words to be kept or deleted, with phrases to add.

Most words of most pairs are kept, and a tagger can fall for keeping everything. Against this the tags start out as
likely as they are, so that training is about where to edit and not how often; edited words weigh more than kept ones;
pairs with nothing to edit beyond a share of 20 % are left out; and every evaluation tells how many texts stayed as they
were.
"""

import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.batching import by_length, padded
from masker.core.runtime import to_numpy
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students.base import Pair, StudentSettings
from masker.students.lasertagger.network import TagExamples, Tagger
from masker.students.lasertagger.rows import Row, joined, rows_of, written
from masker.students.lasertagger.tags import TagSet, align, phrase_vocabulary, tokens
from masker.students.network import Encoder
from masker.students.training import Lesson, TorchStudent
from masker.training.device import autocast
from masker.training.settings import require

MOST_WEIGHT = 3.0  # of an edited word, at the most
MOST_IDENTICAL = 0.2  # share of pairs with nothing to edit, at the most
CPU_TOKENS, GPU_TOKENS = 1024, 65_536  # in a batch of texts to edit


class LaserTagger(TorchStudent):
    """Options of `create`: `phrases`, how many may be inserted, and `decoder`, feedforward or autoregressive."""

    kind = "lasertagger"

    def __init__(
        self, model: Tagger, vocabulary: Vocabulary, *, decoder: str, window: int, phrases: Sequence[str],
        device: str | None,
    ) -> None:  # fmt: skip
        super().__init__(model, vocabulary, device)
        self.decoder = decoder
        self.window = min(window, model.encoder.max_length)
        self.tags = TagSet(phrases)

    @classmethod
    def _create(
        cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings, *, phrases: int = 500,
        decoder: str = "feedforward",
    ) -> "LaserTagger":  # fmt: skip
        require("phrases", phrases, at_least=0)
        split = [(tokens(pair.source), tokens(pair.target)) for pair in pairs]
        alignments = [align(*both) for both in split]
        tags = TagSet(phrase_vocabulary(alignments, phrases))
        numbered = [tags.number(ways, *both) for ways, both in zip(alignments, split, strict=True)]
        covered = [row for row in numbered if row is not None]
        coverage = round(100 * len(covered) / max(1, len(pairs)), 2)
        student = cls._start(
            base, settings, {"decoder": decoder, "window": settings.max_length, "phrases": tags.phrases},
            {"decoder": decoder, "phrases": len(tags.phrases), "coverage": coverage},
        )  # fmt: skip
        counts = torch.tensor(_counts(covered, len(tags)), dtype=torch.float)
        with torch.no_grad():
            student.model.head.bias.copy_(((counts + 1) / (counts.sum() + len(tags))).log())
        return student

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> Tagger:
        return Tagger(Encoder(mlm), len(TagSet(fields["phrases"])), fields["decoder"])

    def _fields(self) -> dict[str, Any]:
        return {"decoder": self.decoder, "window": self.window, "phrases": self.tags.phrases}

    # -- training ---------------------------------------------------------------------------------------------------

    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        rows, tags, counted = self._tagged(train)
        if not any(map(any, tags)):
            raise MaskerError(
                f"of {len(train)} pairs none changes its source in a way that the tags can express; nothing to learn"
            )
        chosen = _few_identical(tags, settings.seed)
        rows, tags = [rows[k] for k in chosen], [tags[k] for k in chosen]
        counts = _counts(tags, len(self.tags))
        weight = min(MOST_WEIGHT, max(1.0, (counts[0] / sum(counts[1:])) ** 0.5))
        held_rows, held_tags, held_counted = self._tagged(held)
        told = {**counted, "edit_weight": round(weight, 2), "held_out_coverage": held_counted["coverage"]}
        return Lesson(self._examples(rows, tags, weight), self._examples(held_rows, held_tags, weight), told)

    def _tagged(self, pairs: Sequence[Pair]) -> tuple[list[Row], list[list[int]], dict[str, Any]]:
        """Rows and tags of the pairs that can be learnt, and the share of all that the phrases cover, in percent."""
        rows, tags, covered, too_long = [], [], 0, 0
        for pair in pairs:
            numbers = self.tags.convert(tokens(pair.source), tokens(pair.target))
            covered += numbers is not None
            parts = rows_of(self.vocabulary, pair.source, self.window)
            too_long += len(parts) > 1
            if numbers is not None and len(parts) == 1:
                rows.append(parts[0])
                tags.append(numbers)
        counted = {"coverage": round(100 * covered / max(1, len(pairs)), 2), "too_long": too_long}
        return rows, tags, counted

    def _examples(self, rows: Sequence[Row], tags: Sequence[Sequence[int]], weight: float) -> TagExamples:
        weights = torch.full((len(self.tags),), weight, device=self.device)
        weights[0] = 1.0
        return TagExamples.of(rows, tags, weights, self.vocabulary.pad)

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str]) -> list[str]:
        inputs = [rows_of(self.vocabulary, text, self.window) for text in texts]
        found = iter(self._predict([row for rows in inputs for row in rows]))
        numbers = [joined(list(islice(found, len(rows)))) for rows in inputs]
        return [
            written(text, [self.tags.tags[n] for n in tags]) if any(tags) else text
            for text, tags in zip(texts, numbers, strict=True)
        ]

    def _predict(self, rows: Sequence[Row]) -> list[list[int]]:
        """The numbers of the tags of each row."""
        lengths = [len(ids) for ids, _ in rows]
        batches = list(by_length(lengths, CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS))
        best = [self._best([rows[k] for k in batch]) for batch in batches]  # none waits for another
        numbers: list[list[int]] = [[] for _ in rows]
        for batch, tags in zip(batches, map(to_numpy, best), strict=True):
            for k, row in zip(batch.tolist(), tags.tolist(), strict=True):
                numbers[k] = row[: len(rows[k][1])]
        return numbers

    @torch.inference_mode()
    def _best(self, rows: Sequence[Row]) -> Tensor:
        """The best tag of every slot of rows, [B, W], on the device."""
        ids, attention = padded([ids for ids, _ in rows], self.vocabulary.pad)
        slots, _ = padded([slots for _, slots in rows], 0)
        with autocast(self.device):
            best: Tensor = self.model.predict(*(torch.from_numpy(t).to(self.device) for t in (ids, attention, slots)))
        return best


def _counts(rows: Sequence[Sequence[int]], size: int) -> list[int]:
    return np.bincount(np.array([number for row in rows for number in row], dtype=np.int64), minlength=size).tolist()


def _few_identical(tags: Sequence[Sequence[int]], seed: int) -> list[int]:
    """The examples to use: all that edit something, and of the others as many as their share allows."""
    edited = [k for k, numbers in enumerate(tags) if any(numbers)]
    others = [k for k, numbers in enumerate(tags) if not any(numbers)]
    most = round(len(edited) * MOST_IDENTICAL / (1 - MOST_IDENTICAL))
    return sorted(edited + (others if len(others) <= most else random.Random(seed).sample(others, most)))
