import math
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import make_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from toy import narrow
from transformers import BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from masker.errors import MaskerError
from masker.evaluation.fluency import NgramLM, PaddedLM, fluency, load_language_model

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


@pytest.mark.parametrize("kind", ["causal", "masked", "padded"])
def test_what_does_not_fit_into_memory_is_measured_in_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    if kind == "causal":
        config = GPT2Config(vocab_size=len(VOCABULARY), n_embd=16, n_layer=1, n_head=2, n_positions=16)
        save(GPT2LMHeadModel(config), tmp_path, start="bos_token")
    elif kind == "masked":
        save(BertForMaskedLM(BertConfig(**SHAPE, intermediate_size=16)), tmp_path, start="bos_token")
    else:
        make_model("bert").save_pretrained(tmp_path)
    model = load_language_model(tmp_path, device="cpu")
    expected = model.log_likelihoods(TEXTS * 3)
    narrow(model.model, 2)
    assert model.log_likelihoods(TEXTS * 3) == pytest.approx(expected, abs=1e-4)
    assert "out of memory" in caplog.text


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


@pytest.mark.parametrize(
    "config",
    [
        "{}", "[]", "{", '{"model_type": 5}', '{"model_type": "no such"}', '{"model_type": "gpt2", "n_layer": "x"}',
        '{"model_type": "gpt2", "architectures": 5}', '{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}',
    ],
)  # fmt: skip
def test_a_bad_config_is_told_in_one_line(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(MaskerError) as error:
        load_language_model(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_padded_lm_masks_every_word_as_a_span_under_each_domain(tmp_path: Path) -> None:
    model = make_model("bert", n_p=2)
    model.save_pretrained(tmp_path)
    v = model.vocabulary
    ids = {token: v.tokenizer.convert_tokens_to_ids(token) for token in ("good", "cu", "##rie", "##s")}
    cls, sep, mask, pad = *v.start, *v.end, v.mask, v.pad
    left, right = (
        [ids["good"]],
        [ids["cu"], ids["##rie"], ids["##s"]],
    )  # good curies: three pieces, masked two at a time
    asked = [
        ([mask, mask, *right], [ids["good"], pad], 2),
        ([*left, mask, mask, ids["##s"]], [ids["cu"], ids["##rie"]], 3),
        ([*left, *right[:2], mask, mask], [ids["##s"], pad], 5),
    ]
    total = 0.0
    for body, targets, at in asked:
        p = 0.0
        for domain in ("negative", "positive"):
            row = torch.tensor([[cls, v.domain(domain), *body, sep]])
            with torch.inference_mode():
                log_p = model(row, torch.ones_like(row), torch.tensor([[at, at + 1]]))[0].log_softmax(-1)
            p += math.exp(float(log_p[0, targets[0]] + log_p[1, targets[1]])) / 2
        total += math.log(p)
    texts = ["good curies", "", "the food was terrible , really ! " * 20]
    found = load_language_model(tmp_path).log_likelihoods(texts)
    assert found[:2] == pytest.approx([total, 0], abs=1e-3)
    small = PaddedLM(model, device="cpu")
    small.batch_tokens = 1
    assert small.log_likelihoods(texts) == pytest.approx(found, rel=1e-5)


def test_padded_lm_of_plain_text_has_no_domains() -> None:
    model = make_model("bert", domains=())
    v = model.vocabulary
    row = torch.tensor([[*v.start, *[v.mask] * 4, *v.end]])
    with torch.inference_mode():
        log_p = model(row, torch.ones_like(row), torch.tensor([[1, 2, 3, 4]]))[0].log_softmax(-1)
    good = v.tokenizer.convert_tokens_to_ids("good")
    expected = float(log_p[0, good] + log_p[1:, v.pad].sum())
    assert fluency(["good"], PaddedLM(model, device="cpu")) == pytest.approx(expected, abs=1e-3)


LINES = ["the food was good", "the food was bad", "the staff was good", "bad food", "a rare word"]


def test_ngram_lm_is_a_distribution_and_prefers_its_lines() -> None:
    model = NgramLM.fit(LINES)
    assert sorted(model.words) == ["</s>", "<s>", "<unk>", "bad", "food", "good", "the", "was"]
    size = len(model.words)
    for context in range(size**2):  # seen or not
        assert model._probabilities(context * size + np.arange(1, size)).sum() == pytest.approx(1)
    good, odd = model.log_likelihoods(["The food was GOOD", "good was food the"])
    assert good > odd + 3


def test_ngram_lm_by_hand() -> None:
    # every order has discounts of 1/2 and contexts with a single successor; 4 words can follow, <unk> and </s> included
    model = NgramLM.fit(["a b", "a b"])
    unigram = (1 - 0.5 + 0.5 * 3 / 4) / 3
    trigram = (2 - 0.5 + 0.5 * (1 - 0.5 + 0.5 * unigram)) / 2
    assert model.log_likelihoods(["a b", ""])[0] == pytest.approx(3 * math.log(trigram))
    assert len(model.log_likelihoods(["a b", "", "b"])) == 3
    assert model.log_likelihoods([]) == []


def test_ngram_lm_shares_the_unknown_among_the_rare() -> None:
    few, many = (NgramLM.fit([*LINES[:4], *(f"a{k} b{k} c{k}" for k in range(n))]) for n in (1, 100))
    assert (few.rare, many.rare) == (4, 301)
    unheard, odd = many.log_likelihoods(["unheard", "<unk>"])
    assert unheard == odd  # written in a text, it is just another unknown word
    assert unheard < many.log_likelihoods(["food"])[0]


def test_ngram_lm_from_a_folder(tmp_path: Path) -> None:
    model = NgramLM.fit(LINES)
    model.save_pretrained(tmp_path)
    assert load_language_model(tmp_path).log_likelihoods(LINES) == model.log_likelihoods(LINES)
    with pytest.raises(MaskerError, match="no word occurs twice"):
        NgramLM.fit(["a b"])
