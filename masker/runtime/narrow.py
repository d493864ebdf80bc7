"""A head of fewer pieces: the graph of a model that knows only those of its vocabulary that are given.

All that has a number for each piece of the vocabulary gets shorter: constants, what is lacking, and the input `bias`.
"""

from collections.abc import Iterator

import numpy as np

from masker.runtime import protobuf
from masker.runtime.protobuf import Field, fields, message, name_of, with_first_dimension

_BIAS = "bias"  # the input that tells how large the vocabulary is


def vocabulary_size(graph: bytes) -> int:
    """How many pieces a graph knows."""
    (body,) = (value for number, value in fields(graph) if number == protobuf.GRAPH and isinstance(value, bytes))
    for number, value in fields(body):
        if number == protobuf.INPUT and isinstance(value, bytes) and name_of(value) == _BIAS:
            for step in (*protobuf.SHAPE, 1):
                value = next(inner for number, inner in fields(value) if number == step and isinstance(inner, bytes))
            return next(size for number, size in fields(value) if number == 1 and isinstance(size, int))
    raise ValueError("the graph has no vocabulary")


def narrowed(graph: bytes, pieces: np.ndarray, size: int) -> bytes:
    """The graph with these pieces alone, in this order; its weights are for `size`, some of which may not be in use."""

    def body(inside: Iterator[Field]) -> Iterator[Field]:
        for number, value in inside:
            if number == protobuf.INITIALIZER and isinstance(value, bytes):
                yield number, _cut(value, size, pieces)
            elif number == protobuf.INPUT and isinstance(value, bytes) and name_of(value) == _BIAS:
                yield number, with_first_dimension(value, message([(1, len(pieces))]))
            elif number != protobuf.VALUE_INFO:  # shapes between, which are found out again
                yield number, value

    return protobuf.in_graph(graph, body)


def _cut(tensor: bytes, size: int, pieces: np.ndarray) -> bytes:
    """A constant, or the place of one that is lacking, without the other pieces."""
    inside = list(fields(tensor))
    dims = [value for number, value in inside if number == protobuf.DIMS and isinstance(value, int)]
    if size not in dims:
        return tensor
    changed = list[Field]()
    for number, value in inside:
        if number == protobuf.DIMS and value == size:
            value = len(pieces)
        elif number == protobuf.INT32_DATA and isinstance(value, bytes):
            every = list(protobuf.numbers(value))
            value = b"".join(protobuf.varint(every[piece]) for piece in pieces)
        elif number == protobuf.RAW and isinstance(value, bytes):
            table = np.frombuffer(value, np.uint8).reshape(*dims, -1)
            value = table.take(pieces, dims.index(size)).tobytes()
        changed.append((number, value))
    return message(changed)
