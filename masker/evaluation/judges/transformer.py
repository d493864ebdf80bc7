"""The transformer judge: an encoder fine-tuned to tell domains apart."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from masker.core.batching import by_length, padded
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge, Labelled, OnStep, Training
from masker.model.folder import PACKED
from masker.model.pretrained import quiet
from masker.runtime.memory import InParts
from masker.training.device import autocast, choose_device
from masker.training.loop import teach
from masker.training.progress import Progress, Score
from masker.training.task import RowsTask

BATCH_TOKENS = 16_384  # of texts to be judged at a time, padding included


class TransformerJudge(Judge):
    """Any Hugging Face encoder with a classification head."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str | None = None) -> None:
        self.device = choose_device(device)
        self.model, self.tokenizer = model.to(self.device).eval(), tokenizer
        self._in_parts = InParts()

    @classmethod
    def _fit(
        cls, train: Labelled, dev: Labelled, domains: tuple[str, ...], training: Training, on_step: OnStep | None
    ) -> tuple[Judge, dict[str, Any]]:
        torch.manual_seed(training.seed)
        names = {"id2label": dict(enumerate(domains)), "label2id": {domain: i for i, domain in enumerate(domains)}}
        with _base(training.base) as folder:
            judge = cls._open(folder, device=training.device, num_labels=len(domains), **names)
        judge.tokenizer.model_max_length = training.max_length
        best_epoch = judge._train(train, dev, training, on_step)
        kept = ("epochs", "batch_size", "lr", "warmup", "max_length", "seed")
        return judge, {name: getattr(training, name) for name in kept} | {"best_epoch": best_epoch}

    @classmethod
    def _load(cls, folder: Path) -> Judge:
        return cls._open(folder)

    @classmethod
    def _open(cls, folder: str | Path, *, device: str | None = None, **options: Any) -> "TransformerJudge":
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        options |= {"use_safetensors": True, "dtype": torch.float32}
        with quiet():
            try:
                model = AutoModelForSequenceClassification.from_pretrained(folder, **options)
                return cls(model, AutoTokenizer.from_pretrained(folder), device=device)
            except (OSError, ValueError) as error:
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise MaskerError(f"cannot load a transformer from {folder}: {reason}") from error

    def _save(self, folder: Path) -> None:
        with quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @torch.inference_mode()
    def _log_probs(self, texts: list[str]) -> np.ndarray:
        result = np.zeros((len(texts), self.model.config.num_labels))
        rows = self._encode(texts)
        for chosen in by_length([len(row) for row in rows], BATCH_TOKENS):
            tables = padded([rows[i] for i in chosen], self.tokenizer.pad_token_id)
            inputs = (torch.from_numpy(table).to(self.device) for table in tables)
            (found,) = self._in_parts(lambda *part: (self._logits(*part).log_softmax(-1),), *inputs)
            result[chosen] = found.double().cpu().numpy()
        return result

    def _train(self, train: Labelled, dev: Labelled, training: Training, on_step: OnStep | None) -> int:
        """Fine-tune; keep the weights of the best epoch on dev and return its number."""
        rows = self._encode(train.texts)
        lengths = np.array([len(row) for row in rows])
        ids = torch.from_numpy(padded(rows, self.tokenizer.pad_token_id)[0]).to(self.device)  # [N, L]
        sizes, labels = (torch.from_numpy(values).to(self.device) for values in (lengths, train.labels))
        # Balanced, because corpora differ in size but texts to be judged come from any domain alike.
        counts = np.bincount(train.labels, minlength=self.model.config.num_labels)
        weight = torch.tensor(len(labels) / (len(counts) * counts), dtype=torch.float32, device=self.device)

        def loss(chosen: Tensor, longest: int) -> Tensor:
            inside = (torch.arange(longest, device=self.device) < sizes[chosen, None]).long()
            return cross_entropy(self._logits(ids[chosen, :longest], inside), labels[chosen], weight)

        def measure() -> Score:
            return Score(dev.accuracy(self._log_probs(dev.texts)), loss=0.0)

        def report(progress: Progress) -> None:
            if on_step:
                on_step(progress.step, progress.steps)

        epoch = max(1, len(rows) // training.batch_size)
        task = RowsTask(self.model, lengths, loss, measure, self.device)
        settings = replace(training, eval_every=training.eval_every or epoch)
        return -(-teach(task, settings, report_every=1, report=report).best_step // epoch)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encoded: list[list[int]] = self.tokenizer(list(texts), truncation=True)["input_ids"] if texts else []
        return encoded

    def _logits(self, ids: Tensor, inside: Tensor) -> Tensor:
        """[B, L], [B, L] -> logits [B, domains]."""
        with autocast(self.device):
            logits: Tensor = self.model(input_ids=ids, attention_mask=inside).logits
        return logits.float()


@contextmanager
def _base(name: str | Path | None) -> Iterator[str | Path]:
    """The folder or id of an encoder; without a name that of the embedded model, which has to be unpacked first."""
    if name is not None and not (Path(name).expanduser() / PACKED).is_file():
        yield name
        return
    from masker.model.padded_mlm import PaddedMLM

    with tempfile.TemporaryDirectory() as folder, quiet():
        model = PaddedMLM.from_pretrained(name)
        model.mlm.save_pretrained(folder)
        model.vocabulary.tokenizer.save_pretrained(folder)
        yield folder
