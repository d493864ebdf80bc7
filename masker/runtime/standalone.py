"""A graph with its weights as one ONNX file, for other runtimes, such as a browser's; written without the package onnx.

ONNX files are protocol buffers: fields with a number, each a whole number or bytes, which may be fields again. All but
what is lacking is copied as it is. Of ONNX these numbers are used:

    ModelProto   7 graph
    GraphProto   5 initializer, 11 input
    TensorProto  1 dims, 2 data_type, 8 name, 9 raw_data, 13 external_data (1 key, 2 value)
    ValueInfo    1 name, 2 type (1 tensor_type (2 shape (1 dim (1 dim_value, 2 dim_param))))
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

Field = tuple[int, int | bytes]

_GRAPH, _INITIALIZER, _INPUT = 7, 5, 11
_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL = 1, 2, 8, 9, 13
_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3}


def standalone(
    graph: bytes,
    weights: Mapping[str, np.ndarray],
    tables: Mapping[str, np.ndarray],
    *,
    rows: str,
    elsewhere: Mapping[str, int],
) -> bytes:
    """The graph with `weights` and `tables`, inputs so far, as constants.

    The table `rows` stays an input, with any number of rows; and `elsewhere` are weights, with their sizes in bytes,
    that whoever loads the graph has to give, one after the other, as the file "elsewhere".
    """
    held = {name: array for name, array in tables.items() if name != rows}
    starts = dict(zip(elsewhere, np.cumsum([0, *elsewhere.values()]).tolist(), strict=False))

    def initializer(tensor: bytes) -> bytes:
        fields = list(_fields(tensor))
        name = next(value for number, value in fields if number == _NAME)
        assert isinstance(name, bytes)
        known = name.decode()
        if known in elsewhere:
            place = {"location": "elsewhere", "offset": str(starts[known]), "length": str(elsewhere[known])}
            kept = [field for field in fields if field[0] != _EXTERNAL]
            entries = (_message([(1, key.encode()), (2, value.encode())]) for key, value in place.items())
            return _message([*kept, *((_EXTERNAL, entry) for entry in entries)])
        return _tensor(known, weights[known]) if known in weights else tensor

    def body(fields: Iterator[Field]) -> Iterator[Field]:
        for number, value in fields:
            if number == _INITIALIZER and isinstance(value, bytes):
                yield number, initializer(value)
            elif number == _INPUT and isinstance(value, bytes) and (name := _first(value)) in (rows, *held):
                if name == rows:
                    yield number, _loosened(value)
            else:
                yield number, value
        yield from ((_INITIALIZER, _tensor(name, array)) for name, array in held.items() if name.encode() in graph)

    return _message(
        (number, _message(body(_fields(value))) if number == _GRAPH and isinstance(value, bytes) else value)
        for number, value in _fields(graph)
    )


def _tensor(name: str, array: np.ndarray) -> bytes:
    dims = ((_DIMS, size) for size in array.shape)
    return _message([*dims, (_TYPE, _TYPES[array.dtype]), (_NAME, name.encode()), (_RAW, array.tobytes())])


def _first(message: bytes) -> str:
    """A name, where that is the first field."""
    value = next(_fields(message))[1]
    return value.decode() if isinstance(value, bytes) else ""


def _loosened(value: bytes, path: Sequence[int] = (2, 1, 2)) -> bytes:
    """An input whose first dimension may be anything: what `path` leads to has one field for each."""
    fields = list(_fields(value))
    if not path:
        return _message([(1, _message([(2, b"rows")])), *fields[1:]])
    first, *rest = path
    return _message(
        (number, _loosened(inner, rest) if number == first and isinstance(inner, bytes) else inner)
        for number, inner in fields
    )


# -- the format --------------------------------------------------------------------------------------------------------


def _fields(message: bytes) -> Iterator[Field]:
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


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def _message(fields: Iterable[Field]) -> bytes:
    parts = list[bytes]()
    for number, value in fields:
        if isinstance(value, bytes):
            parts += [_varint(number << 3 | 2), _varint(len(value)), value]
        else:
            parts += [_varint(number << 3), _varint(value)]
    return b"".join(parts)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
