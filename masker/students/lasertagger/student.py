"""LaserTagger (Malmi et al. 2019): rewrites a text by tagging its words to be kept or deleted, with phrases to add.

Most words of most pairs are kept, and a tagger can fall for keeping everything. Against this the tags start out as
likely as they are, so that training is about where to edit and not how often; edited words weigh more than kept ones;
pairs with nothing to edit beyond a share of 20 % are left out; and every evaluation tells how many texts stayed as they
were.
"""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students import training as _train
from masker.students.base import Pair, Student, StudentSettings
from masker.students.lasertagger.network import IGNORE, Tagger
from masker.students.lasertagger.tags import KEEP, Op, Tag, TagSet, align, middle, phrase_vocabulary, realise, tokens
from masker.training.device import autocast, choose_device
from masker.training.progress import Report
from masker.training.settings import require

MOST_WEIGHT = 3.0  # of an edited word, at the most
MOST_IDENTICAL = 0.2  # share of pairs with nothing to edit, at the most
CPU_PIECES, GPU_PIECES = 1024, 65_536  # in a batch of texts to edit

Row = tuple[list[int], list[int]]  # ids, and the slots of words' first pieces and of the end


class LaserTagger(Student):
    """Options of `create`: `phrases`, how many may be inserted, and `decoder`, feedforward or autoregressive."""

    kind = "lasertagger"

    def __init__(self, tagger: Tagger, vocabulary: Vocabulary, tags: TagSet, window: int, device: str | None) -> None:
        self.device = choose_device(device)
        self.tagger = tagger.to(self.device).eval()
        self.vocabulary = vocabulary
        self.tags = tags
        self.window = min(window, tagger.encoder.max_length)
        self.card: dict[str, Any] = {}

    @classmethod
    def create(
        cls,
        base: str | Path | None,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings,
        phrases: int = 500,
        decoder: str = "feedforward",
        **options: Any,
    ) -> "LaserTagger":
        if options:
            raise MaskerError(f"a lasertagger has no option '{next(iter(options))}'")
        require("phrases", phrases, at_least=0)
        split = [(tokens(pair.source), tokens(pair.target)) for pair in pairs]
        alignments = [align(*both) for both in split]
        tags = TagSet(phrase_vocabulary(alignments, phrases))
        numbered = [tags.number(ways, *both) for ways, both in zip(alignments, split, strict=True)]
        model = _train.load_base(base)
        torch.manual_seed(settings.seed)
        tagger = Tagger(_train.Encoder(model.mlm), len(tags), decoder)
        covered = [row for row in numbered if row is not None]
        counts = torch.tensor(_counts(covered, len(tags)), dtype=torch.float)
        with torch.no_grad():
            tagger.head.bias.copy_(((counts + 1) / (counts.sum() + len(tags))).log())
        student = cls(tagger, model.vocabulary, tags, settings.max_length, settings.device)
        student.card = {
            "base": "embedded" if base is None else str(base), "decoder": decoder, "phrases": len(tags.phrases),
            "coverage": round(100 * len(covered) / max(1, len(pairs)), 2),
            "parameters": sum(p.numel() for p in tagger.parameters()), "made": [],
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
        rows, tags, counted = self._examples(train)
        chosen = _few_identical(tags, settings.seed)
        if not any(map(any, tags)):
            raise MaskerError(
                f"of {len(train)} pairs none changes its source in a way that the tags can express; nothing to learn"
            )
        rows, tags = [rows[k] for k in chosen], [tags[k] for k in chosen]
        counts = _counts(tags, len(self.tags))
        weight = min(MOST_WEIGHT, max(1.0, (counts[0] / sum(counts[1:])) ** 0.5))
        loss = self._loss(rows, tags, weight)
        held_rows, held_tags, held_counted = self._examples(held)
        held_loss = self._loss(held_rows, held_tags, weight)

        @torch.inference_mode()
        def evaluate() -> _train.Score:
            total = 0.0
            for at in range(0, len(held_rows), 256):
                part = torch.arange(at, min(at + 256, len(held_rows)), device=self.device)
                with autocast(self.device):
                    total += float(held_loss(part, max(len(r[0]) for r in held_rows[at : at + 256]))) * len(part)
            return _train.score(self.edit, held, total / max(1, len(held_rows)))

        made = _train.train(
            self.tagger, [len(ids) for ids, _ in rows], loss, evaluate if held else None,
            settings=settings, device=self.device, report=report,
        )  # fmt: skip
        made = {
            "pairs": len(train), **counted, "used": len(rows), "edit_weight": round(weight, 2), "held_out": len(held),
            "held_out_coverage": held_counted["coverage"], **made, "batch_size": settings.batch_size,
            "lr": settings.lr, "seed": settings.seed,
        }  # fmt: skip
        self.card.setdefault("made", []).append(made)
        return made

    def _examples(self, pairs: Sequence[Pair]) -> tuple[list[Row], list[list[int]], dict[str, Any]]:
        """Rows and tags of the pairs that can be learnt, and the share of all that the phrases cover, in percent."""
        rows, tags, covered, too_long = [], [], 0, 0
        for pair in pairs:
            numbers = self.tags.convert(tokens(pair.source), tokens(pair.target))
            covered += numbers is not None
            parts = self._rows(pair.source)
            too_long += len(parts) > 1
            if numbers is not None and len(parts) == 1:
                rows.append(parts[0])
                tags.append(numbers)
        counted = {"coverage": round(100 * covered / max(1, len(pairs)), 2), "too_long": too_long}
        return rows, tags, counted

    def _loss(self, rows: list[Row], tags: list[list[int]], weight: float) -> Callable[[Tensor, int], Tensor]:
        """The mean loss of rows given by index; all of them lie on the device."""
        ids = _train.padded([ids for ids, _ in rows], self.vocabulary.pad, self.device)
        sizes = torch.tensor([len(ids) for ids, _ in rows], device=self.device)
        slots = _train.padded([slots for _, slots in rows], 0, self.device)
        gold = _train.padded(tags, IGNORE, self.device)
        weights = torch.full((len(self.tags),), weight, device=self.device)
        weights[0] = 1.0

        def loss(at: Tensor, longest: int) -> Tensor:
            attention = (torch.arange(longest, device=self.device) < sizes[at, None]).long()
            wanted = gold[at, :longest]
            logits = self.tagger(ids[at, :longest], attention, slots[at, :longest], wanted)
            return cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), weights, ignore_index=IGNORE)

        return loss

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str]) -> list[str]:
        numbers = self._predict([self._rows(text) for text in texts])
        return [self._write(text, tags) if any(tags) else text for text, tags in zip(texts, numbers, strict=True)]

    def _rows(self, text: str) -> list[Row]:
        """The inputs of a text: one, or several consecutive ones where it is longer than the window; none if blank."""
        start, end = self.vocabulary.start, self.vocabulary.end or [self.vocabulary.mask]
        room = self.window - len(start) - len(end)
        rows: list[Row] = []
        ids, slots = [*start], list[int]()
        for k, chunk in enumerate(text.split()):
            for _, _, pieces, _ in self.vocabulary.chunk(chunk, spaced=k > 0):
                if slots and len(ids) - len(start) + len(pieces) > room:
                    rows.append((ids + end, [*slots, len(ids)]))
                    ids, slots = [*start], []
                slots.append(len(ids))
                ids.extend(pieces[:room])
        return [*rows, (ids + end, [*slots, len(ids)])] if slots else rows

    @torch.inference_mode()
    def _predict(self, texts: list[list[Row]]) -> list[list[int]]:
        """Numbers of the tags of each text, its end included. Rows of like length go together."""
        rows = [row for parts in texts for row in parts]
        order = sorted(range(len(rows)), key=lambda k: len(rows[k][0]))
        budget = CPU_PIECES if self.device.type == "cpu" else GPU_PIECES
        found: list[Tensor] = []
        at = 0
        while at < len(order):
            size = 1
            while at + size < len(order) and (size + 1) * len(rows[order[at + size]][0]) <= budget:
                size += 1
            part = [rows[k] for k in order[at : at + size]]
            ids = _train.padded([ids for ids, _ in part], self.vocabulary.pad, self.device)
            lengths = torch.tensor([len(ids) for ids, _ in part], device=self.device)
            attention = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
            slots = _train.padded([slots for _, slots in part], -1, self.device)
            with autocast(self.device):
                best = self.tagger.predict(ids, attention, slots.clamp(min=0))
            found.append(best[slots >= 0])
            at += size
        flat = torch.cat(found).cpu().numpy() if found else np.zeros(0, dtype=np.int64)  # one copy for all
        ends = np.cumsum([len(rows[k][1]) for k in order])
        numbers: list[list[int]] = [[] for _ in rows]
        for k, part_numbers in zip(order, np.split(flat, ends[:-1]), strict=True):
            numbers[k] = part_numbers.tolist()
        ordered = iter(numbers)
        joined = []
        for parts in texts:  # where a text goes on, nothing can be added at the end of a part
            parts_numbers = [next(ordered) for _ in parts]
            joined.append([n for p in parts_numbers[:-1] for n in p[:-1]] + (parts_numbers[-1] if parts else []))
        return joined

    def _write(self, text: str, numbers: Sequence[int]) -> str:
        """The text that tags make of `text`; white space between words that stay together stays as it was."""
        source, tags = tokens(text), [self.tags.tags[n] for n in numbers]
        cut = middle(source)
        for k, tag in enumerate(tags):  # a model may put it anywhere
            if tag.op == Op.SWAP and k != cut:
                tags[k] = Tag(Op.KEEP, tag.phrase) if tag.phrase else KEEP
        if text == " ".join(text.split()):
            return realise(source, tags)
        gaps = [
            space if k == 0 else ""
            for space, chunk in re.findall(r"(\s*)(\S+)", text)
            for k in range(len(tokens(chunk)))
        ]
        before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
        return before + realise(source, tags, gaps) + after

    # -- files ------------------------------------------------------------------------------------------------------

    def _save(self, folder: Path) -> dict[str, Any]:
        self.tagger.encoder.config.save_pretrained(folder)
        self.vocabulary.tokenizer.save_pretrained(folder)
        _train.save_weights(self.tagger, folder)
        decoder = "feedforward" if self.tagger.decoder is None else "autoregressive"
        return {"decoder": decoder, "window": self.window, "phrases": self.tags.phrases}

    @classmethod
    def _load(cls, folder: Path, fields: dict[str, Any], device: str | None) -> "LaserTagger":
        mlm, vocabulary = _train.load_shape(folder)
        tags = TagSet(fields["phrases"])
        tagger = Tagger(_train.Encoder(mlm), len(tags), fields["decoder"])
        _train.load_weights(tagger, folder)
        return cls(tagger, vocabulary, tags, fields["window"], device)


def _counts(rows: Sequence[Sequence[int]], size: int) -> list[int]:
    return np.bincount(np.array([number for row in rows for number in row], dtype=np.int64), minlength=size).tolist()


def _few_identical(tags: Sequence[Sequence[int]], seed: int) -> list[int]:
    """The examples to use: all that edit something, and of the others as many as their share allows."""
    edited = [k for k, numbers in enumerate(tags) if any(numbers)]
    others = [k for k, numbers in enumerate(tags) if not any(numbers)]
    most = round(len(edited) * MOST_IDENTICAL / (1 - MOST_IDENTICAL))
    return sorted(edited + (others if len(others) <= most else random.Random(seed).sample(others, most)))
