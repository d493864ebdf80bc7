"""Which pieces of the vocabulary a domain's texts have: a bit for each, as one line of text in masker.json."""

import base64
import binascii
import zlib

import numpy as np

from masker.errors import MaskerError

_MOST = 1 << 20  # bytes: eight million pieces


def packed(pieces: np.ndarray) -> str:
    """Numbers of pieces."""
    bits = np.zeros(pieces.max(initial=0) + 1, bool)
    bits[pieces] = True
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes(), 9)).decode()


def unpacked(name: str, text: str) -> np.ndarray:
    """The numbers, in order; `name` is for the message where it is none of these lines."""
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _MOST)
    except (ValueError, binascii.Error, zlib.error):
        raise MaskerError(f"`{name}` is no list of pieces; fit the model again, or leave it out") from None
    return np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8)))
