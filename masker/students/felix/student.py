"""FelixInsert (Mallinson et al. 2020, without reordering): a tagger says which words go and how many pieces come where,
and a masked LM that still sees the deleted words fills in all new pieces at once."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from masker.core.text import Text
from masker.errors import MaskerError
from masker.students import training as _train
from masker.students.base import Pair, Student, StudentSettings
from masker.students.felix.holes import Hole, align, beginning, realise
from masker.students.felix.network import Blank, FelixModel, Rows, blanks_of
from masker.training.device import autocast, choose_device
from masker.training.progress import Report
from masker.training.settings import require

MAX_INSERTED = 8  # pieces in one place: enough for 99 % of the pairs of a sentence-fusion corpus
EVALUATED = 500  # held-out pairs that are rewritten at an evaluation, at most
_BATCH = 128


class FelixInsert(Student):
    """A tagger with insertion counts and a masked LM that inserts, each with an encoder of its own."""

    kind = "felix"

    def __init__(self, model: FelixModel, *, max_length: int, max_inserted: int, device: str | None) -> None:
        self.device = choose_device(device)
        self.model = model.to(self.device).eval()
        self.vocabulary = model.vocabulary
        frame = len(self.vocabulary.start) + len(self.vocabulary.end)
        self.max_length = min(max_length, model.max_length - frame)
        self.max_inserted = max_inserted
        self.card: dict[str, Any] = {}

    @classmethod
    def create(
        cls,
        base: str | Path | None,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings,
        max_inserted: int = MAX_INSERTED,
        **options: Any,
    ) -> "FelixInsert":
        """`max_inserted` is the most pieces that can be inserted in one place."""
        if options:
            raise MaskerError(f"a felix has no option '{next(iter(options))}'")
        require("max_inserted", max_inserted, at_least=1)
        start = _train.load_base(base)
        torch.manual_seed(settings.seed)
        model = FelixModel(start.mlm, start.vocabulary, max_inserted)
        student = cls(model, max_length=settings.max_length, max_inserted=max_inserted, device=settings.device)
        student.card = {
            "base": "embedded" if base is None else str(base), "max_inserted": max_inserted,
            "parameters": sum(p.numel() for p in model.parameters()), "made": [],
        }  # fmt: skip
        return student

    # -- training ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings,
        dev: Sequence[Pair] | None = None,
        report: Report = lambda _: None,
    ) -> dict[str, Any]:
        train, held = _train.split_pairs(pairs, dev, settings)
        held = held[:EVALUATED]
        rows, held_rows = self._rows(train), self._rows(held)
        if not rows.lengths:
            raise MaskerError(
                f"none of {len(train)} pairs is within {self.max_length} pieces and {self.max_inserted} insertions"
            )

        @torch.inference_mode()
        def evaluate() -> _train.Score:
            total = 0.0
            for part in torch.arange(len(held_rows.lengths), device=self.device).split(_BATCH):
                with autocast(self.device):
                    total += float(held_rows.loss(self.model, part, max(held_rows.lengths))) * len(part)
            return _train.score(self.edit, held, total / max(1, len(held_rows.lengths)))

        made = _train.train(
            self.model, rows.lengths, lambda at, longest: rows.loss(self.model, at, longest),
            evaluate if held else None, settings=settings, device=self.device, report=report,
        )  # fmt: skip
        made = {
            "pairs": len(train), "coverage": round(100 * len(rows.lengths) / len(train), 2), "used": len(rows.lengths),
            "held_out": len(held), **made, "batch_size": settings.batch_size, "lr": settings.lr, "seed": settings.seed,
        }  # fmt: skip
        self.card.setdefault("made", []).append(made)
        return made

    def _rows(self, pairs: Sequence[Pair]) -> Rows:
        return Rows.of(self.model, [found for pair in pairs if (found := self.holes(pair))], self.device)

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

    def edit(self, texts: Sequence[str]) -> list[str]:
        """Rewrite texts. Of one longer than `max_length` pieces only the beginning is read, the rest stays as it is."""
        read = [self.vocabulary.read(text) for text in texts]
        seen = [beginning(text, self.max_length) for text in read]
        order = sorted((i for i in range(len(read)) if seen[i].words), key=lambda i: len(seen[i].pieces))
        results = list(texts)
        for at in range(0, len(order), _BATCH):
            tagged = self._tagged([seen[i] for i in order[at : at + _BATCH]])
            found = dict(zip(order[at : at + _BATCH], map(blanks_of, tagged), strict=True))
            todo = [i for i, blanks in found.items() if blanks and self._fits(seen[i], blanks)]
            for i, holes in zip(todo, self._filled([(seen[i], found[i]) for i in todo]), strict=True):
                results[i] = realise(self.vocabulary, read[i], holes)
        return results

    @torch.inference_mode()
    def _tagged(self, texts: Sequence[Text]) -> list[list[int]]:
        rows = [self.model.source_row(text) for text in texts]
        with autocast(self.device):
            logits = self.model.tag_logits(_train.padded([row for row, _ in rows], self.vocabulary.pad, self.device))
        best = logits.argmax(-1).tolist()
        return [[tags[place] for place in places] for tags, (_, places) in zip(best, rows, strict=True)]

    @torch.inference_mode()
    def _filled(self, asked: Sequence[tuple[Text, list[Blank]]]) -> list[list[Hole]]:
        rows = [self.model.blank_row(text, blanks) for text, blanks in asked]
        firsts = [[int(k == 0) for _, count in blanks for k in range(count)] for _, blanks in asked]
        best: list[list[int]] = [[] for _ in rows]
        if any(firsts):
            ids = _train.padded([row for row, _ in rows], self.vocabulary.pad, self.device)
            slots = _train.padded([slots for _, slots in rows], 0, self.device)
            with autocast(self.device):
                logits = self.model.fill_logits(ids, slots).float()
            bias = self._bias().to(self.device)[_train.padded(firsts, 0, self.device)]
            best = (logits + bias).argmax(-1).tolist()
        return [_holes(blanks, iter(pieces)) for (_, blanks), pieces in zip(asked, best, strict=True)]

    def _bias(self) -> Tensor:
        """[2, V]: -inf for pieces not to be inserted; the second row is for the first piece after a word, which stays
        as it is, so that none can go on with it."""
        allowed = torch.from_numpy(self.vocabulary.infillable.copy())
        allowed[self.vocabulary.pad] = False
        first = allowed & ~torch.from_numpy(self.vocabulary.continuation)
        return torch.zeros(2, len(allowed)).masked_fill(~torch.stack([allowed, first]), -torch.inf)

    # -- files ------------------------------------------------------------------------------------------------------

    def _save(self, folder: Path) -> dict[str, Any]:
        self.model.inserter.mlm.config.save_pretrained(folder)
        self.vocabulary.tokenizer.save_pretrained(folder)
        _train.save_weights(self.model, folder)
        return {"max_length": self.max_length, "max_inserted": self.max_inserted}

    @classmethod
    def _load(cls, folder: Path, fields: dict[str, Any], device: str | None) -> "FelixInsert":
        model = FelixModel(*_train.load_shape(folder), fields["max_inserted"])
        _train.load_weights(model, folder)
        return cls(model, max_length=fields["max_length"], max_inserted=fields["max_inserted"], device=device)


def _holes(blanks: Sequence[Blank], pieces: Iterator[int]) -> list[Hole]:
    return [Hole(span, tuple(islice(pieces, count))) for span, count in blanks]
