"""A graph with its weights as one ONNX file, for other runtimes, such as a browser's; written without the package onnx.

All but what is lacking is copied as it is.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from masker.runtime import protobuf
from masker.runtime.protobuf import Field, fields, message, name_of, tensor_of, with_first_dimension

ANY = message([(2, b"rows")])  # a dimension that may be anything


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
        inside = list(fields(tensor))
        name = next(value for number, value in inside if number == protobuf.NAME)
        assert isinstance(name, bytes)
        known = name.decode()
        if known in elsewhere:
            place = {"location": "elsewhere", "offset": str(starts[known]), "length": str(elsewhere[known])}
            kept = [field for field in inside if field[0] != protobuf.EXTERNAL]
            entries = (message([(1, key.encode()), (2, value.encode())]) for key, value in place.items())
            return message([*kept, *((protobuf.EXTERNAL, entry) for entry in entries)])
        return tensor_of(known, weights[known]) if known in weights else tensor

    def body(inside: Iterator[Field]) -> Iterator[Field]:
        for number, value in inside:
            if number == protobuf.INITIALIZER and isinstance(value, bytes):
                yield number, initializer(value)
            elif number == protobuf.INPUT and isinstance(value, bytes) and (name := name_of(value)) in (rows, *held):
                if name == rows:
                    yield number, with_first_dimension(value, ANY)
            else:
                yield number, value
        for name, array in held.items():
            if name.encode() in graph:
                yield protobuf.INITIALIZER, tensor_of(name, array)

    return protobuf.in_graph(graph, body)
