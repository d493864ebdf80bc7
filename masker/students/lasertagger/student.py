"""LaserTagger (Malmi et al. 2019): rewrites a text by tagging its words to be kept or deleted, with phrases to add.

Most words of most pairs are kept, and a tagger can fall for keeping everything. Against this the tags start out as
likely as they are, so that training is about where to edit and not how often; edited words weigh more than kept ones;
pairs with nothing to edit beyond a share of 20 % are left out; and every evaluation tells how many texts stayed as they
were.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from masker.core.runtime import to_numpy
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError, check_number
from masker.students.base import Pair, StudentSettings
from masker.students.lasertagger.network import TagExamples, Tagger
from masker.students.lasertagger.rows import Row, pieces_of, rows_of
from masker.students.lasertagger.tagging import Tagged, Tagging
from masker.students.lasertagger.tags import TagSet, align, phrase_vocabulary, tokens
from masker.students.network import Encoder
from masker.students.training import Lesson, TorchStudent
from masker.training.device import autocast
from masker.training.settings import require

MOST_WEIGHT = 3.0  # of an edited word, at the most
MOST_IDENTICAL = 0.2  # share of pairs with nothing to edit, at the most
CPU_TOKENS, GPU_TOKENS = 1024, 65_536  # in a batch of texts to edit


class LaserTagger(Tagging, TorchStudent):
    """Options of `create`: `phrases`, how many may be inserted; `decoder`, feedforward or autoregressive; `layers` of
    the encoder that are used; `shared`, whether the embeddings stay those of the base, and are not saved; `rounds`, how
    often a text is tagged at most; `keep_bias`, what is added to the logit of keeping a word: below 0 it edits more.
    """

    def __init__(
        self, model: Tagger, vocabulary: Vocabulary, *, device: str | None, window: int, **fields: Any
    ) -> None:
        TorchStudent.__init__(self, model, vocabulary, device)
        self._describe(vocabulary, window=min(window, model.encoder.max_length), **fields)

    @classmethod
    def _create(
        cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings, *, phrases: int = 500,
        decoder: str = "feedforward", layers: int | None = None, shared: bool = False, rounds: int = 1,
        keep_bias: float = 0.0,
    ) -> "LaserTagger":  # fmt: skip
        require("phrases", phrases, at_least=0)
        require("rounds", rounds, above=0)
        check_number(finite=True, keep_bias=keep_bias)
        split = [(tokens(pair.source), tokens(pair.target)) for pair in pairs]
        alignments = [align(*both) for both in split]
        tags = TagSet(phrase_vocabulary(alignments, phrases))
        numbered = [tags.number(ways, *both) for ways, both in zip(alignments, split, strict=True)]
        covered = [row for row in numbered if row is not None]
        coverage = round(100 * len(covered) / max(1, len(pairs)), 2)
        fields = {"decoder": decoder, "window": settings.max_length, "phrases": tags.phrases, "rounds": rounds}
        fields |= {"keep_bias": keep_bias, "targets": sorted({pair.to for pair in pairs} - {""})}
        told = {"decoder": decoder, "phrases": len(tags.phrases), "coverage": coverage}
        student = cls._start(base, settings, fields, told, layers=layers, shared=shared)
        counts = torch.tensor(_counts(covered, len(tags)), dtype=torch.float)
        with torch.no_grad():
            student.model.head.bias.copy_(((counts + 1) / (counts.sum() + len(tags))).log())
        return student

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> Tagger:
        return Tagger(Encoder(mlm), len(TagSet(fields["phrases"])), fields["decoder"])

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
            words = pieces_of(self.vocabulary, pair.source)
            parts = rows_of(self.vocabulary, words, self.window, self.domain(pair.to))
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

    @property
    def batch_tokens(self) -> int:  # type: ignore[override]
        return CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS

    @torch.inference_mode()
    def _best(self, ids: np.ndarray, attention: np.ndarray, slots: np.ndarray, keep: np.ndarray) -> Tagged:
        *inputs, bias = (torch.from_numpy(array).to(self.device) for array in (ids, attention, slots, keep))
        with autocast(self.device):
            best, sure = self._in_parts(lambda *part: self.model.predict(*part, bias), *inputs)
        return lambda: (to_numpy(best), to_numpy(sure))


def _counts(rows: Sequence[Sequence[int]], size: int) -> list[int]:
    return np.bincount(np.array([number for row in rows for number in row], dtype=np.int64), minlength=size).tolist()


def _few_identical(tags: Sequence[Sequence[int]], seed: int) -> list[int]:
    """The examples to use: all that edit something, and of the others as many as their share allows."""
    edited = [k for k, numbers in enumerate(tags) if any(numbers)]
    others = [k for k, numbers in enumerate(tags) if not any(numbers)]
    most = round(len(edited) * MOST_IDENTICAL / (1 - MOST_IDENTICAL))
    return sorted(edited + (others if len(others) <= most else random.Random(seed).sample(others, most)))
