"""The Triton kernels, by Triton's interpreter where there is no GPU: `pip install triton` and TRITON_INTERPRET=1."""

import os

import pytest
import torch
from torch import Tensor

CUDA = torch.cuda.is_available()
if not CUDA and not os.environ.get("TRITON_INTERPRET"):
    pytest.skip("needs a GPU, or Triton and TRITON_INTERPRET=1", allow_module_level=True)
fused = pytest.importorskip("masker.runtime.kernels")
DEVICE, TYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
TOLERANCE = {"rtol": 0.02, "atol": 0.02} if CUDA else {"rtol": 1e-4, "atol": 1e-5}


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE).to(TYPE)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(4, 13), (13, 13), (33, 33), (4, 100), (3, 200)])
def test_attention_is_that_of_pytorch(queries: int, keys: int, biased: bool) -> None:
    torch.manual_seed(queries)
    q, k, v = (random(3, n, 2, 32).transpose(1, 2) for n in (queries, keys, keys))
    seen = torch.arange(keys, device=DEVICE) < torch.tensor([keys, keys - 5, 1], device=DEVICE)[:, None]
    bias = random(2, queries, keys) if biased else None
    mask = torch.zeros(3, 2, queries, keys, device=DEVICE, dtype=TYPE)
    mask = (mask if bias is None else mask + bias).masked_fill(~seen[:, None, None, :], -torch.inf)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.2).transpose(1, 2)
    torch.testing.assert_close(fused.attend(q, k, v, seen, 0.2, bias), expected, **TOLERANCE)


@pytest.mark.parametrize("pieces", [40, 4096, 9001])
def test_best_piece_and_norm(pieces: int) -> None:
    torch.manual_seed(pieces)
    logits = random(2, 3, pieces + 7)[:, :, :pieces]  # rows that are longer than there are pieces
    bias = torch.zeros(pieces, device=DEVICE)
    bias[logits[0, 0].argmax()] = -torch.inf
    for given in (None, bias):
        best, best_logit, norm = fused.best_and_norm(logits, given)
        allowed = logits.float() if given is None else logits.float() + given
        assert torch.equal(best, allowed.argmax(-1, keepdim=True))
        torch.testing.assert_close(best_logit, allowed.amax(-1, keepdim=True))
        torch.testing.assert_close(norm, logits.float().logsumexp(-1, keepdim=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [48, 384])
def test_sums_are_normalised(size: int) -> None:
    torch.manual_seed(size)
    norm = torch.nn.LayerNorm(size).to(DEVICE, TYPE)
    norm.weight.data, norm.bias.data = random(size), random(size)
    x, y = random(2, 5, size) + 3, random(2, 5, size)
    torch.testing.assert_close(fused.add_and_normalise(norm, x, y), norm(x + y), **TOLERANCE)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_models_answer_as_before(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoConfig, AutoModelForMaskedLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(family, vocab_size=50, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                  intermediate_size=64, max_position_embeddings=40, pad_token_id=1)  # fmt: skip
    mlm = AutoModelForMaskedLM.from_config(config, attn_implementation="eager").eval().to(DEVICE, TYPE)
    ids = torch.randint(2, 50, (3, 20), device=DEVICE)
    attention = (torch.arange(20, device=DEVICE) < torch.tensor([20, 12, 7], device=DEVICE)[:, None]).long()
    expected = mlm.base_model(input_ids=ids, attention_mask=attention)[0]
    fused.use_kernels(mlm)
    used: list[str] = []
    for name in ("attend", "add_and_normalise"):
        kernel = getattr(fused, name)
        monkeypatch.setattr(fused, name, lambda *a, name=name, kernel=kernel: used.append(name) or kernel(*a))
    found = mlm.base_model(input_ids=ids, attention_mask=attention)[0]
    torch.testing.assert_close(found[attention.bool()], expected[attention.bool()], **TOLERANCE)
    assert sorted(used) == ["add_and_normalise"] * 4 + ["attend"] * 2  # of two layers
