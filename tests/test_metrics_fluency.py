from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from masker.errors import MaskerError
from masker.metrics.fluency import fluency, load_language_model

TEXTS = ["the food was good", "bad food", ""]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "food", "was", "good", "bad"]
SHAPE = {"vocab_size": len(VOCABULARY), "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}


def save(model: torch.nn.Module, folder: Path, *, start: str) -> Path:
    """The model with a word tokenizer that puts [CLS] and [SEP] around a text."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, mask_token="[MASK]", **special, **{start: "[CLS]"}
    ).save_pretrained(folder)
    model.save_pretrained(folder)  # type: ignore[operator]
    return folder


def test_causal_lm_sums_what_the_model_says_token_by_token(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=len(VOCABULARY), n_embd=16, n_layer=1, n_head=2, n_positions=16)
    folder = save(GPT2LMHeadModel(config), tmp_path, start="bos_token")
    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    sums = []
    for ids in ([2, 5, 6, 7, 8], [2, 9, 6]):
        with torch.inference_mode():
            log_p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        sums.append(sum(float(log_p[i, ids[i + 1]]) for i in range(len(ids) - 1)))
    assert load_language_model(folder).log_likelihoods(TEXTS) == pytest.approx([*sums, 0], abs=1e-4)
    assert fluency(TEXTS, folder) == pytest.approx(sum(sums) / 6, abs=1e-4)


def test_masked_lm_masks_every_token_in_its_turn(tmp_path: Path) -> None:
    folder = save(BertForMaskedLM(BertConfig(**SHAPE, intermediate_size=16)), tmp_path, start="bos_token")
    model = BertForMaskedLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        first = model(torch.tensor([[2, 4, 6, 3]])).logits[0, 1].log_softmax(-1)[9]
        second = model(torch.tensor([[2, 9, 4, 3]])).logits[0, 2].log_softmax(-1)[6]
    assert fluency(["bad food"], folder) == pytest.approx(float(first + second) / 2, abs=1e-4)
    alone = load_language_model(folder).log_likelihoods(["bad food"])
    assert load_language_model(folder).log_likelihoods(TEXTS)[1] == pytest.approx(alone[0], abs=1e-4)


def test_any_object_with_log_likelihoods_will_do() -> None:
    class Constant:
        def log_likelihoods(self, texts: list[str]) -> list[float]:
            return [-3.0] * len(texts)

    assert fluency(["a b", "c"], Constant()) == -2


def test_encoders_without_a_head_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match=r"config\.json"):
        load_language_model(tmp_path)
    BertModel(BertConfig(**SHAPE, intermediate_size=16)).save_pretrained(tmp_path)
    with pytest.raises(MaskerError, match="BertModel"):
        load_language_model(tmp_path)
