"""Three kernels for GPUs, in Triton: attention among few pieces, sums that are normalised, one pass over the logits.

A masked sentence has about sixteen pieces, and PyTorch's attention is made for hundreds; of the logits only the best
piece, its logit and their logsumexp are wanted, for which PyTorch alone reads them five times.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.models.bert.modeling_bert import BertOutput, BertSelfOutput
from transformers.models.mpnet.modeling_mpnet import MPNetAttention, MPNetOutput, MPNetSelfAttention
from transformers.models.roberta.modeling_roberta import RobertaOutput, RobertaSelfOutput

from masker.model.last_layer import plain

LONGEST = 128  # pieces; longer texts go through PyTorch's attention
NAME = "masker_short"


@triton.jit(do_not_specialize=["queries", "keys", "bias_at"])
def _attend(  # type: ignore[no-untyped-def]
    q, k, v, mask, bias, out, queries, keys, scaling,
    q_row, q_head, q_at, k_row, k_head, k_at, v_row, v_head, v_at, mask_row, bias_head, bias_at,
    SIZE: tl.constexpr, BIASED: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, SIZE)
    there, asks = n < keys, m < queries
    query = tl.load(q + row * q_row + head * q_head + m[:, None] * q_at + d, mask=asks[:, None], other=0.0)
    key = tl.load(k + row * k_row + head * k_head + n[:, None] * k_at + d, mask=there[:, None], other=0.0)
    value = tl.load(v + row * v_row + head * v_head + n[:, None] * v_at + d, mask=there[:, None], other=0.0)
    seen = tl.load(mask + row * mask_row + n, mask=there, other=0)
    score = tl.dot(query, tl.trans(key)) * scaling
    if BIASED:
        spot = bias + head * bias_head + m[:, None] * bias_at + n
        score += tl.load(spot, mask=asks[:, None] & there, other=0.0).to(tl.float32)
    score = tl.where((seen != 0)[None, :], score, -1e30)
    weight = tl.exp(score - tl.max(score, 1)[:, None])
    weight = weight / tl.sum(weight, 1)[:, None]
    answer = tl.dot(weight.to(value.dtype), value)
    spot = out + ((row * queries + m[:, None]) * tl.num_programs(1) + head) * SIZE + d
    tl.store(spot, answer.to(out.dtype.element_ty), mask=asks[:, None])


def attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scaling: float, bias: Tensor | None = None) -> Tensor:
    """As `plain`, by the kernel above where the sizes suit it."""
    rows, heads, queries, size = q.shape
    keys = k.shape[2]
    if max(keys, queries) > LONGEST or size & (size - 1) or size < 16:
        return plain(q, k, v, seen, scaling, bias)
    seen = seen.to(torch.int8)
    out = torch.empty((rows, queries, heads, size), dtype=q.dtype, device=q.device)
    block = [max(16, triton.next_power_of_2(count)) for count in (queries, keys)]
    _attend[(rows, heads)](
        q, k, v, seen, seen if bias is None else bias, out, queries, keys, scaling, *q.stride()[:3], *k.stride()[:3],
        *v.stride()[:3], seen.stride(0), *((0, 0) if bias is None else bias.stride()[:2]),
        SIZE=size, BIASED=bias is not None, M=block[0], N=block[1], num_warps=1 if max(block) <= 32 else 4,
    )  # fmt: skip
    return out


@triton.jit
def _normalise(x, y, weight, bias, out, size, eps, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row, d = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    there = d < size
    total = tl.load(x + row * size + d, mask=there, other=0.0).to(tl.float32)
    total += tl.load(y + row * size + d, mask=there, other=0.0).to(tl.float32)
    total = tl.where(there, total - tl.sum(total, 0) / size, 0.0)
    total *= tl.rsqrt(tl.sum(total * total, 0) / size + eps)
    total *= tl.load(weight + d, mask=there, other=0.0).to(tl.float32)
    total += tl.load(bias + d, mask=there, other=0.0).to(tl.float32)
    tl.store(out + row * size + d, total.to(out.dtype.element_ty), mask=there)


def add_and_normalise(norm: nn.LayerNorm, x: Tensor, y: Tensor) -> Tensor:
    """norm(x + y), for [B, L, H] without gaps."""
    out, size = torch.empty_like(x), x.shape[-1]
    block = triton.next_power_of_2(size)
    _normalise[(x.numel() // size,)](
        x, y, norm.weight, norm.bias, out, size, norm.eps, BLOCK=block, num_warps=max(1, min(8, block // 256))
    )
    return out


@triton.jit
def _read(x, bias, best, best_logit, norm, pieces, stride, BIASED: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    top, total, at = -float("inf"), 0.0, 0
    for first in range(0, pieces, BLOCK):
        piece = first + tl.arange(0, BLOCK)
        logit = tl.load(x + row * stride + piece, mask=piece < pieces, other=-float("inf")).to(tl.float32)
        here = tl.max(logit, 0)
        at = tl.where(here > top, tl.min(tl.where(logit == here, piece, pieces), 0), at)
        higher = tl.maximum(top, here)
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(logit - higher), 0)
        top = higher
    tl.store(norm + row, top + tl.log(total))
    if BIASED:  # noqa: SIM102  (known when it is compiled)
        if tl.load(bias + at) < 0:  # the best piece is not allowed, which is rare: look once more
            top = -float("inf")
            for first in range(0, pieces, BLOCK):
                piece = first + tl.arange(0, BLOCK)
                logit = tl.load(x + row * stride + piece, mask=piece < pieces, other=-float("inf")).to(tl.float32)
                logit += tl.load(bias + piece, mask=piece < pieces, other=-float("inf"))
                here = tl.max(logit, 0)
                at = tl.where(here > top, tl.min(tl.where(logit == here, piece, pieces), 0), at)
                top = tl.maximum(top, here)
    tl.store(best + row, at)
    tl.store(best_logit + row, top)


def best_and_norm(logits: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """logits [B, m, V] with rows at one distance -> best allowed piece, its logit, logsumexp of all; [B, m, 1] each."""
    shape, rows = (*logits.shape[:2], 1), logits.shape[0] * logits.shape[1]
    best = torch.empty(shape, dtype=torch.int64, device=logits.device)
    best_logit, norm = (torch.empty(shape, dtype=torch.float32, device=logits.device) for _ in range(2))
    _read[(rows,)](
        logits, norm if bias is None else bias, best, best_logit, norm, logits.shape[2], logits.stride(1),
        BIASED=bias is not None, BLOCK=min(32_768, triton.next_power_of_2(logits.shape[2])), num_warps=32,
    )  # fmt: skip
    return best, best_logit, norm


def use_kernels(mlm: Any) -> None:
    """Let a BERT, a RoBERTa or an MPNet work by the kernels above; other models stay as they are."""
    AttentionInterface.register(NAME, _interface)
    AttentionMaskInterface.register(NAME, _seen)
    for module in mlm.modules():
        for kind, forward in _FORWARD.items():
            if isinstance(module, kind):
                module.forward = forward.__get__(module)  # type: ignore[attr-defined]
    if mlm.config.model_type in ("bert", "roberta"):
        mlm.set_attn_implementation(NAME)


def _seen(attention_mask: Tensor | None = None, **_: Any) -> Tensor | None:
    """What Transformers hands to the attention as its mask: [B, L] as it is."""
    return attention_mask


def _interface(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float, **_: Any
) -> tuple[Tensor, None]:
    seen = torch.ones_like(key[:, 0, :, 0]) if attention_mask is None else attention_mask
    return attend(query, key, value, seen, scaling), None


def _mpnet_attention(
    self: Any, hidden_states: Tensor, attention_mask: Tensor | None, position_bias: Tensor, **_: Any
) -> tuple[Tensor]:
    shape = (*hidden_states.shape[:2], -1, self.attention_head_size)
    q, k, v = (project(hidden_states).view(shape).transpose(1, 2) for project in (self.q, self.k, self.v))
    seen = torch.ones_like(hidden_states[:, :, 0]) if attention_mask is None else attention_mask[:, 0, 0] == 0
    return (self.o(attend(q, k, v, seen, shape[-1] ** -0.5, position_bias[0]).flatten(2)),)


def _mpnet_block(
    self: Any, hidden_states: Tensor, attention_mask: Tensor | None, position_bias: Tensor, **_: Any
) -> tuple[Tensor]:
    seen = self.attn(hidden_states, attention_mask, position_bias)[0]
    return (add_and_normalise(self.LayerNorm, seen, hidden_states),)


def _output(self: Any, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    return add_and_normalise(self.LayerNorm, self.dense(hidden_states), input_tensor)


_FORWARD = {
    MPNetSelfAttention: _mpnet_attention,
    MPNetAttention: _mpnet_block,
    **dict.fromkeys([BertSelfOutput, BertOutput, RobertaSelfOutput, RobertaOutput, MPNetOutput], _output),
}
