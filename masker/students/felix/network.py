"""The two encoders of FelixInsert, and what tags and masked inputs look like.

The tagger reads a tag off the first piece of every word: DELETE, or KEEP with the number of pieces to insert after it;
[CLS] speaks for the start of the text. The inserter sees the deleted words between two markers of their own:

    [CLS] he ran [REPL] . he [/REPL] [MASK] fell . [SEP]
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from tokenizers import AddedToken
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from masker.core.padding import IGNORE
from masker.core.spans import Span
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.model.padded_mlm import PaddedMLM
from masker.model.settings import Settings
from masker.students.holes import Hole
from masker.students.network import Encoder, table

DELETE = 0  # 1 + k is KEEP, with k pieces inserted after the word
MARKERS = ("[REPL]", "[/REPL]")

Blank = tuple[Span, int]  # a hole that is yet to be filled: words to delete, and how many pieces to insert


def tags_of(text: Text, holes: Sequence[Hole]) -> list[int]:
    """One tag for the start of the text and one for each word."""
    tags = [1] * (1 + len(text.words))
    for hole in holes:
        tags[hole.span.start] += len(hole.pieces)
        tags[hole.span.start + 1 : hole.span.stop + 1] = [DELETE] * (hole.span.stop - hole.span.start)
    return tags


def blanks_of(tags: Sequence[int]) -> list[Blank]:
    """What the tags ask for, from left to right. The start of a text cannot be deleted."""
    kept = [0, *(k for k in range(1, len(tags)) if tags[k] != DELETE), len(tags)]
    blanks = [(Span(k, after - 1), max(tags[k] - 1, 0)) for k, after in pairwise(kept)]
    return [(span, count) for span, count in blanks if count or span.start < span.stop]


class FelixModel(nn.Module):
    """A tagger and an inserter that start from the same masked LM, the inserter with its head."""

    def __init__(self, mlm: Any, vocabulary: Vocabulary, max_inserted: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.markers = _add_markers(mlm, vocabulary)
        self.inserter = PaddedMLM(mlm, vocabulary, Settings())  # without domains, whatever the base had
        self.tagger = Encoder(copy.deepcopy(mlm))
        self.tags = nn.Linear(self.tagger.width, max_inserted + 2)

    @property
    def config(self) -> Any:
        return self.inserter.mlm.config

    @property
    def max_length(self) -> int:
        return self.inserter.max_length

    def tag_logits(self, ids: Tensor) -> Tensor:
        """[B, L] -> [B, L, tags]."""
        logits: Tensor = self.tags(self.tagger(ids, (ids != self.vocabulary.pad).long()))
        return logits

    def fill_logits(self, ids: Tensor, slots: Tensor) -> Tensor:
        """[B, L], [B, m] -> [B, m, V]."""
        logits: Tensor = self.inserter(ids, (ids != self.vocabulary.pad).long(), slots)
        return logits

    def source_row(self, text: Text) -> tuple[list[int], list[int]]:
        """Input of the tagger, and where its tags are read."""
        v = self.vocabulary
        return [*v.start, *text.pieces, *v.end], [0, *(len(v.start) + first for first in text.bounds[:-1])]

    def blank_row(self, text: Text, blanks: Sequence[Blank]) -> tuple[list[int], list[int]]:
        """Input of the inserter, and where its masks are."""
        v, bounds = self.vocabulary, text.bounds
        row, slots, at = [*v.start], list[int](), 0
        for span, count in blanks:
            row += text.pieces[at : bounds[span.start]]
            at = bounds[span.stop]
            if span.start < span.stop:
                row += [self.markers[0], *text.pieces[bounds[span.start] : at], self.markers[1]]
            slots += range(len(row), len(row) + count)
            row += [v.mask] * count
        return [*row, *text.pieces[at:], *v.end], slots


def _add_markers(mlm: Any, vocabulary: Vocabulary) -> list[int]:
    """Two more pieces, unless they are there already; their embeddings are as large as those of the others."""
    tokens = [AddedToken(marker, special=True, normalized=False) for marker in MARKERS]
    vocabulary.tokenizer.add_tokens(tokens, special_tokens=True)
    before = mlm.get_input_embeddings().num_embeddings
    if len(vocabulary) > before:
        mlm.resize_token_embeddings(len(vocabulary), mean_resizing=False)
        with torch.no_grad():
            embeddings = mlm.get_input_embeddings().weight
            embeddings[before:] = torch.randn_like(embeddings[before:]) * embeddings[:before].std()
    return [int(i) for i in vocabulary.tokenizer.convert_tokens_to_ids(list(MARKERS))]


@dataclass(frozen=True)
class FelixExamples:
    """Pairs as tensors on the device, from which batches are taken by number."""

    ids: Tensor  # [N, L] input of the tagger
    tags: Tensor  # [N, L]
    blank: Tensor  # [N, L'] input of the inserter
    slots: Tensor  # [N, m] its masks
    targets: Tensor  # [N, m]
    counts: Tensor  # [N] how many of the masks there are
    lengths: list[int]  # of the inserter's input, the longer one

    @classmethod
    def of(cls, model: FelixModel, pairs: Sequence[tuple[Text, list[Hole]]], device: torch.device) -> "FelixExamples":
        ids, tags, blank, slots = list[list[int]](), list[list[int]](), list[list[int]](), list[list[int]]()
        for text, holes in pairs:
            row, places = model.source_row(text)
            labels = [IGNORE] * len(row)
            for place, tag in zip(places, tags_of(text, holes), strict=True):
                labels[place] = tag
            filled, masks = model.blank_row(text, [(hole.span, len(hole.pieces)) for hole in holes])
            ids.append(row)
            tags.append(labels)
            blank.append(filled)
            slots.append(masks)
        targets = [[piece for hole in holes for piece in hole.pieces] for _, holes in pairs]
        pad = model.vocabulary.pad
        return cls(
            ids=table(ids, pad, device), tags=table(tags, IGNORE, device),
            blank=table(blank, pad, device), slots=table(slots, 0, device),
            targets=table(targets, IGNORE, device),
            counts=torch.tensor([len(masks) for masks in slots], device=device), lengths=[len(row) for row in blank],
        )  # fmt: skip

    def loss(self, model: FelixModel, rows: Tensor, longest: int) -> Tensor:
        """Of tags and infills, each the mean over what there is of them in the rows."""
        tags = model.tag_logits(self.ids[rows, :longest]).float()
        loss = cross_entropy(tags.flatten(0, 1), self.tags[rows, :longest].flatten(), ignore_index=IGNORE)
        if masks := int(self.counts[rows].max()):
            fills = model.fill_logits(self.blank[rows, :longest], self.slots[rows, :masks]).float()
            wanted = self.targets[rows, :masks].flatten()
            loss = loss + cross_entropy(fills.flatten(0, 1), wanted, ignore_index=IGNORE)
        return loss
