"""FelixInsert (Mallinson et al. 2020, without reordering): a tagger says which words go and how many pieces come where,
and a masked LM that still sees the deleted words fills in all new pieces at once."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students.base import Pair, StudentSettings
from masker.students.felix.network import Blank, FelixExamples, FelixModel, blanks_of
from masker.students.holes import Hole, align
from masker.students.network import table
from masker.students.reading import edit_beginnings
from masker.students.training import Lesson, TorchStudent
from masker.training.device import autocast
from masker.training.settings import require

MAX_INSERTED = 8  # pieces in one place: enough for 99 % of the pairs of a sentence-fusion corpus
_BATCH = 128  # texts that are rewritten at a time


class FelixInsert(TorchStudent):
    """A tagger with insertion counts and a masked LM that inserts, each with an encoder of its own.

    Option of `create`: `max_inserted`, the most pieces that can be inserted in one place.
    """

    kind = "felix"
    vocabulary: Vocabulary
    evaluated = 500

    def __init__(
        self, model: FelixModel, vocabulary: Vocabulary, *, max_length: int, max_inserted: int, device: str | None
    ) -> None:
        super().__init__(model, vocabulary, device)
        self.max_length = min(max_length, model.max_length - len(vocabulary.start) - len(vocabulary.end))
        self.max_inserted = max_inserted

    @classmethod
    def _create(
        cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings, *,
        max_inserted: int = MAX_INSERTED,
    ) -> "FelixInsert":  # fmt: skip
        require("max_inserted", max_inserted, at_least=1)
        fields = {"max_length": settings.max_length, "max_inserted": max_inserted}
        return cls._start(base, settings, fields, {"max_inserted": max_inserted})

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> FelixModel:
        return FelixModel(mlm, vocabulary, fields["max_inserted"])

    def _fields(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "max_inserted": self.max_inserted}

    # -- training ---------------------------------------------------------------------------------------------------

    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        examples, held_out = (
            FelixExamples.of(self.model, [found for pair in pairs if (found := self.holes(pair))], self.device)
            for pairs in (train, held)
        )
        if not examples.lengths:
            raise MaskerError(
                f"none of {len(train)} pairs is within {self.max_length} pieces and {self.max_inserted} insertions"
            )
        return Lesson(examples, held_out, {"coverage": round(100 * len(examples.lengths) / len(train), 2)})

    def holes(self, pair: Pair) -> tuple[Text, list[Hole]] | None:
        """What tagger and inserter have to say for a pair; None for one that is beyond their limits."""
        text = self.vocabulary.read(pair.source)
        if not 0 < len(text.pieces) <= self.max_length:
            return None
        holes = align(self.vocabulary, text, self.vocabulary.read(pair.target).pieces)
        blanks = [(hole.span, len(hole.pieces)) for hole in holes]
        fits = self._fits(text, blanks) and all(count <= self.max_inserted for _, count in blanks)
        return (text, holes) if fits else None

    def _fits(self, text: Text, blanks: Sequence[Blank]) -> bool:
        """Whether the inserter has positions enough."""
        return len(self.model.blank_row(text, blanks)[0]) <= self.model.max_length

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        """Rewrite texts. Of one longer than `max_length` pieces only the beginning is read, the rest stays as it is."""
        return edit_beginnings(self.vocabulary, texts, self.max_length, self._found, self._in_parts, at_most=_BATCH)

    def _found(self, texts: list[Text]) -> list[list[Hole]]:
        """The holes of texts; none where the inserter has no room for them."""
        blanks = [blanks_of(tags) for tags in self._tagged(texts)]
        fitting = [b if self._fits(text, b) else [] for text, b in zip(texts, blanks, strict=True)]
        filled = iter(self._filled([(text, b) for text, b in zip(texts, fitting, strict=True) if b]))
        return [next(filled) if b else [] for b in fitting]

    @torch.inference_mode()
    def _tagged(self, texts: Sequence[Text]) -> list[list[int]]:
        rows = [self.model.source_row(text) for text in texts]
        with autocast(self.device):
            logits = self.model.tag_logits(table([row for row, _ in rows], self.vocabulary.pad, self.device))
        best = logits.argmax(-1).tolist()
        return [[tags[place] for place in places] for tags, (_, places) in zip(best, rows, strict=True)]

    @torch.inference_mode()
    def _filled(self, asked: Sequence[tuple[Text, list[Blank]]]) -> list[list[Hole]]:
        rows = [self.model.blank_row(text, blanks) for text, blanks in asked]
        firsts = [[int(k == 0) for _, count in blanks for k in range(count)] for _, blanks in asked]
        best: list[list[int]] = [[] for _ in rows]
        if any(firsts):
            ids = table([row for row, _ in rows], self.vocabulary.pad, self.device)
            slots = table([slots for _, slots in rows], 0, self.device)
            with autocast(self.device):
                logits = self.model.fill_logits(ids, slots).float()
            bias = self._bias().to(self.device)[table(firsts, 0, self.device)]
            best = (logits + bias).argmax(-1).tolist()
        return [_holes(blanks, iter(pieces)) for (_, blanks), pieces in zip(asked, best, strict=True)]

    def _bias(self) -> Tensor:
        """[2, V]: -inf for pieces not to be inserted; the second row is for the first piece after a word, which stays
        as it is, so that none can go on with it."""
        allowed = torch.from_numpy(self.vocabulary.infillable.copy())
        allowed[self.vocabulary.pad] = False
        first = allowed & ~torch.from_numpy(self.vocabulary.continuation)
        return torch.zeros(2, len(allowed)).masked_fill(~torch.stack([allowed, first]), -torch.inf)


def _holes(blanks: Sequence[Blank], pieces: Iterator[int]) -> list[Hole]:
    return [Hole(span, tuple(islice(pieces, count))) for span, count in blanks]
