"""A causal LM as a student: it reads the text and the name of a domain, and writes the text anew.

It is best taught backwards: what Masker has made of a person's sentence is what it reads, and the sentence is what it
learns to write (`masker silver --reverse`), so that it has only ever seen people's sentences as targets. It reads and
writes texts as people do (`core.prose`); what it writes is put into the text as it came in, as edits.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.batching import by_length, padded
from masker.core.edits import Rewrite
from masker.core.prose import as_written, rewritten
from masker.errors import MaskerError
from masker.model.causal import CausalVocabulary, load_causal, window_of
from masker.model.reader import shown
from masker.model.settings import SearchSettings
from masker.runtime.reader import Reader, next_log_p
from masker.students.base import Pair, StudentSettings, check_target
from masker.students.network import table
from masker.students.training import Lesson, TorchStudent, short_lesson
from masker.training.device import autocast
from masker.training.settings import require

# of the texts that are rewritten at a time, padding included; the logits of all pieces are kept until they are written
CPU_TOKENS, GPU_TOKENS = 1024, 8192
_MORE = 16  # pieces by which a rewriting may be longer than its source
_NAME = 32  # pieces that are left for the domain's name


@dataclass(frozen=True)
class LMExamples:
    """Sources and targets one after the other, as tensors on the device; only the targets are learnt."""

    ids: Tensor  # [N, L]
    first: Tensor  # [N] of the target
    ends: Tensor  # [N]
    lengths: list[int]

    def loss(self, model: Any, rows: Tensor, longest: int) -> Tensor:
        """The mean over the pieces of the targets."""
        ids = self.ids[rows, :longest]
        at = torch.arange(1, longest, device=ids.device)
        learnt = (at >= self.first[rows, None]) & (at < self.ends[rows, None])
        return -(next_log_p(model, ids) * learnt).sum() / learnt.sum()


@dataclass(frozen=True)
class Beam:
    """What the student has written for a text, and how likely that is: the mean over its pieces, in nats."""

    written: str
    log_p: float


class LMStudent(TorchStudent):
    """Any causal LM of Transformers'. A `reader`, if there is one, helps to choose among the beams.

    Option of `create`: `beams`, the width of the search; 1 takes the best piece at every step.
    """

    kind = "lm"
    evaluated = 200  # to write piece by piece takes its time
    vocabulary: CausalVocabulary
    reader: Reader | None = None

    def __init__(
        self, model: Any, vocabulary: CausalVocabulary, *, max_length: int, beams: int, targets: Sequence[str],
        device: str | None,
    ) -> None:  # fmt: skip
        super().__init__(model, vocabulary, device)
        self.max_length = (window_of(model, 2 * max_length + _NAME) - _NAME) // 2
        self.beams, self.targets = beams, tuple(targets)

    @classmethod
    def _create(
        cls, base: str | Path | None, pairs: Sequence[Pair], settings: StudentSettings, *, beams: int = 5
    ) -> "LMStudent":
        require("beams", beams, at_least=1)
        if base is None:
            raise MaskerError("a causal LM has to be named to start from; give its folder or Hugging Face id as `base`")
        model, vocabulary = load_causal(base)
        targets = sorted({pair.to for pair in pairs} - {""})
        student = cls(
            model, vocabulary, max_length=settings.max_length, beams=beams, targets=targets, device=settings.device
        )
        size = sum(p.numel() for p in model.parameters())
        student.card = {"base": str(base), "beams": beams, "parameters": size, "made": []}
        return student

    @classmethod
    def _network(cls, mlm: Any, vocabulary: Any, fields: dict[str, Any]) -> Any:
        raise NotImplementedError  # it is no masked LM

    def _fields(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "beams": self.beams, "targets": list(self.targets)}

    @classmethod
    def _shape(cls, folder: Path, fields: dict[str, Any], owner: Path | None) -> tuple[Any, Any]:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
        return model, CausalVocabulary(tokenizer)

    # -- training ---------------------------------------------------------------------------------------------------

    def _lesson(self, train: Sequence[Pair], held: Sequence[Pair], settings: StudentSettings) -> Lesson:
        return short_lesson(self._examples, train, held, self.max_length)

    def _examples(self, pairs: Sequence[Pair]) -> LMExamples:
        """Those of the pairs that are short enough."""
        v = self.vocabulary
        prompts = self._prompts([(pair.source, pair.to) for pair in pairs])
        targets = [[*pieces, v.end] for pieces in v.many([shown(pair.target) for pair in pairs])]
        short = [
            (prompt, target)
            for prompt, target in zip(prompts, targets, strict=True)
            if max(len(prompt) - _NAME, len(target)) <= self.max_length
        ]
        rows = [[*prompt, *target] for prompt, target in short]
        lengths = [len(row) for row in rows]
        first = torch.tensor([len(prompt) for prompt, _ in short], device=self.device)
        return LMExamples(table(rows, v.end, self.device), first, torch.tensor(lengths, device=self.device), lengths)

    def _prompts(self, texts: Sequence[tuple[str, str]]) -> list[list[int]]:
        """What stands before the rewriting: the text, and on a line of its own the domain."""
        v = self.vocabulary
        asked = [f"{as_written(' '.join(source.split()))}\n{to or 'rewritten'}:" for source, to in texts]
        return [[v.start, *pieces] for pieces in v.many(asked)]

    # -- editing ----------------------------------------------------------------------------------------------------

    def edit(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        """Rewrite texts; one of more than `max_length` pieces stays as it is."""
        return [rewrite.text for rewrite in self.rewrites(texts, to)]

    def rewrites(self, texts: Sequence[str], to: str | None = None) -> list[Rewrite]:
        chosen = self._chosen(texts, self.write(texts, to), to)
        return [
            rewritten(text, beam.written, from_=None, to=to or "", score=math.exp(beam.log_p))
            if beam
            else Rewrite(text, text, None, to or "", reason="too long for the student" if text.strip() else "no words")
            for text, beam in zip(texts, chosen, strict=True)
        ]

    def use_reader(self, reader: Reader) -> None:
        self.reader = reader

    def _draft(self, texts: Sequence[str], to: str | None = None) -> list[str]:
        found = self.write(texts, to, beams=1)
        return [
            rewritten(text, beams[0].written, from_=None, to="", score=1.0).text if beams else text
            for text, beams in zip(texts, found, strict=True)
        ]

    def _chosen(self, texts: Sequence[str], beams: Sequence[Sequence[Beam]], to: str | None) -> list[Beam | None]:
        """The best beam of each text: by itself the likeliest, with a reader by what that makes of it, too."""
        if self.reader is None:
            return [next(iter(some), None) for some in beams]
        owner = [k for k, some in enumerate(beams) for _ in some]
        flat = [beam for some in beams for beam in some]
        worth = self._worth([as_written(texts[k]) for k in owner], flat, to or "") if flat else np.zeros(0)
        chosen: list[Beam | None] = [None] * len(texts)
        for i in np.argsort(worth, kind="stable").tolist():  # the best one last
            chosen[owner[i]] = flat[i]
        return chosen

    def _worth(self, sources: Sequence[str], beams: Sequence[Beam], to: str) -> np.ndarray:
        """[N] how good rewritings are, weighed as the search editor weighs its drafts."""
        assert self.reader
        s = SearchSettings()
        likelihood, odds = self.reader.compare(sources, [beam.written for beam in beams], to)
        own = np.array([beam.log_p * len(source.split()) for source, beam in zip(sources, beams, strict=True)])
        kept = np.array([_kept(source, beam.written) for source, beam in zip(sources, beams, strict=True)])
        worth = s.reader_likelihood * likelihood + s.reader_odds * np.minimum(0.0, odds - s.reader_margin)
        return np.asarray(own + worth + s.reader_kept * kept)

    def write(self, texts: Sequence[str], to: str | None = None, *, beams: int | None = None) -> list[list[Beam]]:
        """What it would write for texts, as people write: the likeliest first; nothing for what is too long."""
        check_target(self.targets, to)
        prompts = self._prompts([(text, to or "") for text in texts])
        lengths = np.array([len(prompt) for prompt in prompts], np.int64)
        short = lengths - _NAME <= self.max_length
        fits = np.array([k for k, text in enumerate(texts) if text.strip() and short[k]], np.int64)
        found: list[list[Beam]] = [[] for _ in texts]
        beams, tokens = beams or self.beams, GPU_TOKENS if self.device.type == "cuda" else CPU_TOKENS
        for chosen in by_length(lengths, max(1, tokens // beams), fits):
            asked, longest = [prompts[k] for k in chosen], int(lengths[chosen[0]])
            written = self._in_parts.rows(lambda part: self._generate(part, beams), asked, longest)
            for k, some in zip(chosen.tolist(), written, strict=True):
                found[k] = some
        return found

    @torch.inference_mode()
    def _generate(self, prompts: Sequence[Sequence[int]], beams: int) -> list[list[Beam]]:
        from transformers import GenerationConfig

        v = self.vocabulary
        config = GenerationConfig(
            num_beams=beams, num_return_sequences=beams, do_sample=False, early_stopping=beams > 1,
            max_new_tokens=max(map(len, prompts)) + _MORE, return_dict_in_generate=True, output_scores=True,
            bos_token_id=v.start, eos_token_id=v.end, pad_token_id=v.end, use_cache=True,
        )  # fmt: skip
        turned, inside = padded([prompt[::-1] for prompt in prompts], v.end)  # filled up on the left
        ids, attention = (torch.from_numpy(x[:, ::-1].copy()).to(self.device) for x in (turned, inside))
        with autocast(self.device):
            out = self.model.generate(ids, attention_mask=attention, generation_config=config)
        written = out.sequences[:, ids.shape[1] :]
        if beams > 1:
            scores = out.sequences_scores
        else:
            log_p = self.model.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
            ends = (written == v.end).long()
            real = ends.cumsum(1) - ends == 0  # up to the first end
            scores = log_p.masked_fill(~real, 0.0).sum(1) / real.sum(1)
        some = [Beam(v.text(row), score) for row, score in zip(written.tolist(), scores.tolist(), strict=True)]
        return [_distinct(some[k : k + beams]) for k in range(0, len(some), beams)]


def _distinct(beams: Sequence[Beam]) -> list[Beam]:
    """Each text once, and none that is empty."""
    return list({beam.written: beam for beam in reversed(beams) if beam.written}.values())[::-1]


def _kept(source: str, written: str) -> float:
    """The share of a text's words that are kept."""
    old, new = (Counter(text.lower().split()) for text in (source, written))
    return (old & new).total() / max(1, old.total())
