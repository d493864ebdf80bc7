"""A tokenizer without transformers."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from masker.data.checked import check_kind, read_object
from masker.errors import MaskerError
from masker.model.folder import TOKENIZER, TOKENIZER_CONFIG, one_line

_ROLES = ("mask", "pad", "unk", "cls", "sep", "bos", "eos")


class FileTokenizer:
    """What `Vocabulary` asks of a transformers tokenizer, answered from tokenizer.json and tokenizer_config.json."""

    def __init__(self, folder: Path) -> None:
        with one_line(f"cannot read the tokenizer of {folder}"):
            self.backend_tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            config = read_object(folder / TOKENIZER_CONFIG)
            named = {role: config.get(f"{role}_token") for role in _ROLES}
            for role, token in named.items():
                check_kind(f"{role}_token", token, str | dict[str, Any] | None, folder / TOKENIZER_CONFIG)
            tokens = {role: t["content"] if isinstance(t, dict) else t for role, t in named.items() if t}
            if wrong := next((t for t in tokens.values() if self.backend_tokenizer.token_to_id(t) is None), None):
                raise MaskerError(f"{folder / TOKENIZER_CONFIG} names '{wrong}', which {TOKENIZER} does not have")
            ids = {role: self.backend_tokenizer.token_to_id(token) for role, token in tokens.items()}
            self.mask_token_id, self.pad_token_id, self.unk_token_id, self.bos_token_id, self.eos_token_id = (
                ids.get(role) for role in ("mask", "pad", "unk", "bos", "eos")
            )
        self.backend_tokenizer.no_padding()
        self.backend_tokenizer.no_truncation()
        self.added_tokens_decoder = self.backend_tokenizer.get_added_tokens_decoder()
        self.all_special_ids = [self.convert_tokens_to_ids(token) for token in tokens.values()]

    def __call__(self, text: str, return_special_tokens_mask: bool) -> dict[str, list[int]]:
        encoding = self.backend_tokenizer.encode(text)
        return {"input_ids": encoding.ids, "special_tokens_mask": encoding.special_tokens_mask}

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size(with_added_tokens=True)

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.get_vocab()

    def convert_tokens_to_ids(self, token: str) -> int | None:
        found = self.backend_tokenizer.token_to_id(token)
        return self.unk_token_id if found is None else found

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.backend_tokenizer.id_to_token(i) or "" for i in ids]
