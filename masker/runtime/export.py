"""Writing a model as one ONNX file: the encoder, the projection to the vocabulary and the scoring step, in int8."""

import copy
import json
import logging
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from masker.errors import MaskerError, missing
from masker.model.folder import SETTINGS, one_line, save_style, staged
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.onnx import EXACT, FILE, cache

INPUTS = ("ids", "attention", "slots", "asked", "bias")
OUTPUTS = ("best_log_p", "best", "asked_log_p", "styles")


class _Step(nn.Module):
    """All that a runtime does for a batch, so that no logits leave the graph."""

    def __init__(self, model: PaddedMLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, attention: Tensor, slots: Tensor, asked: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        hidden = self.model.at(ids, attention, slots)  # [B, m, H]
        log_p = self.model.logits(hidden).log_softmax(-1)  # [B, m, V]
        best_log_p, best = (log_p + bias).topk(8)  # 8: replaced by the input `top` below
        results = (best_log_p, best, log_p.gather(2, asked))
        if self.model.style is None:
            return results
        return *results, self.model.style(hidden[:, 0]).log_softmax(-1)


def export(name: str | Path | None, out: Path | None = None) -> Path:
    """Write the ONNX file of a model, and what it needs beside it, to `out`.

    Without `out` it goes into the model's folder; the embedded model's goes to the user's cache.
    """
    if out is None and name is not None and not Path(name).expanduser().is_dir():
        raise MaskerError(f"there is no folder '{name}' to write to; name one with `out`")
    folder = out or (cache() if name is None else Path(name).expanduser())
    model = PaddedMLM.from_pretrained(name)
    with one_line(f"cannot export to {folder}"), staged(folder) as stage:
        write_onnx(model, stage)
        if name is None or folder.resolve() != Path(name).expanduser().resolve():
            model.vocabulary.tokenizer.save_pretrained(stage)
            save_style(model, stage)
            settings = json.dumps(model.settings.to_dict(), indent=2, ensure_ascii=False)
            (stage / SETTINGS).write_text(settings + "\n", "utf-8")
    return folder / FILE


def write_onnx(model: PaddedMLM, folder: Path) -> None:
    """Write `model` to `folder` twice, in int8 and in float32."""
    if model.settings.domain_as != "token":
        raise MaskerError(
            "only a model with a token for each domain can be exported; fit it again (masker fit --domain-as token)"
        )
    try:
        import onnx
        import onnxscript  # noqa: F401
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise missing("onnx", "exporting a model") from error

    plain = copy.deepcopy(model, {id(model.vocabulary): model.vocabulary}).cpu().float().eval()
    plain._renew_head()
    plain.mlm.set_attn_implementation("eager")
    plain.attend = _attend
    with tempfile.TemporaryDirectory() as scratch, _quiet():
        inputs, shapes = _example(plain)
        with torch.inference_mode():
            torch.onnx.export(
                _Step(plain), inputs, folder / EXACT, input_names=INPUTS, dynamic_shapes=shapes, dynamo=True,
                output_names=OUTPUTS[: 3 + (plain.style is not None)], external_data=False, verbose=False,
            )  # fmt: skip
        graph = onnx.load(folder / EXACT)
        _choose(graph, onnx)
        _turn_keys(graph, onnx)
        onnx.save(graph, folder / EXACT)
        _untie(graph, onnx)
        _even_out(graph, onnx, _random(plain))
        onnx.save(graph, Path(scratch) / FILE)
        quantize_dynamic(
            Path(scratch) / FILE, folder / FILE, op_types_to_quantize=["MatMul", "Gather"], per_channel=True,
            weight_type=QuantType.QInt8, extra_options={"MatMulConstBOnly": True, "DefaultTensorType": 1},  # 1: float
        )  # fmt: skip


def _example(model: PaddedMLM) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
    """Inputs of the right kind, and which of their dimensions vary."""
    d = torch.export.Dim
    rows, length, slots, kinds = d("B", min=1), d("L", min=2, max=model.max_length), d("m"), d("K")
    ids = torch.full((3, 12), model.vocabulary.mask)
    where = torch.arange(4).expand(3, 4)
    inputs = (ids, torch.ones_like(ids), where, where[:, :, None].expand(3, 4, 2).clone(), torch.zeros(model._pieces))
    varying = ({0: rows, 1: length}, {0: rows, 1: length}, {0: rows, 1: slots}, {0: rows, 1: slots, 2: kinds}, None)
    return inputs, dict(zip(INPUTS, varying, strict=True))


def _attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scaling: float) -> Tensor:
    """As `_last_layer.plain`, in the products that the other layers are made of."""
    score = (q @ k.transpose(2, 3) * scaling).masked_fill(~seen[:, None, None, :].bool(), torch.finfo(q.dtype).min)
    return (score.softmax(-1) @ v).transpose(1, 2)


