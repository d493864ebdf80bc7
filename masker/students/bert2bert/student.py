"""Bert2Bert (Rothe et al. 2019): an encoder-decoder, both halves of which start from the weights of one BERT.

It writes its target from left to right, with beam search. What it only copies is then taken from the text as it is
written, so that the case and the spacing of the words that stay are not lost in a lower-cased vocabulary.
"""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from masker.core.padding import IGNORE
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.students import training as _train
from masker.students.base import Pair, Student, StudentSettings
from masker.students.felix.holes import align, beginning, realise
from masker.training.device import autocast, choose_device
from masker.training.progress import Report
from masker.training.settings import require

EVALUATED = 200  # held-out pairs that are rewritten at an evaluation, at most: writing piece by piece takes its time
CPU_BATCH, GPU_BATCH = 256, 1024  # texts that are rewritten at a time
_MORE = 16  # pieces by which a rewriting may be longer than its source


class Bert2Bert(Student):
    """Transformers' EncoderDecoderModel. `beams` is the width of the search, 1 for the best piece at every step."""

    kind = "bert2bert"

    def __init__(self, model: Any, vocabulary: Vocabulary, *, max_length: int, beams: int, device: str | None) -> None:
        self.device = choose_device(device)
        self.model = model.to(self.device).eval()
        self.vocabulary = vocabulary
        frame, positions = len(vocabulary.start) + len(vocabulary.end), model.encoder.config.max_position_embeddings
        self.max_length = min(max_length, positions - frame)
        self.beams = beams
        self.card: dict[str, Any] = {}

    @classmethod
    def create(
        cls,
        base: str | Path | None,
        pairs: Sequence[Pair],
        *,
        settings: StudentSettings,
        beams: int = 4,
        **options: Any,
    ) -> "Bert2Bert":
        if options:
            raise MaskerError(f"a bert2bert has no option '{next(iter(options))}'")
        require("beams", beams, at_least=1)
        start = _train.load_base(base)
        torch.manual_seed(settings.seed)
        model = _warm_started(start.mlm)
        student = cls(model, start.vocabulary, max_length=settings.max_length, beams=beams, device=settings.device)
        student.card = {
            "base": "embedded" if base is None else str(base), "beams": beams,
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
        lengths, loss = self._loss(train)
        held_lengths, held_loss = self._loss(held)
        if not lengths:
            raise MaskerError(f"all {len(train)} pairs are longer than {self.max_length} pieces; raise max_length")

        @torch.inference_mode()
        def evaluate() -> _train.Score:
            total = 0.0
            for part in torch.arange(len(held_lengths), device=self.device).split(64):
                with autocast(self.device):
                    total += float(held_loss(part, max(held_lengths))) * len(part)
            return _train.score(lambda texts: self._edit(texts, beams=1), held, total / max(1, len(held_lengths)))

        made = _train.train(
            self.model, lengths, loss, evaluate if held else None,
            settings=settings, device=self.device, report=report,
        )  # fmt: skip
        made = {
            "pairs": len(train), "too_long": len(train) - len(lengths), "used": len(lengths), "held_out": len(held),
            **made, "batch_size": settings.batch_size, "lr": settings.lr, "seed": settings.seed,
        }  # fmt: skip
        self.card.setdefault("made", []).append(made)
        return made

    def _loss(self, pairs: Sequence[Pair]) -> tuple[list[int], Callable[[Tensor, int], Tensor]]:
        """Lengths of the pairs that are short enough, and the mean loss of some of them by index."""
        v = self.vocabulary
        read = [(v.read(pair.source).pieces, v.read(pair.target).pieces) for pair in pairs]
        rows = [
            tuple([*v.start, *pieces, *v.end] for pieces in both)
            for both in read
            if both[0] and max(map(len, both)) <= self.max_length
        ]
        sources = _train.padded([row[0] for row in rows], v.pad, self.device)
        targets = _train.padded([row[1] for row in rows], v.pad, self.device)

        def loss(at: Tensor, longest: int) -> Tensor:
            ids, given = sources[at, :longest], targets[at, :longest]
            wanted = given[:, 1:].masked_fill(given[:, 1:] == v.pad, IGNORE)
            logits = self.model(
                input_ids=ids, attention_mask=(ids != v.pad).long(), decoder_input_ids=given[:, :-1], use_cache=False
            ).logits  # [B, T, V]; a decoder sees nothing to its right, so its [PAD]s need no mask
            return cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORE)

        return [max(map(len, row)) for row in rows], loss

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str]) -> list[str]:
        """Rewrite texts. Of one longer than `max_length` pieces only the beginning is read, the rest stays as it is."""
        return self._edit(texts, beams=self.beams)

    def _edit(self, texts: Sequence[str], *, beams: int) -> list[str]:
        read = [self.vocabulary.read(text) for text in texts]
        seen = [beginning(text, self.max_length) for text in read]
        order = sorted((i for i in range(len(read)) if seen[i].words), key=lambda i: len(seen[i].pieces))
        results = list(texts)
        size = CPU_BATCH if self.device.type == "cpu" else GPU_BATCH
        for at in range(0, len(order), size):
            part = order[at : at + size]
            for i, pieces in zip(part, self._written([seen[i].pieces for i in part], beams), strict=True):
                holes = align(self.vocabulary, seen[i], pieces)
                results[i] = realise(self.vocabulary, read[i], holes)
        return results

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
        ids = _train.padded([[*v.start, *pieces, *v.end] for pieces in sources], v.pad, self.device)
        with autocast(self.device):
            written = self.model.generate(ids, attention_mask=(ids != v.pad).long(), generation_config=config)
        rows = [row[1:] for row in written.tolist()]
        rows = [row[: row.index(v.end[0])] if v.end[0] in row else row for row in rows]
        return [[piece for piece in row if piece < len(v)] for row in rows]  # some models have rows to spare

    # -- files ------------------------------------------------------------------------------------------------------

    def _save(self, folder: Path) -> dict[str, Any]:
        self.model.config.save_pretrained(folder)
        self.vocabulary.tokenizer.save_pretrained(folder)
        _train.save_weights(self.model, folder)
        return {"max_length": self.max_length, "beams": self.beams}

    @classmethod
    def _load(cls, folder: Path, fields: dict[str, Any], device: str | None) -> "Bert2Bert":
        from transformers import AutoTokenizer, EncoderDecoderConfig, EncoderDecoderModel

        model = EncoderDecoderModel(EncoderDecoderConfig.from_pretrained(folder))
        _train.load_weights(model, folder)
        vocabulary = Vocabulary(AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False))
        return cls(model, vocabulary, max_length=fields["max_length"], beams=fields["beams"], device=device)


def _warm_started(mlm: Any) -> Any:
    """Encoder and decoder with the weights of a BERT and its head; only the decoder's eyes on the encoder are new."""
    from transformers import BertLMHeadModel, BertModel, EncoderDecoderModel

    if mlm.config.model_type != "bert":
        raise MaskerError(f"a bert2bert starts from a BERT, not from {mlm.config.model_type}; give another base")
    encoder, as_decoder = BertModel(copy.deepcopy(mlm.config)), copy.deepcopy(mlm.config)
    encoder.load_state_dict(mlm.base_model.state_dict(), strict=False)  # it has a pooler besides, which goes unused
    as_decoder.is_decoder = as_decoder.add_cross_attention = True
    decoder: Any = BertLMHeadModel(as_decoder)
    decoder.load_state_dict(mlm.state_dict(), strict=False)
    for layer in decoder.bert.encoder.layer:  # a decoder that knows how to look about learns sooner where to look
        layer.crossattention.load_state_dict(layer.attention.state_dict())
    return EncoderDecoderModel(encoder=encoder, decoder=decoder)
