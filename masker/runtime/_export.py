"""Writing a model as one ONNX file: the encoder, the projection to the vocabulary and the scoring step, in int8."""

import copy
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from masker._files import SETTINGS, one_line, save_style, staged
from masker.errors import MaskerError
from masker.model import PaddedMLM
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
        raise MaskerError(f"there is no folder '{name}' to write to; name one with --out")
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
        raise MaskerError("only a model with a token for each domain can be exported; fit it with --domain-as token")
    try:
        import onnx
        import onnxscript  # noqa: F401
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise MaskerError("exporting needs ONNX; install it with: pip install 'masker-nlp[onnx]'") from error

    plain = copy.deepcopy(model, {id(model.vocabulary): model.vocabulary}).cpu().float().eval()
    plain._renew_head()
    plain.mlm.set_attn_implementation("eager")
    with tempfile.TemporaryDirectory() as scratch, _quiet():
        inputs, shapes = _example(plain)
        with torch.inference_mode():
            torch.onnx.export(
                _Step(plain), inputs, folder / EXACT, input_names=INPUTS, dynamic_shapes=shapes, dynamo=True,
                output_names=OUTPUTS[: 3 + (plain.style is not None)], external_data=False, verbose=False,
            )  # fmt: skip
        graph = onnx.load(folder / EXACT)
        _top_as_input(graph, onnx)
        onnx.save(graph, folder / EXACT)
        _untie(graph, onnx)
        onnx.save(graph, Path(scratch) / FILE)
        quantize_dynamic(
            Path(scratch) / FILE, folder / FILE, op_types_to_quantize=["MatMul", "Gather"], per_channel=True,
            weight_type=QuantType.QInt8, extra_options={"MatMulConstBOnly": True},
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


def _top_as_input(model: Any, onnx: Any) -> None:
    """How many best pieces are wanted becomes an input: torch can only export a constant."""
    (node,) = [node for node in model.graph.node if node.op_type == "TopK"]
    node.input[1] = "top"
    model.graph.input.append(onnx.helper.make_tensor_value_info("top", onnx.TensorProto.INT64, [1]))
    for output in model.graph.output:
        if output.name in ("best", "best_log_p"):
            output.type.tensor_type.shape.dim[2].Clear()
    del model.graph.value_info[:]


def _untie(model: Any, onnx: Any) -> None:
    """Give the output projection a matrix of its own: the embeddings transposed at every call could not be int8."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in list(model.graph.node):
        if node.op_type == "Transpose" and node.input[0] in weights:
            matrix = onnx.numpy_helper.to_array(weights[node.input[0]]).T.copy()
            model.graph.initializer.append(onnx.numpy_helper.from_array(matrix, node.output[0]))
            model.graph.node.remove(node)


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
