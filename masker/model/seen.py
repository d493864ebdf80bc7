"""Which pieces of the vocabulary a domain's texts have, a bit for each, and how often: lines of text in masker.json."""

import base64
import binascii
import zlib
from collections.abc import Sequence

import numpy as np

from masker.errors import MaskerError

_MOST, _MOST_COUNTS = 1 << 20, 1 << 22  # bytes: eight million pieces, a million counts
_UNSEEN = 2.0  # times that a piece counts as seen besides
_CERTAIN = 4.0  # nats, at most: a piece of one domain alone may just be rare


def packed(pieces: np.ndarray) -> str:
    """Numbers of pieces."""
    bits = np.zeros(pieces.max(initial=0) + 1, bool)
    bits[pieces] = True
    return _line(np.packbits(bits))


def unpacked(name: str, text: str) -> np.ndarray:
    """The numbers, in order; `name` is for the message where it is none of these lines."""
    return np.flatnonzero(np.unpackbits(_array(name, text, _MOST)))


def packed_counts(counts: np.ndarray) -> str:
    """How often there is each piece."""
    return _line(counts.clip(max=np.iinfo("<u4").max).astype("<u4"))


def unpacked_counts(name: str, text: str) -> np.ndarray:
    data = _array(name, text, _MOST_COUNTS)
    return data[: len(data) // 4 * 4].view("<u4").astype(np.float64)


def odds(counts: Sequence[np.ndarray], pieces: int) -> np.ndarray:
    """[D, V] by how much each domain prefers a piece to what all of them have on average, in nats."""
    known = np.zeros((len(counts), pieces))
    for row, some in zip(known, counts, strict=True):
        row[: len(some)] = some[:pieces]
    total = known.sum(1, keepdims=True).clip(min=1.0)
    usual = (known / total).mean(0)
    return np.log((known + _UNSEEN) / (total * usual + _UNSEEN)).clip(-_CERTAIN, _CERTAIN)


def _line(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def _array(name: str, text: str, most: int) -> np.ndarray:
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), most)
    except (ValueError, binascii.Error, zlib.error):
        raise MaskerError(f"`{name}` is no list of pieces; fit the model again, or leave it out") from None
    return np.frombuffer(data, np.uint8)
