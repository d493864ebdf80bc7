"""The transformer judge: an encoder fine-tuned to tell domains apart."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from masker.model.pretrained import quiet
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge, Labelled, OnStep, Training


class TransformerJudge(Judge):
    """Any Hugging Face encoder with a classification head."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str | None = None) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model, self.tokenizer = model.to(self.device).eval(), tokenizer

    @classmethod
    def _fit(
        cls, train: Labelled, dev: Labelled, domains: tuple[str, ...], training: Training, on_step: OnStep | None
    ) -> tuple[Judge, dict[str, Any]]:
        if training.base is None:
            raise MaskerError("a transformer judge needs an encoder to start from; give its folder with --base")
        torch.manual_seed(training.seed)
        names = {"id2label": dict(enumerate(domains)), "label2id": {domain: i for i, domain in enumerate(domains)}}
        judge = cls._open(training.base, device=training.device, num_labels=len(domains), **names)
        judge.tokenizer.model_max_length = training.max_length
        best_epoch = judge._train(train, dev, training, on_step)
        kept = ("epochs", "batch_size", "learning_rate", "warmup", "max_length", "seed")
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
        ids, lengths = self._encode(texts)
        for chosen in np.array_split(np.argsort(lengths, kind="stable"), max(1, -(-len(texts) // 512))):
            if len(chosen):
                result[chosen] = self._logits(ids, lengths, chosen).log_softmax(-1).double().cpu().numpy()
        return result

    def _train(self, train: Labelled, dev: Labelled, training: Training, on_step: OnStep | None) -> int:
        """Fine-tune with AdamW, linear warm-up and decay; keep the weights of the best epoch on dev and return it."""
        ids, lengths = self._encode(train.texts)
        labels = torch.from_numpy(train.labels).to(self.device)
        # Balanced, because corpora differ in size but texts to be judged come from any domain alike.
        counts = np.bincount(train.labels, minlength=self.model.config.num_labels)
        weight = torch.tensor(len(labels) / (len(counts) * counts), dtype=torch.float32, device=self.device)
        steps = training.epochs * -(-len(labels) // training.batch_size)
        ramp = max(1, round(training.warmup * steps))
        optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=training.learning_rate, weight_decay=0.01, fused=self.device.type == "cuda"
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / ramp, max(0.0, (steps - step) / max(1, steps - ramp)))
        )
        random = np.random.default_rng(training.seed)
        best: tuple[float, int, dict[str, Tensor]] = (-1.0, 0, {})
        step = 0
        for epoch in range(1, training.epochs + 1):
            self.model.train()
            for chosen in _batches(lengths, training.batch_size, random):
                logits = self._logits(ids, lengths, chosen)
                loss = nn.functional.cross_entropy(logits, labels[torch.from_numpy(chosen).to(self.device)], weight)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                schedule.step()
                step += 1
                if on_step:
                    on_step(step, steps)
            self.model.eval()
            accuracy = dev.accuracy(self._log_probs(dev.texts))
            if accuracy > best[0]:
                best = (accuracy, epoch, {name: t.detach().clone() for name, t in self.model.state_dict().items()})
        self.model.load_state_dict(best[2])
        return best[1]

    def _encode(self, texts: Sequence[str]) -> tuple[Tensor, np.ndarray]:
        """All texts as one padded matrix of ids [n, longest] on the device, and their lengths [n]."""
        rows = self.tokenizer(list(texts), truncation=True)["input_ids"] if texts else []
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        padded = np.full((len(rows), lengths.max(initial=1)), self.tokenizer.pad_token_id, dtype=np.int64)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded).to(self.device), lengths

    def _logits(self, ids: Tensor, lengths: np.ndarray, chosen: np.ndarray) -> Tensor:
        """Logits [B, domains] of the chosen rows, padded to the longest of them only."""
        size = torch.from_numpy(lengths[chosen]).to(self.device)
        rows = ids[torch.from_numpy(chosen).to(self.device), : int(lengths[chosen].max())]  # [B, L]
        mask = torch.arange(rows.shape[1], device=self.device)[None] < size[:, None]
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            return self.model(input_ids=rows, attention_mask=mask.long()).logits.float()


def _batches(lengths: np.ndarray, size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Row numbers in random batches of about equal length: little padding, and every row once."""
    order = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), 64 * size):
        pool = order[start : start + 64 * size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    yield from (batches[i] for i in random.permutation(len(batches)))
