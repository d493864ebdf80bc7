"""Changes to a graph that torch has exported: what torch cannot say, what int8 needs, and the weights taken out."""

import copy
import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from masker.runtime.graphs import TABLE, TURNED


def choose(model: Any) -> None:
    """The input `top` says how many best pieces are wanted: torch can only export a constant.

    Where they are all allowed, as they mostly are, `bias` need not be added to all of the vocabulary.
    """
    graph, node = model.graph, helper.make_node
    (topk,) = [node for node in graph.node if node.op_type == "TopK"]
    (add,) = [node for node in graph.node if topk.input[0] in node.output]
    log_p = next(name for name in add.input if name != "bias")
    graph.node.remove(topk)
    graph.node.remove(add)

    def branch(name: str, *nodes: Any) -> Any:
        results = [helper.make_tensor_value_info(f"{name}_{k}", kind, None) for k, kind in enumerate((1, 7))]
        return helper.make_graph(nodes, name, [], results)

    graph.initializer.append(numpy_helper.from_array(np.zeros((), np.float32), "no_bias"))
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
    graph.input.append(helper.make_tensor_value_info("top", TensorProto.INT64, [1]))
    for output in graph.output:
        if output.name in ("best", "best_log_p"):
            output.type.tensor_type.shape.dim[2].Clear()
    del graph.value_info[:]


def turn_keys(model: Any) -> None:
    """Let the product of queries and keys turn the keys: to move every number by itself takes five times as long."""
    turns = {node.output[0]: node for node in model.graph.node if node.op_type == "Transpose" and node.attribute}
    times_used = Counter(name for node in model.graph.node for name in node.input)
    for node in model.graph.node:
        turn = turns.get(node.input[1]) if node.op_type == "MatMul" and times_used[node.input[1]] == 1 else None
        if turn is not None and list(turn.attribute[0].ints) == [0, 2, 3, 1]:
            turn.attribute[0].ints[:] = [0, 2, 1, 3]
            _turn(node)
    del model.graph.value_info[:]  # shapes that are others now
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))


def untie(model: Any) -> None:
    """Give the output projection a matrix of its own: the embeddings are turned at every call otherwise."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in list(model.graph.node):
        if node.op_type == "Transpose" and node.input[0] in weights:
            matrix = numpy_helper.to_array(weights[node.input[0]]).T.copy()
            model.graph.initializer.append(numpy_helper.from_array(matrix, node.output[0]))
            model.graph.node.remove(node)


def even_out(
    model: Any, feed: Mapping[str, np.ndarray], most: float = np.inf
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Divide the few columns that are many times larger than the others before they are multiplied with weights.

    int8 has one scale for all columns of an input, and would leave the small ones a handful of values. Which columns
    are large depends on the encoder much more than on the text. Their weights are multiplied instead. Gives what each
    weight has been divided by; and the products whose inputs have a column more than `most` times as large as is usual,
    which are beyond help.
    """
    from onnxruntime import InferenceSession, SessionOptions

    graph, to_array, from_array = model.graph, numpy_helper.to_array, numpy_helper.from_array
    weights = {tensor.name: tensor for tensor in graph.initializer}
    products: dict[str, list[Any]] = {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            products.setdefault(node.input[0], []).append(node)
    watched, options = copy.deepcopy(model), SessionOptions()
    watched.graph.output.extend(helper.make_tensor_value_info(name, 1, None) for name in products)
    options.log_severity_level = 3
    session = InferenceSession(watched.SerializeToString(), options, providers=["CPUExecutionProvider"])
    times_used = Counter(name for node in graph.node for name in node.input)
    divided: dict[str, np.ndarray] = {}
    hopeless: list[str] = []
    for (name, nodes), seen in zip(products.items(), session.run(list(products), dict(feed)), strict=True):
        size = np.abs(seen).reshape(-1, seen.shape[-1]).max(0)
        usual = np.median(size)
        shared = any(times_used[node.input[1]] > 1 for node in nodes)  # by several layers
        if size.max() > most * usual:
            hopeless += [node.name for node in nodes]
            continue
        if shared or not usual or size.max() < 8 * usual:
            continue
        shrink = np.minimum(1, 4 * usual / size.clip(usual)).astype(np.float32)
        for node in nodes:
            weight = weights[node.input[1]]
            weight.CopyFrom(from_array(to_array(weight) / shrink[:, None], weight.name))
            node.input[0], divided[weight.name] = f"{name}_even", shrink
        graph.initializer.append(from_array(shrink, f"{name}_shrink"))
        at = list(graph.node).index(nodes[0])
        graph.node.insert(at, helper.make_node("Mul", [name, f"{name}_shrink"], [f"{name}_even"]))
    return divided, hopeless


def digest(array: np.ndarray) -> bytes:
    """What arrays of the same numbers have in common."""
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).digest()


def detach(model: Any, known: Mapping[bytes, str]) -> list[str]:
    """Take out of a graph what can be made from the stored weights, and name it so; gives the names.

    What embeddings are looked up in becomes an input, for all graphs to share it. Products turn weights by themselves.
    """
    graph, lacks = model.graph, dict[str, Any]()
    names = {tensor.name: known.get(digest(numpy_helper.to_array(tensor))) for tensor in graph.initializer}
    there = {tensor.name: tensor for tensor in graph.initializer if names[tensor.name]}
    for node in graph.node:
        for k, given in enumerate(node.input):
            if not (name := names.get(given)):
                continue
            dims = list(there[given].dims)
            if node.op_type == "Gather" and k == 0:
                name += TABLE
            elif node.op_type == "MatMul" and k == 1 and name.endswith(TURNED):
                name, dims = name.removesuffix(TURNED), dims[::-1]
                _turn(node)
            node.input[k], lacks[name] = name, (there[given].data_type, dims)
    for tensor in there.values():
        graph.initializer.remove(tensor)
    for name, (kind, dims) in lacks.items():
        if name.endswith(TABLE):
            graph.input.append(helper.make_tensor_value_info(name, kind, dims))
        else:
            tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
            tensor.external_data.add(key="location", value="weights")  # as ONNX wants it; there is no such file
            graph.initializer.append(tensor)
    return list(lacks)


def _turn(product: Any) -> None:
    """Have a product turn its second matrix."""
    product.op_type, product.domain = "FusedMatMul", "com.microsoft"
    product.attribute.append(helper.make_attribute("transB", 1))