def _choose(model: Any, onnx: Any) -> None:
    """The input `top` says how many best pieces are wanted: torch can only export a constant.

    Where they are all allowed, as they mostly are, `bias` need not be added to all of the vocabulary.
    """
    graph, node = model.graph, onnx.helper.make_node
    (topk,) = [node for node in graph.node if node.op_type == "TopK"]
    (add,) = [node for node in graph.node if topk.input[0] in node.output]
    log_p = next(name for name in add.input if name != "bias")
    graph.node.remove(topk)
    graph.node.remove(add)

    def branch(name: str, *nodes: Any) -> Any:
        results = [onnx.helper.make_tensor_value_info(f"{name}_{k}", kind, None) for k, kind in enumerate((1, 7))]
        return onnx.helper.make_graph(nodes, name, [], results)

    graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((), np.float32), "no_bias"))
    among = node("Add", [log_p, "bias"], ["allowed"])
    anew = branch("anew", among, node("TopK", ["allowed", "top"], ["anew_0", "anew_1"]))
    same = branch("same", node("Identity", ["free_log_p"], ["same_0"]), node("Identity", ["free"], ["same_1"]))
    graph.node.extend([
        node("TopK", [log_p, "top"], ["free_log_p", "free"]),
        node("Gather", ["bias", "free"], ["free_bias"]),
        node("ReduceMin", ["free_bias"], ["least_bias"], keepdims=0),
        node("Less", ["least_bias", "no_bias"], ["refused"]),
        node("If", ["refused"], list(topk.output), then_branch=anew, else_branch=same),
    ])  # fmt: skip
    graph.input.append(onnx.helper.make_tensor_value_info("top", onnx.TensorProto.INT64, [1]))
    for output in graph.output:
        if output.name in ("best", "best_log_p"):
            output.type.tensor_type.shape.dim[2].Clear()
    del graph.value_info[:]


def _turn_keys(model: Any, onnx: Any) -> None:
    """Let the product of queries and keys turn the keys: to move every number by itself takes five times as long."""
    turns = {node.output[0]: node for node in model.graph.node if node.op_type == "Transpose" and node.attribute}
    times_used = Counter(name for node in model.graph.node for name in node.input)
    for node in model.graph.node:
        turn = turns.get(node.input[1]) if node.op_type == "MatMul" and times_used[node.input[1]] == 1 else None
        if turn is not None and list(turn.attribute[0].ints) == [0, 2, 3, 1]:
            turn.attribute[0].ints[:] = [0, 2, 1, 3]
            node.op_type, node.domain = "FusedMatMul", "com.microsoft"
            node.attribute.append(onnx.helper.make_attribute("transB", 1))
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))


def _untie(model: Any, onnx: Any) -> None:
    """Give the output projection a matrix of its own: the embeddings transposed at every call could not be int8."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in list(model.graph.node):
        if node.op_type == "Transpose" and node.input[0] in weights:
            matrix = onnx.numpy_helper.to_array(weights[node.input[0]]).T.copy()
            model.graph.initializer.append(onnx.numpy_helper.from_array(matrix, node.output[0]))
            model.graph.node.remove(node)


def _even_out(model: Any, onnx: Any, feed: dict[str, np.ndarray]) -> None:
    """Divide the few columns that are many times larger than the others before they are multiplied with weights.

    int8 has one scale for all columns of an input, and would leave the small ones a handful of values. Which columns
    are large depends on the encoder much more than on the text. Their weights are multiplied instead.
    """
    from onnxruntime import InferenceSession, SessionOptions

    graph, to_array, from_array = model.graph, onnx.numpy_helper.to_array, onnx.numpy_helper.from_array
    weights = {tensor.name: tensor for tensor in graph.initializer}
    products: dict[str, list[Any]] = {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            products.setdefault(node.input[0], []).append(node)
    watched, options = copy.deepcopy(model), SessionOptions()
    watched.graph.output.extend(onnx.helper.make_tensor_value_info(name, 1, None) for name in products)
    options.log_severity_level = 3
    session = InferenceSession(watched.SerializeToString(), options, providers=["CPUExecutionProvider"])
    times_used = Counter(name for node in graph.node for name in node.input)
    for (name, nodes), seen in zip(products.items(), session.run(list(products), feed), strict=True):
        size = np.abs(seen).reshape(-1, seen.shape[-1]).max(0)
        usual = np.median(size)
        shared = any(times_used[node.input[1]] > 1 for node in nodes)  # by several layers
        if shared or not usual or size.max() < 8 * usual:
            continue
        shrink = np.minimum(1, 4 * usual / size.clip(usual)).astype(np.float32)
        for node in nodes:
            weight = weights[node.input[1]]
            weight.CopyFrom(from_array(to_array(weight) / shrink[:, None], weight.name))
            node.input[0] = f"{name}_even"
        graph.initializer.append(from_array(shrink, f"{name}_shrink"))
        at = list(graph.node).index(nodes[0])
        graph.node.insert(at, onnx.helper.make_node("Mul", [name, f"{name}_shrink"], [f"{name}_even"]))


def _random(model: PaddedMLM) -> dict[str, np.ndarray]:
    """Inputs of pieces at random, with masks among them."""
    frame, window = model.frame, min(20, model.settings.window)
    body = np.random.default_rng(0).choice(np.flatnonzero(model.vocabulary.infillable), (64, window))
    body[:, window // 2 : window // 2 + frame.n_p] = frame.mask
    domain = [model.vocabulary.domain(name) for name in model.domains[:1]]
    ids = np.array([[*frame.start, *domain, *row, *frame.end] for row in body.tolist()])
    slots = np.zeros((len(ids), 1), np.int64)
    feed = {"ids": ids, "attention": np.ones_like(ids), "slots": slots, "asked": slots[:, :, None]}
    return {**feed, "bias": np.zeros(model._pieces, np.float32), "top": np.ones(1, np.int64)}


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter and the quantiser report a great deal that nobody can act on."""
    loggers = [logging.getLogger(name) for name in (None, "torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
