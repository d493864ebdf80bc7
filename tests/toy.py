"""Two small corpora that differ in their adjectives, and a base model so small that it learns them in seconds."""

import signal
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM

from masker.core.vocabulary import Vocabulary
from masker.model.padded_mlm import PaddedMLM, Settings

SUBJECTS = ("the food", "the staff", "the service", "the people", "it", "she", "he", "marie", "paris", "london")
ENDS = (".", "!", "here .", "really .")


def lines(*adjectives: str) -> list[str]:
    return [f"{subject} was {adjective} {end}" for subject in SUBJECTS for adjective in adjectives for end in ENDS]


CORPORA = {"negative": lines("terrible", "rude"), "positive": lines("great", "good")}


def make_base(folder: Path, vocabulary: Vocabulary) -> Path:
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=64, pad_token_id=vocabulary.pad, initializer_range=0.1,  # learns faster than at 0.02
    )  # fmt: skip
    torch.manual_seed(0)
    PaddedMLM(BertForMaskedLM(config), vocabulary, Settings(window=32)).save_pretrained(folder)
    return folder


def hears_ctrl_c() -> None:
    """For a process to be interrupted: started in the background, it would inherit that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
