"""Weights of a small model in a third of their size: twelve bits a weight, eight for the embeddings of rare pieces.

Eight bits throughout, with one scale a row, make the embedded model choose another edit on one Yelp sentence in twenty,
because many spans score almost the same. What is stored of a matrix, in one or two parts of its rows:

    NAME.K.high    the upper eight bits, Huffman-coded
    NAME.K.low     the lower four bits, two of them a byte; absent where eight bits are enough
    NAME.K.scale   a float16 for every GROUP weights, or for every row where rows do not divide into groups
"""

import re
import zlib
from collections.abc import Callable, Collection, Mapping

import numpy as np

GROUP = 128
UNIT = 1024  # scales are stored so many times larger, to be well inside the range of float16
COMMON = 7000  # rows of the word embeddings in twelve bits: vocabularies list frequent pieces first

_PART = re.compile(r"\.[01]\.(high|low|scale)$")


def pack(weights: Mapping[str, np.ndarray], *, bits: int = 12) -> dict[str, np.ndarray]:
    """The arrays to store. Vectors stay as they are; small tables (positions, types) become float16.

    A matrix that is no table of embeddings has this many bits a weight: 12, or 8.
    """
    packed: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        if weight.ndim != 2:
            packed[name] = weight
        elif weight.shape[0] <= 2048 and "embedding" in name:
            packed[name] = weight.astype(np.float16)
        elif "embedding" in name:
            packed |= {f"{name}.{part}": array for part, array in pack_table(weight).items()}
        else:
            packed |= _pack(weight, f"{name}.0", bits)
    return packed


def pack_table(weight: np.ndarray) -> dict[str, np.ndarray]:
    """A table of embeddings in one or two parts."""
    parts = _pack(weight[:COMMON], "0", 12)
    return parts | _pack(weight[COMMON:], "1", 8) if len(weight) > COMMON else parts


def stored_names(keys: Collection[str]) -> list[str]:
    """The weights that a packed file with these keys has, whole or in parts."""
    return list(dict.fromkeys(_PART.sub("", key) for key in keys))


def unpack(name: str, keys: Collection[str], read: Callable[[str], np.ndarray]) -> np.ndarray:
    """A weight again, in float32; a matrix that was stored in parts is flat. `read` gives what is stored by a key."""
    if name in keys:
        return read(name).astype(np.float32, copy=False)
    parts = [f"{name}.0", f"{name}.1"][: 1 + (f"{name}.1.high" in keys)]
    codes = [_codes(part, keys, read) for part in parts]
    weight, at = np.empty(sum(map(np.size, codes)), np.float32), 0
    for part, some in zip(parts, codes, strict=True):
        scale = read(f"{part}.scale").astype(np.float32)[:, None] / UNIT
        groups = weight[at : at + some.size].reshape(len(scale), -1)
        np.multiply(some.reshape(groups.shape), scale, out=groups)
        at += some.size
    return weight


def _codes(name: str, keys: Collection[str], read: Callable[[str], np.ndarray]) -> np.ndarray:
    """The whole numbers that are stored of a part."""
    high = np.frombuffer(zlib.decompress(read(f"{name}.high").data), np.int8)
    if f"{name}.low" not in keys:
        return high
    low, codes = read(f"{name}.low"), high.astype(np.int16)
    codes <<= 4
    codes[0::2] |= low & 15
    codes[1::2] |= (low >> 4)[: codes.size // 2]
    return codes


def _pack(weight: np.ndarray, name: str, bits: int) -> dict[str, np.ndarray]:
    columns = weight.shape[1]
    groups = weight.astype(np.float32).reshape(-1, columns if columns % GROUP else GROUP)
    limit = 2 ** (bits - 1)
    # rounded (upwards) before it is used, the scale adds no error of its own
    scale = np.abs(groups).max(1) / np.float32(limit - 1) * np.float32(1.0005) * np.float32(UNIT)
    scale = np.maximum(scale.astype(np.float16), np.finfo(np.float16).tiny)
    steps = np.round(groups / (scale.astype(np.float32) / UNIT)[:, None])
    codes = steps.clip(-limit, limit - 1).ravel().astype(np.int16)
    coder = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    high = coder.compress((codes >> (bits - 8)).astype(np.int8).tobytes()) + coder.flush()
    stored = {f"{name}.high": np.frombuffer(high, np.uint8), f"{name}.scale": scale}
    if bits == 12:
        low = np.append(codes & 15, [0] * (codes.size % 2)).astype(np.uint8)
        stored[f"{name}.low"] = low[0::2] | low[1::2] << 4
    return stored
