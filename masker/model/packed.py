"""Weights of a small model in a third of their size: twelve bits a weight, eight for the embeddings of rare pieces.

Eight bits throughout, with one scale a row, make the embedded model choose another edit on one Yelp sentence in twenty,
because many spans score almost the same. What is stored of a matrix, in one or two parts of its rows:

    NAME.K.high    the upper eight bits, Huffman-coded
    NAME.K.low     the lower four bits, two of them a byte; absent where eight bits are enough
    NAME.K.scale   a float16 for every GROUP weights, or for every row where rows do not divide into groups
"""

import zlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

GROUP = 128
UNIT = 1024  # scales are stored so many times larger, to be well inside the range of float16
COMMON = 7000  # rows of the word embeddings in twelve bits: vocabularies list frequent pieces first


def pack(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store. Vectors stay as they are; small tables (positions, types) become float16."""
    packed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() != 2:
            packed[name] = weight
        elif weight.shape[0] <= 2048 and "embedding" in name:
            packed[name] = weight.half()
        elif "embedding" in name:
            packed |= _pack(weight[:COMMON], f"{name}.0", 12) | _pack(weight[COMMON:], f"{name}.1", 8)
        else:
            packed |= _pack(weight, f"{name}.0", 12)
    return packed


def unpack(packed: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """The weights again, in float32. Those of `shapes` that were not stored are left out."""
    weights: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        if name in packed:
            weights[name] = packed[name].float()
        elif parts := [_unpack(packed, f"{name}.{k}") for k in (0, 1) if f"{name}.{k}.high" in packed]:
            weights[name] = torch.from_numpy(np.concatenate(parts)).view(shape)
    return weights


def _pack(weight: Tensor, name: str, bits: int) -> dict[str, Tensor]:
    columns = weight.shape[1]
    groups = weight.detach().float().reshape(-1, columns if columns % GROUP else GROUP)
    limit = 2 ** (bits - 1)
    # rounded (upwards) before it is used, the scale adds no error of its own
    scale = (groups.abs().amax(1) / (limit - 1) * 1.0005 * UNIT).half().clamp(min=torch.finfo(torch.half).tiny)
    codes = (
        (groups / (scale.float() / UNIT)[:, None]).round().clamp(-limit, limit - 1).flatten().numpy().astype(np.int16)
    )
    coder = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    high = coder.compress((codes >> (bits - 8)).astype(np.int8).tobytes()) + coder.flush()
    stored = {f"{name}.high": torch.from_numpy(np.frombuffer(high, np.uint8).copy()), f"{name}.scale": scale}
    if bits == 12:
        low = np.append(codes & 15, [0] * (codes.size % 2)).astype(np.uint8)
        stored[f"{name}.low"] = torch.from_numpy(low[0::2] | low[1::2] << 4)
    return stored


def _unpack(packed: Mapping[str, Tensor], name: str) -> np.ndarray:
    values = np.frombuffer(zlib.decompress(packed[f"{name}.high"].numpy().tobytes()), np.int8).astype(np.float32)
    if f"{name}.low" in packed:
        low = packed[f"{name}.low"].numpy()
        values *= 16
        values[0::2] += low & 15
        values[1::2] += (low >> 4)[: values.size // 2]
    scale = packed[f"{name}.scale"].float().numpy()[:, None] / UNIT
    return (values.reshape(len(scale), -1) * scale).ravel()
