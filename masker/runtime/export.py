"""Writing the graphs of a model: encoder, projection to the vocabulary and scoring step, in float32 and int8."""

import copy
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxscript  # noqa: F401  (torch's exporter needs it, and would notice late)
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from masker.errors import MaskerError
from masker.model.claim import check_free
from masker.model.folder import GRAPHS, SETTINGS, fingerprint, local_folder, one_line, staged
from masker.model.padded_mlm import PaddedMLM
from masker.model.weights import Weights
from masker.runtime import rewriting
from masker.runtime.graphs import FLOAT32, FORMS, INT8, made_from, write_graphs

INPUTS = ("ids", "attention", "slots", "asked", "bias")
OUTPUTS = ("best_log_p", "best", "asked_log_p", "styles")


class _Scored(nn.Module):
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
    """Write the graphs of a model into its folder; or the model with them to `out`."""
    folder = out or (local_folder(name) if name is not None else None)
    if folder is None:
        what = "the embedded model has its graphs already" if name is None else f"there is no folder '{name}'"
        raise MaskerError(f"{what}; name a folder to write to with `out`")
    model = PaddedMLM.from_pretrained(name)
    if model.settings.domain_as != "token":
        raise MaskerError(
            "only a model with a token for each domain can be exported; fit it again (masker fit --domain-as token)"
        )
    if out is not None:
        check_free(out, SETTINGS)
        model.save_pretrained(out)
    with one_line(f"cannot export to {folder}"), staged(folder) as stage:
        _write(model, folder, stage)
    return folder / GRAPHS


@dataclass(frozen=True)
class Step:
    """A module to be exported. Its inputs are an example of the right kind, `varying` which of their dimensions vary;
    `feed` is what the graph is tried with, to see which columns are large; products of inputs with one more than `most`
    times as large as is usual stay in float32.
    """

    module: nn.Module
    inputs: Mapping[str, Tensor]
    varying: Mapping[str, Any]
    outputs: Sequence[str]
    feed: Mapping[str, np.ndarray]
    most: float = np.inf


def _write(model: PaddedMLM, folder: Path, stage: Path) -> None:
    """Write the graphs of `model`, whose weights are in `folder`, to `stage`."""
    saved = model.state_dict()
    weights = {name: array.reshape(_shape(saved, name, array)) for name, array in Weights(folder).items()}
    write_step(_step(model), weights, fingerprint(folder), stage, rewriting.choose)


def write_step(
    step: Step,
    weights: Mapping[str, np.ndarray],
    mark: str,
    stage: Path,
    change: Callable[[Any], None] = lambda _: None,
) -> None:
    """Write the graphs of a step to `stage`, with a `change` to them, for weights that have this `fingerprint`."""
    with tempfile.TemporaryDirectory() as scratch, _quiet():
        graph = _traced(step, Path(scratch) / "float32.onnx")
        change(graph)
        rewriting.turn_keys(graph)
        rewriting.untie(graph)
        known, int8 = _known(weights, {}), copy.deepcopy(graph)
        lacks = {FLOAT32: rewriting.detach(graph, known)}
        names = {t.name: known.get(rewriting.digest(onnx.numpy_helper.to_array(t))) for t in int8.graph.initializer}
        divided, hopeless = rewriting.even_out(int8, step.feed, step.most)
        shrink = {found.partition("|")[0]: by for name, by in divided.items() if (found := names[name])}
        int8 = _quantised(int8, Path(scratch), hopeless)
        lacks[INT8] = rewriting.detach(int8, _known(weights, shrink))
    used = {name.partition("|")[0] for names in lacks.values() for name in names}
    graphs = {FLOAT32: graph.SerializeToString(), INT8: int8.SerializeToString()}
    write_graphs(stage, mark, graphs, lacks, {name: weights[name].shape for name in sorted(used)}, shrink)


def _shape(saved: dict[str, Tensor], name: str, array: np.ndarray) -> tuple[int, ...]:
    """That of a weight whose file does not tell."""
    tensor = saved.get(f"mlm.{name}")
    return array.shape if tensor is None else tuple(tensor.shape)


def _known(weights: Mapping[str, np.ndarray], shrink: dict[str, np.ndarray]) -> dict[bytes, str]:
    """By their digests, the names of all that can be made from the weights."""
    known: dict[bytes, str] = {}
    for name, weight in weights.items():
        for form, array in made_from(weight, shrink.get(name), FORMS).items():
            known.setdefault(rewriting.digest(array), name + form)
    return known


def _step(model: PaddedMLM) -> Step:
    plain = copy.deepcopy(model, {id(model.vocabulary): model.vocabulary}).cpu().float().eval()
    plain._renew_head()
    plain.mlm.set_attn_implementation("eager")
    plain.attend = attend
    outputs = OUTPUTS[: 3 + (plain.style is not None)]
    return Step(_Scored(plain), *_example(plain), outputs, _random(model))


def _traced(step: Step, path: Path) -> Any:
    """The graph as torch exports it."""
    with torch.inference_mode():
        torch.onnx.export(
            step.module, tuple(step.inputs.values()), path, input_names=list(step.inputs),
            output_names=list(step.outputs), dynamic_shapes=dict(step.varying), dynamo=True, external_data=False,
            verbose=False,
        )  # fmt: skip
    return onnx.load(path)


def _quantised(graph: Any, scratch: Path, without: Sequence[str]) -> Any:
    """The graph with products in int8, but for those of these names."""
    onnx.save(graph, scratch / "float32.onnx")
    quantize_dynamic(
        scratch / "float32.onnx", scratch / "int8.onnx", op_types_to_quantize=["MatMul"], per_channel=True,
        weight_type=QuantType.QInt8, nodes_to_exclude=list(without),
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": 1},  # 1: float
    )  # fmt: skip
    return onnx.load(scratch / "int8.onnx")


def _example(model: PaddedMLM) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Inputs of the right kind, and which of their dimensions vary."""
    d = torch.export.Dim
    rows, length, slots, kinds = d("B", min=1), d("L", min=2, max=model.max_length), d("m"), d("K")
    ids = torch.full((3, 12), model.vocabulary.mask)
    where = torch.arange(4).expand(3, 4)
    inputs = (ids, torch.ones_like(ids), where, where[:, :, None].expand(3, 4, 2).clone(), torch.zeros(model._pieces))
    varying = ({0: rows, 1: length}, {0: rows, 1: length}, {0: rows, 1: slots}, {0: rows, 1: slots, 2: kinds}, None)
    return dict(zip(INPUTS, inputs, strict=True)), dict(zip(INPUTS, varying, strict=True))


def attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scaling: float) -> Tensor:
    """As `last_layer.plain`, in the products that the other layers are made of."""
    score = (q @ k.transpose(2, 3) * scaling).masked_fill(~seen[:, None, None, :].bool(), torch.finfo(q.dtype).min)
    return (score.softmax(-1) @ v).transpose(1, 2)


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
