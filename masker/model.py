"""PaddedMLM: any Hugging Face masked LM that fills n_p masks with 0 to n_p pieces, conditioned on named domains."""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from masker.errors import MaskerError, unknown
from masker.padding import Frame
from masker.vocabulary import Vocabulary


@dataclass(frozen=True)
class SlotScores:
    """Per mask: the best allowed piece, its log-probability, and the log-probabilities of the pieces asked about."""

    best: Tensor  # [B, n_p]
    best_log_p: Tensor  # [B, n_p]
    asked_log_p: Tensor  # [B, n_p, K]


class Runtime(Protocol):
    """Where probabilities are computed. Results are on the CPU; `bias` [V] is -inf for pieces not to be infilled."""

    def __call__(
        self, ids: Tensor, attention: Tensor, slots: Tensor, asked: Tensor, bias: Tensor | None
    ) -> SlotScores: ...


@dataclass
class Settings:
    """What is saved beside the weights in masker.json.

    `domains` gives each domain its default counterpart; `window` is the longest text, in pieces, seen in training;
    `made` tells stage by stage how the model was made, and is what the model card is written from.
    """

    n_p: int = 4
    window: int = 128
    domains: dict[str, str | None] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.n_p < 1 or self.window < 4 * self.n_p:
            raise MaskerError(f"n_p is {self.n_p} and window {self.window}: need n_p >= 1 and window >= 4 n_p")

    def to_dict(self) -> dict[str, Any]:
        return {"format": 1, **asdict(self)}


class PaddedMLM(nn.Module):
    """A masked LM, its vocabulary and its settings. `forward` gives logits at the masks and nowhere else."""

    _head: Any

    def __init__(self, mlm: Any, vocabulary: Vocabulary, settings: Settings) -> None:
        super().__init__()
        self.mlm = mlm
        self.vocabulary = vocabulary
        self.settings = settings
        self._accepted = set(inspect.signature(type(mlm).forward).parameters)
        self._first_position = _first_position(mlm)
        # not registered as a submodule: its parameters are those of `mlm` already
        self.__dict__["_head"] = _without_encoder(mlm)

    @property
    def frame(self) -> Frame:
        v = self.vocabulary
        return Frame(tuple(v.start), tuple(v.end), v.mask, v.pad, self.settings.n_p)

    @property
    def domains(self) -> list[str]:
        return list(self.settings.domains)

    def forward(self, ids: Tensor, attention: Tensor, slots: Tensor) -> Tensor:
        """ids, attention [B, L], slots [B, m] -> logits [B, m, V]."""
        hidden = self.encode(ids, attention)  # [B, L, H]
        at = slots[:, :, None].expand(-1, -1, hidden.shape[-1])
        logits: Tensor = self._head(inputs_embeds=hidden.gather(1, at)).logits
        return logits[:, :, : len(self.vocabulary)]  # some models have more rows than there are pieces

    def encode(self, ids: Tensor, attention: Tensor) -> Tensor:
        inputs = {"input_ids": ids, "attention_mask": attention}
        if "position_ids" in self._accepted:
            # explicit, because some models would derive positions from the ids that are not [PAD]
            positions = torch.arange(ids.shape[1], device=ids.device) + self._first_position
            inputs["position_ids"] = positions.expand_as(ids)
        return self.mlm.base_model(**inputs)[0]

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def max_length(self) -> int:
        """The longest input that the model has positions for."""
        return int(getattr(self.mlm.config, "max_position_embeddings", 512)) - self._first_position

    # -- domains ----------------------------------------------------------------------------------------------------

    def add_domains(self, names: Sequence[str]) -> None:
        """New domains, each with a token of its own. Two domains in all become each other's counterpart."""
        known = self.settings.domains
        fresh = [name for name in names if name not in known]
        self.vocabulary.add_domains(fresh)
        known.update(dict.fromkeys(fresh))
        before = self.mlm.get_input_embeddings().num_embeddings
        if len(self.vocabulary) > before:
            self.mlm.resize_token_embeddings(len(self.vocabulary), mean_resizing=False)
            with torch.no_grad():  # as large as the other pieces', or the model is slow to notice them
                embeddings = self.mlm.get_input_embeddings().weight
                embeddings[before:] = torch.randn_like(embeddings[before:]) * embeddings[:before].std()
            self.__dict__["_head"] = _without_encoder(self.mlm)
        if len(known) == 2:
            a, b = known
            known.update({a: known[a] or b, b: known[b] or a})

    def check_domain(self, name: str) -> str:
        if name not in self.settings.domains:
            raise unknown("domain", name, self.domains)
        return name

    def counterpart(self, to: str) -> str | None:
        """The domain that texts are taken to come from when only the target is named; None for a single domain."""
        self.check_domain(to)
        if len(self.domains) == 1:
            return None
        other = self.settings.domains[to]
        if other is None:
            others = ", ".join(d for d in self.domains if d != to)
            raise MaskerError(
                f"domain '{to}' names no counterpart; say where the text comes from with --from ({others})"
            )
        return other

    # -- files ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path | None = None) -> "PaddedMLM":
        """The embedded model, a folder, or a Hugging Face id."""
        from masker._files import load

        return load(name)

    def save_pretrained(self, folder: str | Path, *, packed: bool = False) -> None:
        """Config, safetensors, tokenizer, masker.json and a model card, in the Hugging Face layout.

        `packed` stores the weights in a third of their size, in a format of Masker's own.
        """
        from masker._files import save

        save(self, Path(folder), packed=packed)

    def push_to_hub(self, repository: str, **options: Any) -> None:
        from masker._files import push

        push(self, repository, **options)


def _first_position(mlm: Any) -> int:
    """RoBERTa and MPNet count positions from their padding index on, the others from 0."""
    for name, module in mlm.base_model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


class _PassThrough(nn.Module):
    def forward(self, *args: Any, inputs_embeds: Tensor, **kwargs: Any) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=inputs_embeds)  # type: ignore[arg-type]


def _without_encoder(mlm: Any) -> Any:
    """The same masked LM with the encoder taken out: hidden states in, logits out, whatever its head is made of."""
    head = copy.copy(mlm)
    head._modules = {**mlm._modules, mlm.base_model_prefix: _PassThrough()}
    return head
