"""Fluency: log-likelihood per word in nats, under any language model that can say how likely a text is."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from masker.core.batching import by_length, padded
from masker.errors import MaskerError
from masker.evaluation import fluency_ngram
from masker.evaluation.fluency_ngram import NgramLM
from masker.evaluation.tally import Tally, ratio
from masker.model.folder import has_settings, one_line, read_config

if TYPE_CHECKING:
    from torch import Tensor

    from masker.core.padding import Masked
    from masker.model.padded_mlm import PaddedMLM

__all__ = [
    "CausalLM",
    "LanguageModel",
    "MaskedLM",
    "NgramLM",
    "PaddedLM",
    "fluency",
    "fluency_tally",
    "load_language_model",
]


class LanguageModel(Protocol):
    """What `fluency` needs to know of a model."""

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """ln P of each whole text."""
        ...


def fluency(texts: Sequence[str], model: "LanguageModel | str | Path") -> float:
    """Log-likelihood per word (white space delimits words); `model` may be a folder, as for load_language_model."""
    return float(fluency_tally(texts, model).figures(np.ones((1, len(texts))))[0])


def fluency_tally(texts: Sequence[str], model: "LanguageModel | str | Path") -> Tally:
    """The same, ready to be resampled."""
    if isinstance(model, str | Path):
        model = load_language_model(model)
    return ratio(model.log_likelihoods(texts), [len(text.split()) for text in texts])


def load_language_model(folder: str | Path | None = None, *, device: str | None = None) -> LanguageModel:
    """The embedded model, or what a folder holds: one of Masker's, an NgramLM, a causal or masked Hugging Face LM."""
    if folder is None or has_settings(folder):
        from masker.model.padded_mlm import PaddedMLM

        return PaddedLM(PaddedMLM.from_pretrained(folder), device=device)
    if (Path(folder) / fluency_ngram.CARD).is_file():
        return NgramLM.from_pretrained(folder)
    from transformers import AutoConfig

    if not (Path(folder) / "config.json").is_file():
        raise MaskerError(
            f"no language model at {folder}; give a folder of Masker's, of 'masker judge lm', or one with a config.json"
        )
    read_config(Path(folder))
    with one_line(f"cannot load the language model at {folder}; save it again, or name another folder"):
        names = [str(name) for name in AutoConfig.from_pretrained(folder).architectures or []]
        if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names):
            return CausalLM(folder, device=device)
        if any(name.endswith("ForMaskedLM") for name in names):
            return MaskedLM(folder, device=device)
    raise MaskerError(
        f"{folder} is neither a causal nor a masked LM; its config.json names {', '.join(names) or 'none'}"
    )


class Asked(NamedTuple):
    """A row of tokens, and tokens that are asked about at some places of it."""

    row: list[int]
    at: Sequence[int]
    tokens: list[int]


class _Transformer:
    """What both kinds share: loading from safetensors, and log-likelihoods of tokens in padded batches."""

    auto_class: str
    batch_tokens = 2048  # at a time, padding included: every one of them has log-probabilities of a whole vocabulary

    def __init__(self, folder: str | Path, *, device: str | None = None) -> None:
        import transformers

        from masker.model.pretrained import quiet
        from masker.runtime.memory import InParts
        from masker.training.device import choose_device

        self.device, self._in_parts = choose_device(device), InParts()
        with quiet():
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
            loader = getattr(transformers, self.auto_class)
            self.model: Any = loader.from_pretrained(folder, use_safetensors=True).to(self.device).eval()

    def _sums(self, asked: Sequence[Asked]) -> list[float]:
        """What the log-probabilities of the tokens that are asked about sum up to."""
        found, lengths = [0.0] * len(asked), [len(each.row) for each in asked]
        for chosen in by_length(lengths, self.batch_tokens):
            some = self._in_parts.rows(self._batch, [asked[i] for i in chosen], lengths[chosen[0]])
            for i, log_p in zip(chosen.tolist(), some, strict=True):
                found[i] = log_p
        return found

    def _batch(self, asked: Sequence[Asked]) -> list[float]:
        import torch

        tables = padded([each.row for each in asked], 0)
        ids, inside = (torch.from_numpy(table).to(self.device) for table in tables)  # [B, L]
        with torch.inference_mode():
            logits = self.model(input_ids=ids, attention_mask=inside).logits
            pairs = zip(asked, logits, strict=True)
            return [float(of.float().log_softmax(-1)[each.at, each.tokens].double().sum()) for each, of in pairs]


