"""How much arithmetic a masked input needs at least, and how fast this machine does such arithmetic."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from masker.errors import MaskerError


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder like BERT's and of its vocabulary."""

    layers: int
    hidden: int
    inner: int
    pieces: int

    @classmethod
    def of(cls, model: Any, name: str | None) -> "Shape":
        config = getattr(getattr(model, "mlm", None), "config", None)
        return cls._from(config.to_dict()) if config is not None else cls.read(name)

    @classmethod
    def read(cls, name: str | None) -> "Shape":
        """From the config of a model folder, or of the embedded model."""
        from masker.model.folder import local_folder, read_config

        folder = local_folder(name)
        if folder is None:
            raise MaskerError(f"there is no folder '{name}' here, and only models in folders can be timed")
        return cls._from(read_config(folder))

    @classmethod
    def _from(cls, config: dict[str, Any]) -> "Shape":
        return cls(*(config[k] for k in ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")))

    def products(self, tokens: int, slots: int) -> list[tuple[int, int, int, int]]:
        """Matrix products of a batch: how often, rows, inner size, columns. The last layer is for the masks only."""
        h, i, n = self.hidden, self.inner, self.layers
        return [
            (4 * (n - 1) + 2, tokens, h, h),
            (n - 1, tokens, h, i),
            (n - 1, tokens, i, h),
            (3, slots, h, h),
            (1, slots, h, i),
            (1, slots, i, h),
            (1, slots, h, self.pieces),
        ]

    def flops(self, tokens: int, rows: int, slots: int) -> float:
        """Useful floating-point operations of a batch, attention included."""
        products = sum(2.0 * times * a * b * c for times, a, b, c in self.products(tokens, rows * slots))
        length = tokens / rows
        return products + 4.0 * length * self.hidden * (tokens * (self.layers - 1) + rows * slots)


def matmul_rate(shape: Shape, rows: int, length: int) -> float:
    """Operations a second of those products alone, by torch in float32."""
    import torch

    with torch.inference_mode():
        made: dict[tuple[int, int, int], tuple[Any, Any]] = {}

        def product(a: int, b: int, c: int) -> Callable[[], Any]:
            x, w = made.setdefault((a, b, c), (torch.randn(a, b), torch.randn(c, b)))
            return lambda: torch.nn.functional.linear(x, w)

        return _rate(shape, rows, length, product)


def onnx_rate(shape: Shape, rows: int, length: int, *, int8: bool) -> float:
    """The same by ONNX Runtime, in float32 or with weights and activations in int8 and sums in int32."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    kinds = (TensorProto.UINT8, TensorProto.INT32) if int8 else (TensorProto.FLOAT, TensorProto.FLOAT)

    def product(a: int, b: int, c: int) -> Callable[[], Any]:
        weights = np.random.default_rng(0).integers(-127, 127, (b, c), dtype=np.int8)
        graph = helper.make_graph(
            [helper.make_node("MatMulInteger" if int8 else "MatMul", ["x", "w"], ["y"])],
            "product",
            [helper.make_tensor_value_info("x", kinds[0], [a, b])],
            [helper.make_tensor_value_info("y", kinds[1], [a, c])],
            [numpy_helper.from_array(weights if int8 else weights.astype(np.float32), "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        graph_bytes = model.SerializeToString()
        session = onnxruntime.InferenceSession(graph_bytes, options, providers=["CPUExecutionProvider"])
        x = np.random.default_rng(1).integers(0, 255, (a, b), dtype=np.uint8).astype(np.uint8 if int8 else np.float32)
        return lambda: session.run(None, {"x": x})

    return _rate(shape, rows, length, product)


def _rate(shape: Shape, rows: int, length: int, product: Callable[[int, int, int], Callable[[], Any]]) -> float:
    seconds = flops = 0.0
    for times, a, b, c in shape.products(rows * length, rows * 4):
        run = product(a, b, c)
        run()
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
        seconds += times * sorted(taken)[2]
        flops += 2.0 * times * a * b * c
    return flops / seconds
