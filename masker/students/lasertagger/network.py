"""The network of a LaserTagger: an encoder, and a decoder that gives every word a tag; and what it learns from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

from masker.core.padding import IGNORE
from masker.errors import unknown
from masker.students.base import DECODERS
from masker.students.lasertagger.rows import Row
from masker.students.network import Encoder, table


class Tagger(nn.Module):
    """Encoder, decoder and a linear layer over the tags; words are known by the slots of their first pieces."""

    def __init__(self, encoder: Encoder, tags: int, decoder: str) -> None:
        super().__init__()
        if decoder not in DECODERS:
            raise unknown("decoder", decoder, list(DECODERS))
        self.encoder = encoder
        self.decoder = Autoregressive(encoder.width, tags) if decoder == "autoregressive" else None
        self.head = nn.Linear(encoder.width, tags)
        nn.init.normal_(self.head.weight, std=0.02)

    @property
    def config(self) -> Any:
        return self.encoder.config

    def forward(self, ids: Tensor, attention: Tensor, slots: Tensor, tags: Tensor) -> Tensor:
        """ids, attention [B, L], slots, tags [B, W] -> logits [B, W, T]; only tags of earlier words are looked at."""
        words = self._words(ids, attention, slots)
        logits: Tensor = self.head(words if self.decoder is None else self.decoder(words, tags))
        return logits

    def predict(self, ids: Tensor, attention: Tensor, slots: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        """The best tag of every slot, [B, W], and its probability; with the autoregressive decoder word by word.

        `keep` [1] is added to the logit of the first tag, KEEP.
        """
        words = self._words(ids, attention, slots)
        if self.decoder is None:
            return _best(self.head(words), keep)
        return self.decoder.greedy(words, self.head, keep)

    def _words(self, ids: Tensor, attention: Tensor, slots: Tensor) -> Tensor:
        hidden = self.encoder(ids, attention)  # [B, L, H]
        return hidden.gather(1, slots[:, :, None].expand(-1, -1, hidden.shape[-1]))


class Autoregressive(nn.Module):
    """One causal Transformer layer over the words, each with the tag of the word before it.

    As in the paper it does not attend to the encoder, but takes in the encoder's state of the word it is at.
    """

    def __init__(self, width: int, tags: int, size: int = 64) -> None:
        super().__init__()
        self.heads = max(1, width // size)
        self.previous = nn.Embedding(tags + 1, width)  # the last row stands before the first word
        self.enter = nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.leave = nn.LayerNorm(width)
        self.dropout = nn.Dropout()
        for layer in (self.previous, self.attend, self.attended, self.widen, self.narrow):
            nn.init.normal_(layer.weight, std=0.02)

    def forward(self, words: Tensor, tags: Tensor) -> Tensor:
        """words [B, W, H], tags [B, W] -> [B, W, H]; all words at once, for training."""
        first = torch.full_like(tags[:, :1], self.previous.num_embeddings - 1)
        states = self.enter(words + self.previous(torch.cat([first, tags[:, :-1].clamp(min=0)], 1)))
        return self._layer(states, *self._attended(states), causal=True)

    def greedy(self, words: Tensor, head: nn.Linear, keep: Tensor) -> tuple[Tensor, Tensor]:
        """words [B, W, H] -> the best tags [B, W], each given the one before, and their probabilities."""
        tag = torch.full_like(words[:, 0, 0], self.previous.num_embeddings - 1, dtype=torch.long)
        tags, likely = list[Tensor](), list[Tensor]()
        keys = values = words.new_zeros(0)
        for k in range(words.shape[1]):
            state = self.enter(words[:, k : k + 1] + self.previous(tag)[:, None])
            query, key, value = self._attended(state)
            keys = torch.cat([keys, key], 2) if k else key
            values = torch.cat([values, value], 2) if k else value
            tag, sure = _best(head(self._layer(state, query, keys, values, causal=False))[:, 0], keep)
            tags.append(tag)
            likely.append(sure)
        return torch.stack(tags, 1), torch.stack(likely, 1)

    def _attended(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [B, heads, W, H / heads]."""
        batch, words, width = states.shape
        parts = self.attend(states).view(batch, words, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        return query, key, value

    def _layer(self, states: Tensor, query: Tensor, key: Tensor, value: Tensor, *, causal: bool) -> Tensor:
        mixed = scaled_dot_product_attention(query, key, value, is_causal=causal).transpose(1, 2).flatten(2)
        states = self.norm(states + self.dropout(self.attended(mixed)))
        left: Tensor = self.leave(states + self.dropout(self.narrow(gelu(self.widen(states)))))
        return left


def _best(logits: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """[..., T] -> the best tags and their probabilities."""
    logits = logits.float() + torch.cat([keep, keep.new_zeros(logits.shape[-1] - 1)])
    most, best = logits.max(-1)
    return best, (most - logits.logsumexp(-1)).exp()


@dataclass(frozen=True)
class TagExamples:
    """Rows and their tags as tensors on the device, from which batches are taken by number."""

    ids: Tensor  # [N, L]
    sizes: Tensor  # [N]
    slots: Tensor  # [N, W]
    tags: Tensor  # [N, W]
    weights: Tensor  # [T] of the tags
    lengths: list[int]

    @classmethod
    def of(cls, rows: Sequence[Row], tags: Sequence[Sequence[int]], weights: Tensor, pad: int) -> "TagExamples":
        device, lengths = weights.device, [len(ids) for ids, _ in rows]
        return cls(
            ids=table([ids for ids, _ in rows], pad, device), sizes=torch.tensor(lengths, device=device),
            slots=table([slots for _, slots in rows], 0, device), tags=table(tags, IGNORE, device),
            weights=weights, lengths=lengths,
        )  # fmt: skip

    def loss(self, model: Tagger, rows: Tensor, longest: int) -> Tensor:
        """The weighted mean over the words of the rows."""
        attention = (torch.arange(longest, device=rows.device) < self.sizes[rows, None]).long()
        tags = self.tags[rows, :longest]
        logits = model(self.ids[rows, :longest], attention, self.slots[rows, :longest], tags)
        return cross_entropy(logits.flatten(0, 1).float(), tags.flatten(), self.weights, ignore_index=IGNORE)