class CausalLM(_Transformer):
    """ln P(text) = sum of ln P(token | tokens before it), with a beginning-of-text token in front."""

    auto_class = "AutoModelForCausalLM"

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """ln P of each whole text."""
        start = self.tokenizer.bos_token_id
        start = self.tokenizer.eos_token_id if start is None else start
        if start is None:
            raise MaskerError("the language model's tokenizer has neither a bos nor an eos token to start a text with")
        rows = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return self._sums([Asked([start, *row], range(len(row)), row) for row in rows])


class MaskedLM(_Transformer):
    """Pseudo-likelihood (Salazar et al. 2020): sum of ln P(token | all others), each token masked in its turn."""

    auto_class = "AutoModelForMaskedLM"

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """The pseudo-log-likelihood of each whole text."""
        asked, of_text = list[Asked](), list[int]()
        for number, text in enumerate(texts):
            ids = self.tokenizer(text)["input_ids"]
            special = self.tokenizer.get_special_tokens_mask(ids, already_has_special_tokens=True)
            for position in (p for p, s in enumerate(special) if not s):
                row = [*ids[:position], self.tokenizer.mask_token_id, *ids[position + 1 :]]
                asked.append(Asked(row, [position], [ids[position]]))
                of_text.append(number)
        sums = [0.0] * len(texts)
        for number, log_p in zip(of_text, self._sums(asked), strict=True):
            sums[number] += log_p
        return sums


class PaddedLM:
    """Pseudo-likelihood under one of Masker's models: sum of ln P(word | the words around it), as in the paper's L.

    Each word gives way to n_p masks, as in training, whose targets are its pieces and then [PAD]s, so a word is likely
    only where neither more nor less is wanted. Words of more pieces are masked n_p of them at a time. P(word) is the
    mean over the model's domains, so that a text loses nothing by its style.
    """

    def __init__(self, model: "PaddedMLM", *, device: str | None = None) -> None:
        from masker.runtime.memory import InParts
        from masker.training.device import choose_device

        self.model: PaddedMLM = model.to(choose_device(device)).eval()
        self._in_parts = InParts()
        self.batch_tokens = 2048 if self.model.device.type == "cpu" else 65_536

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """The pseudo-log-likelihood of each whole text."""
        import torch

        from masker.core.padding import mask_spans

        model, frame, window = self.model, self.model.frame, self.model.settings.window
        domains = [model.vocabulary.domain(name) for name in model.domains]
        flat, rows, of_text = [0], [], []
        for number, text in enumerate(map(model.vocabulary.read, texts)):
            at, size = len(flat), len(text.pieces)
            flat.extend(text.pieces)
            for left, right in pairwise(text.bounds):
                for start in range(left, right, frame.n_p):
                    width = min(frame.n_p, right - start)
                    first = max(0, min(start + (width - window) // 2, size - window))  # the word amid its window
                    rows.append((at + first, at + min(size, first + window), at + start, width))
                    of_text.append(number)
        sums = np.zeros(len(texts))
        pieces, table = torch.tensor(flat), torch.tensor(rows, dtype=torch.long).reshape(-1, 4)
        lengths = (table[:, 1] - table[:, 0]).numpy() + frame.n_p + 3
        for chosen in by_length(lengths, self.batch_tokens):
            lo, hi, starts, widths = table[torch.from_numpy(chosen)].unbind(1)
            masked = mask_spans(pieces, lo, hi, starts[:, None], widths[:, None], frame, domain=bool(domains))
            inputs = [masked.with_domain(token) for token in domains] or [masked.ids]
            found = torch.stack([self._log_probs(ids, masked) for ids in inputs])  # [domains, B]
            np.add.at(sums, np.array(of_text)[chosen], (found.logsumexp(0) - np.log(len(inputs))).numpy())
        return sums.tolist()

    def _log_probs(self, ids: "Tensor", masked: "Masked") -> "Tensor":
        """ln P of the targets of each row [B], summed over its masks."""
        import torch

        def sums(ids: "Tensor", attention: "Tensor", slots: "Tensor", targets: "Tensor") -> tuple["Tensor"]:
            logits = self.model(ids, attention, slots).float()  # [B, n_p, V]
            chosen = logits.gather(2, targets[:, :, None])[:, :, 0] - logits.logsumexp(-1)
            return (chosen.double().sum(1),)

        inputs = (table.to(self.model.device) for table in (ids, masked.attention, masked.slots, masked.targets))
        with torch.inference_mode():
            return self._in_parts(sums, *inputs)[0].cpu()
