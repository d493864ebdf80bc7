"""Two small corpora that differ in their adjectives, and a base model so small that it learns them in seconds."""

import signal
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from masker.core.vocabulary import Vocabulary
from masker.model.padded_mlm import PaddedMLM, Settings
from masker.training.reader import ReaderSettings

SUBJECTS = ("the food", "the staff", "the service", "the people", "it", "she", "he", "marie", "paris", "london")
ENDS = (".", "!", "here .", "really .")


def lines(*adjectives: str) -> list[str]:
    return [f"{subject} was {adjective} {end}" for subject in SUBJECTS for adjective in adjectives for end in ENDS]


CORPORA = {"negative": lines("terrible", "rude"), "positive": lines("great", "good")}
READER = ReaderSettings(steps=60, batch_size=16, lr=1e-2, held_out=0.1, eval_every=30, device="cpu")


def make_base(folder: Path, vocabulary: Vocabulary) -> Path:
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=64, pad_token_id=vocabulary.pad, initializer_range=0.1,  # learns faster than at 0.02
    )  # fmt: skip
    torch.manual_seed(0)
    PaddedMLM(BertForMaskedLM(config), vocabulary, Settings(window=32)).save_pretrained(folder)
    return folder


def narrow(module: nn.Module, most: int) -> None:
    """Have a module run out of memory when it is asked about more than so many rows."""

    def check(_: nn.Module, given: tuple[Tensor, ...], named: dict[str, Any]) -> None:
        rows = next(value for value in (*given, *named.values()) if isinstance(value, Tensor))
        if len(rows) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")

    module.register_forward_pre_hook(check, with_kwargs=True)


def hears_ctrl_c() -> None:
    """For a process to be interrupted: started in the background, it would inherit that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def make_causal(folder: Path) -> Path:
    """A tiny causal LM with a byte-level vocabulary that knows the words of CORPORA, and nothing of their order."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    known = [text for some in CORPORA.values() for text in some]
    backend.train_from_iterator([*known, *map(str.capitalize, known), "negative: positive: but"] * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=160, tie_word_embeddings=True, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
