"""The last layer of a BERT, for some positions only.

Only the vectors at the masks are projected to the vocabulary, so the last layer need not compute the others: at six
layers that saves about a tenth of the work. All that knows how Transformers writes BERT's layers is here.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

Attend = Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]


def plain(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scaling: float, bias: Tensor | None = None) -> Tensor:
    """q [B, heads, m, d], k and v [B, heads, L, d], seen [B, L], bias [heads, m, L] -> [B, m, heads, d]."""
    mask = seen[:, None, None, :].bool()
    if bias is not None:
        mask = bias[None].masked_fill(~mask, -torch.inf)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling).transpose(1, 2)


def without_last_layer(base: Any) -> Any:
    """The same encoder, one layer shorter."""
    encoder, shorter = copy.copy(base.encoder), copy.copy(base)
    encoder._modules = {**encoder._modules, "layer": base.encoder.layer[:-1]}
    shorter._modules = {**base._modules, "encoder": encoder}
    return shorter


def last_layer(layer: Any, here: Tensor, hidden: Tensor, attention: Tensor, attend: Attend) -> Tensor:
    """The vectors `here` [B, m, H] look at all of `hidden` [B, L, H], of which they are some."""
    a = layer.attention.self
    q, k, v = (
        project(x).view(*x.shape[:2], -1, a.attention_head_size).transpose(1, 2)  # [B, heads, m or L, H / heads]
        for project, x in ((a.query, here), (a.key, hidden), (a.value, hidden))
    )
    seen = attend(q, k, v, attention, a.attention_head_size**-0.5)
    here = layer.attention.output(seen.flatten(2), here)
    return layer.output(layer.intermediate(here), here)
