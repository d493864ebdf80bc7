"""Causal language models: what a reader and the student `lm` are made of. Any of Hugging Face's will do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from masker.errors import MaskerError, missing
from masker.model.folder import PACKED, local_folder, one_line


class CausalVocabulary:
    """The tokenizer of a causal LM: texts to pieces and back. It needs no transformers (`model.tokenizer`)."""

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise MaskerError(f"{type(tokenizer).__name__} is no fast tokenizer; save it with its tokenizer.json")
        ends = [getattr(tokenizer, f"{role}_token_id", None) for role in ("bos", "eos", "sep", "pad")]
        known = [i for i in ends if i is not None]
        if not known:
            raise MaskerError("the tokenizer has no token for the beginning or the end of a text; name another base")
        self.tokenizer = tokenizer
        self.start: int = known[0]
        self.end: int = known[0] if ends[1] is None else ends[1]  # what a text ends with; also fills up a batch
        backend.encode_special_tokens = True  # a literal "<s>" in a user's text is text
        self._backend = backend

    def __len__(self) -> int:
        return len(self.tokenizer)

    def pieces(self, text: str) -> list[int]:
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def many(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of many texts, found by all cores."""
        return [found.ids for found in self._backend.encode_batch(list(texts), add_special_tokens=False)]

    def text(self, pieces: Sequence[int]) -> str:
        """What pieces spell, up to the end of the text."""
        pieces = list(pieces)
        if self.end in pieces:
            pieces = pieces[: pieces.index(self.end)]
        return " ".join(str(self._backend.decode(pieces, skip_special_tokens=True)).split())


def load_causal(base: str | Path) -> tuple[Any, CausalVocabulary]:
    """A causal LM in float32 and its vocabulary, from a folder or the hub."""
    try:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        from masker.model.pretrained import check_hub, load_packed, quiet
    except ModuleNotFoundError as error:
        raise missing("train", "a causal language model") from error
    folder = local_folder(base)
    if folder is None:
        check_hub(str(base))
    name = str(folder or base)
    with one_line(f"cannot load the causal language model '{base}'"), quiet():
        if folder and (folder / PACKED).is_file():
            config = AutoConfig.from_pretrained(name, trust_remote_code=False)
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
            load_packed(model, folder)
        else:
            model = AutoModelForCausalLM.from_pretrained(
                name, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
            )
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
    model.config.use_cache = False
    return model, CausalVocabulary(tokenizer)


def window_of(model: Any, wanted: int) -> int:
    """So many pieces, or as many as the model has positions for."""
    return min(wanted, int(getattr(model.config, "max_position_embeddings", None) or wanted))
