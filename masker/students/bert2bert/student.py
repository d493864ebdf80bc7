"""Bert2Bert (Rothe et al. 2019): an encoder-decoder, both halves of which start from the weights of one BERT.

It writes its target from left to right, with beam search. What it only copies is then taken from the text as it is
written, so that the case and the spacing of the words that stay are not lost in a lower-cased vocabulary.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from masker.core.padding import IGNORE
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students.base import Pair, StudentSettings
from masker.students.holes import Hole, align
from masker.students.network import load_vocabulary, table
from masker.students.reading import edit_beginnings
from masker.students.training import Lesson, TorchStudent, short_lesson
from masker.training.device import autocast
from masker.training.settings import require

CPU_BATCH, GPU_BATCH = 256, 1024  # texts that are rewritten at a time
_MORE = 16  # pieces by which a rewriting may be longer than its source


@dataclass(frozen=True)
class WriterExamples:
    """Sources and targets as tensors on the device, from which batches are taken by number."""

    sources: Tensor  # [N, L]
    targets: Tensor  # [N, T]
    pad: int
    lengths: list[int]  # of the longer of the two

    def loss(self, model: Any, rows: Tensor, longest: int) -> Tensor:
        """The mean over the pieces of the targets."""
        ids, given = self.sources[rows, :longest], self.targets[rows, :longest]
        wanted = given[:, 1:].masked_fill(given[:, 1:] == self.pad, IGNORE)
        logits = model(
            input_ids=ids, attention_mask=(ids != self.pad).long(), decoder_input_ids=given[:, :-1], use_cache=False
        ).logits  # [B, T, V]; a decoder sees nothing to its right, so its [PAD]s need no mask
        return cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORE)


class Bert2Bert(TorchStudent):
    """Transformers' EncoderDecoderModel.

    Option of `create`: `beams`, the width of the search; 1 takes the best piece at every step.
    """

    kind = "bert2bert"
    vocabulary: Vocabulary
    evaluated = 200  # to write piece by piece takes its time

    def __init__(self, model: Any, vocabulary: Vocabulary, *, max_length: int, beams: int, device: str | None) -> None:
        super().__init__(model, vocabulary, device)
        frame, positions = len(vocabulary.start) + len(vocabulary.end), model.encoder.config.max_position_embeddings
        self.max_length = min(max_length, positions - frame)
        self.beams = beams

    @classmethod
    def _create(
        cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings, *, beams: int = 4
    ) -> "Bert2Bert":
        require("beams", beams, at_least=1)
        return cls._start(base, settings, {"max_length": settings.max_length, "beams": beams}, {"beams": beams})

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Vocabulary, fields: dict[str, Any]) -> Any:
        return _warm_started(mlm)

    def _fields(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "beams": self.beams}

    @classmethod
    def _shape(cls, folder: Path, fields: dict[str, Any], owner: Path | None) -> tuple[Any, Vocabulary]:
        from transformers import EncoderDecoderConfig, EncoderDecoderModel

        return EncoderDecoderModel(EncoderDecoderConfig.from_pretrained(folder)), load_vocabulary(folder)

    # -- training ---------------------------------------------------------------------------------------------------

    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        return short_lesson(self._examples, train, held, self.max_length)

    def _examples(self, pairs: Sequence[Pair]) -> WriterExamples:
        """Those of the pairs that are short enough."""
        v = self.vocabulary
        read = [(v.read(pair.source).pieces, v.read(pair.target).pieces) for pair in pairs]
        rows = [
            tuple([*v.start, *pieces, *v.end] for pieces in both)
            for both in read
            if both[0] and max(map(len, both)) <= self.max_length
        ]
        sources, targets = (table([row[k] for row in rows], v.pad, self.device) for k in (0, 1))
        return WriterExamples(sources, targets, v.pad, [max(map(len, row)) for row in rows])

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        """Rewrite texts. Of one longer than `max_length` pieces only the beginning is read, the rest stays as it is."""
        return self._edit(texts, beams=self.beams)

    def _draft(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        return self._edit(texts, beams=1)

    def _edit(self, texts: Sequence[str], *, beams: int) -> list[str]:
        def found(texts: list[Text]) -> list[list[Hole]]:
            written = self._written([text.pieces for text in texts], beams)
            return [align(self.vocabulary, text, pieces) for text, pieces in zip(texts, written, strict=True)]

        at_most = CPU_BATCH if self.device.type == "cpu" else GPU_BATCH
        return edit_beginnings(self.vocabulary, texts, self.max_length, found, self._in_parts, at_most=at_most)

    @torch.inference_mode()
    def _written(self, sources: Sequence[Sequence[int]], beams: int) -> list[list[int]]:
        """What the model writes for the pieces of texts."""
        from transformers import GenerationConfig

        v = self.vocabulary
        room = self.model.decoder.config.max_position_embeddings - 1
        config = GenerationConfig(
            num_beams=beams, do_sample=False, early_stopping=beams > 1,
            max_new_tokens=min(max(map(len, sources)) + _MORE, room),
            decoder_start_token_id=v.start[0], eos_token_id=v.end[0], pad_token_id=v.pad,
        )  # fmt: skip
        ids = table([[*v.start, *pieces, *v.end] for pieces in sources], v.pad, self.device)
        with autocast(self.device):
            written = self.model.generate(ids, attention_mask=(ids != v.pad).long(), generation_config=config)
        rows = [row[1:] for row in written.tolist()]
        rows = [row[: row.index(v.end[0])] if v.end[0] in row else row for row in rows]
        return [[piece for piece in row if piece < len(v)] for row in rows]  # some models have rows to spare


def _warm_started(mlm: Any) -> Any:
    """Encoder and decoder with the weights of a BERT and its head; only the decoder's eyes on the encoder are new."""
    from transformers import BertLMHeadModel, BertModel, EncoderDecoderModel

    if mlm.config.model_type != "bert":
        raise MaskerError(f"a bert2bert starts from a BERT, not from {mlm.config.model_type}; give another `base`")
    encoder, as_decoder = BertModel(copy.deepcopy(mlm.config)), copy.deepcopy(mlm.config)
    encoder.load_state_dict(mlm.base_model.state_dict(), strict=False)  # it has a pooler besides, which goes unused
    as_decoder.is_decoder = as_decoder.add_cross_attention = True
    decoder: Any = BertLMHeadModel(as_decoder)
    decoder.load_state_dict(mlm.state_dict(), strict=False)
    for layer in decoder.bert.encoder.layer:  # a decoder that knows how to look about learns sooner where to look
        layer.crossattention.load_state_dict(layer.attention.state_dict())
    return EncoderDecoderModel(encoder=encoder, decoder=decoder)
