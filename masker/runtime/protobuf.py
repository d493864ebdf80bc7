"""Protocol buffers, which ONNX files are, read and written without a package: as far as our graphs go.

A message is fields with a number, each a whole number or bytes, which may be fields again. Of ONNX these are used:

    ModelProto   7 graph
    GraphProto   5 initializer, 11 input, 13 value_info
    TensorProto  1 dims, 2 data_type, 5 int32_data, 8 name, 9 raw_data, 13 external_data (1 key, 2 value)
    ValueInfo    1 name, 2 type (1 tensor_type (2 shape (1 dim (1 dim_value, 2 dim_param))))
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

Field = tuple[int, int | bytes]

GRAPH, INITIALIZER, INPUT, VALUE_INFO = 7, 5, 11, 13
DIMS, TYPE, INT32_DATA, NAME, RAW, EXTERNAL = 1, 2, 5, 8, 9, 13
_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3}
SHAPE = (2, 1, 2)  # the way from a ValueInfo to its dimensions


def in_graph(model: bytes, change: Callable[[Iterator[Field]], Iterable[Field]]) -> bytes:
    """A model with the fields of its graph changed."""
    return message(
        (number, message(change(fields(value))) if number == GRAPH and isinstance(value, bytes) else value)
        for number, value in fields(model)
    )


def tensor_of(name: str, array: np.ndarray) -> bytes:
    dims = ((DIMS, size) for size in array.shape)
    return message([*dims, (TYPE, _TYPES[array.dtype]), (NAME, name.encode()), (RAW, array.tobytes())])


def name_of(value: bytes) -> str:
    """A name, where that is the first field."""
    first = next(fields(value))[1]
    return first.decode() if isinstance(first, bytes) else ""


def with_first_dimension(value: bytes, size: bytes, path: tuple[int, ...] = SHAPE) -> bytes:
    """A ValueInfo with another first dimension: what `path` leads to has one field for each."""
    inside = list(fields(value))
    if not path:
        return message([(1, size), *inside[1:]])
    first, *rest = path
    return message(
        (
            number,
            with_first_dimension(inner, size, tuple(rest)) if number == first and isinstance(inner, bytes) else inner,
        )
        for number, inner in inside
    )


def fields(message: bytes) -> Iterator[Field]:
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _number(message, at)
            yield number, value
        else:
            assert kind == 2, "fixed-size fields stand only inside of what is copied"
            size, at = _number(message, at)
            yield number, message[at : at + size]
            at += size


def numbers(packed: bytes) -> Iterator[int]:
    """Whole numbers, one after the other."""
    at = 0
    while at < len(packed):
        value, at = _number(packed, at)
        yield value


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def message(fields: Iterable[Field]) -> bytes:
    parts = list[bytes]()
    for number, value in fields:
        if isinstance(value, bytes):
            parts += [varint(number << 3 | 2), varint(len(value)), value]
        else:
            parts += [varint(number << 3), varint(value)]
    return b"".join(parts)


def varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
