"""PaddedMLM: any Hugging Face masked LM that fills n_p masks with 0 to n_p pieces, conditioned on named domains."""

import copy
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.last_layer import Attend, last_layer, plain, without_last_layer
from masker.model.settings import Settings, WithDomains

EMBEDDINGS = "embeddings"  # the part of an encoder's body, in all families that have one


class PaddedMLM(nn.Module, WithDomains):
    """A masked LM, its vocabulary and its settings. `forward` gives logits at the masks and nowhere else.

    `style`, where it has been fitted, tells the domains of whole texts apart: one layer on the encoder's first vector.
    `bag_of_words` gives a second opinion, from the words alone.
    """

    _head: Any
    style: nn.Linear | None
    bag_of_words: BagOfWords | None
    attend: Attend = staticmethod(plain)  # in the last layer, where that is computed for some positions only

    def __init__(self, mlm: Any, vocabulary: Vocabulary, settings: Settings) -> None:
        super().__init__()
        self.mlm = mlm
        self.vocabulary = vocabulary
        self.settings = settings
        self.style = self.bag_of_words = self.folder = None
        self._accepted = set(inspect.signature(type(mlm).forward).parameters)
        self._first_position = _first_position(mlm)
        self._renew_head()

    def _renew_head(self) -> None:
        # not registered as a submodule: its parameters are those of `mlm` already
        self.__dict__["_head"] = _without_encoder(self.mlm)
        self._pieces = len(self.vocabulary)

    def forward(self, ids: Tensor, attention: Tensor, slots: Tensor) -> Tensor:
        """ids, attention [B, L], slots [B, m] -> logits [B, m, V]."""
        return self.logits(self.at(ids, attention, slots))

    def logits(self, hidden: Tensor) -> Tensor:
        """[B, m, H] -> [B, m, V]."""
        logits: Tensor = self._head(inputs_embeds=hidden).logits
        return logits[:, :, : self._pieces]  # some models have more rows than there are pieces

    def at(self, ids: Tensor, attention: Tensor, slots: Tensor, *, domain: bool = True) -> Tensor:
        """The encoder's vectors at slots [B, m] -> [B, m, H]. The last layer computes no others where it is BERT's."""
        short = not self.training and self.mlm.config.model_type in ("bert", "roberta")
        hidden = self.encode(ids, attention, domain=domain, short=short)  # [B, L, H]
        here = hidden.gather(1, slots[:, :, None].expand(-1, -1, hidden.shape[-1]))
        if not short:
            return here
        return last_layer(self.mlm.base_model.encoder.layer[-1], here, hidden, attention, self.attend)

    def encode(self, ids: Tensor, attention: Tensor, *, domain: bool = True, short: bool = False) -> Tensor:
        """[B, L, H]; `domain` is whether the ids have a domain's token in them, if the model has domains.

        `short` leaves the last layer out.
        """
        inputs = {"input_ids": ids, "attention_mask": attention}
        if self.settings.domain_as == "embedding" and self.domains and domain:
            inputs = {"inputs_embeds": self._embedded(ids), "attention_mask": attention}
        if "position_ids" in self._accepted:
            # explicit, because some models would derive positions from the ids that are not [PAD]
            positions = torch.arange(ids.shape[1], device=ids.device) + self._first_position
            inputs["position_ids"] = positions.expand_as(ids)
        encoder = without_last_layer(self.mlm.base_model) if short else self.mlm.base_model
        return encoder(**inputs)[0]

    def _embedded(self, ids: Tensor) -> Tensor:
        """[B, L, H] embeddings of the pieces, the domain's added to each; where its token stood is a [PAD]."""
        embed, column = self.mlm.get_input_embeddings(), len(self.frame.start)
        pieces = ids.clone()
        pieces[:, column] = self.vocabulary.pad
        return embed(pieces) + embed(ids[:, column])[:, None]

    @property
    def has_style(self) -> bool:
        return self.style is not None and self.bag_of_words is not None

    def style_logits(self, ids: Tensor, attention: Tensor) -> Tensor:
        """Whole texts, without masks and domain: ids, attention [B, L] -> logits [B, D]."""
        if self.style is None:
            raise MaskerError("the model has no style classifier; fit it on two or more domains (masker fit)")
        return self.style(self.at(ids, attention, ids[:, :1] * 0, domain=False)[:, 0])

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def architecture(self) -> str:
        return str(self.mlm.config.model_type)

    @property
    def size(self) -> int:
        return sum(p.numel() for p in self.parameters())

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
        self._renew_head()
        if len(known) == 2:
            a, b = known
            known.update({a: known[a] or b, b: known[b] or a})

    def add_style(self) -> None:
        """A new style classifier for the domains of now."""
        self.style = nn.Linear(self.mlm.config.hidden_size, len(self.domains)).to(self.device)

    # -- files ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path | None = None) -> "PaddedMLM":
        """The embedded model, a folder, or a Hugging Face id."""
        from masker.model.pretrained import load

        return load(name)

    def save_pretrained(self, folder: str | Path, *, packed: bool = False) -> None:
        """Config, safetensors, tokenizer, masker.json and a model card, in the Hugging Face layout.

        `packed` stores the weights in a third of their size, in a format of Masker's own.
        """
        from masker.model.pretrained import save

        save(self, Path(folder), packed=packed)

    def push_to_hub(self, repository: str, **options: Any) -> None:
        """Upload it to the Hugging Face hub; `options` go to huggingface_hub's upload_folder."""
        from masker.model.pretrained import push

        push(self, repository, **options)


def _first_position(mlm: Any) -> int:
    """RoBERTa and MPNet count positions from their padding index on, the others from 0."""
    for name, module in mlm.base_model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


def embeddings(mlm: Any) -> Any:
    """What makes vectors of pieces and their places, before the first layer."""
    body = mlm.base_model
    return getattr(body, EMBEDDINGS, None) or body.get_input_embeddings()


class _PassThrough(nn.Module):
    def forward(self, *args: Any, inputs_embeds: Tensor, **kwargs: Any) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=inputs_embeds)  # type: ignore[arg-type]


def _without_encoder(mlm: Any) -> Any:
    """The same masked LM with the encoder taken out: hidden states in, logits out, whatever its head is made of."""
    head = copy.copy(mlm)
    head._modules = {**mlm._modules, mlm.base_model_prefix: _PassThrough()}
    return head
