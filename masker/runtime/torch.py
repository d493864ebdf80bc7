"""The plain runtime: PyTorch on whatever device there is."""

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.runtime import Array, SlotScores
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.runtime import chosen_device
from masker.runtime.memory import InParts


class TorchRuntime:
    """Float32 on the CPU, bfloat16 on a GPU unless `exact`; only the masks are projected to the vocabulary.

    A batch that does not fit into the GPU's memory is computed in parts.
    """

    exact = None
    _fused: Any

    def __init__(self, model: PaddedMLM, device: str | torch.device | None = None, *, exact: bool = False) -> None:
        try:
            self.device = torch.device(chosen_device(device))
            self.model = model.to(self.device).eval()
        except (RuntimeError, AssertionError) as error:
            raise MaskerError(f"cannot use the device '{device}': {str(error).splitlines()[0]}") from error
        self._fused = None
        gpu = self.device.type != "cpu"
        if gpu and not exact:
            self.model = copy.deepcopy(model, {id(model.vocabulary): model.vocabulary}).to(torch.bfloat16)
            self.model.mlm.resize_token_embeddings(None, pad_to_multiple_of=64, mean_resizing=False)  # faster products
            self.model._renew_head()
            self.model.mlm.set_attn_implementation("eager")  # faster than the others for texts as short as these
            self._fused = _kernels() if self.device.type == "cuda" else None
            if self._fused:
                self._fused.use_kernels(self.model.mlm)
                self.model.attend = self._fused.attend
        self.batch_tokens, self.chunk, self.prefetch = 1024, 32, 0
        if gpu:
            self.batch_tokens, self.chunk, self.prefetch = 1 << (19 if _is_large(self.device) else 17), 2048, 1
        self._in_parts = InParts()
        self._slots = 16_384 if gpu else 1 << 40  # projected to the vocabulary at a time

    def narrowed(self, pieces: np.ndarray) -> "TorchRuntime":
        return self

    def to_device(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(array)
        if self.device.type == "cuda":  # from pinned memory, or it would wait for all that the GPU has still to do
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    @torch.inference_mode()
    def __call__(
        self, ids: Array, attention: Array, slots: Array, asked: Array, bias: Array | None, top: int = 1
    ) -> SlotScores:
        inputs = [torch.as_tensor(x, device=self.device) for x in (ids, attention, slots, asked)]
        forbidden = None if bias is None else torch.as_tensor(bias, device=self.device)

        def scores(ids: Tensor, attention: Tensor, slots: Tensor, asked: Tensor) -> tuple[Tensor, ...]:
            hidden = self.model.at(ids, attention, slots)  # [B, m, H]
            rows = max(1, self._slots // hidden.shape[1])
            pairs = zip(hidden.split(rows), asked.split(rows), strict=True)
            parts = zip(*(self._scores(h, a, forbidden, top) for h, a in pairs), strict=True)
            return tuple(map(torch.cat, parts))

        with _on(self.device):
            return SlotScores(*(_beside(found, ids) for found in self._in_parts(scores, *inputs)))

    def _scores(self, hidden: Tensor, asked: Tensor, bias: Tensor | None, top: int) -> tuple[Tensor, Tensor, Tensor]:
        """[B, m, H] -> best and its log p [B, m, top], and log p of what is asked about [B, m, K]."""
        logits = self.model.logits(hidden)  # [B, m, V]
        if self._fused:
            best, best_logit, norm = self._fused.best_and_norm(logits, bias)
            asked_log_p = logits.gather(2, asked) - norm
            if top > 1:
                best_logit, best = (logits if bias is None else logits.add_(bias)).topk(top)
            return best[:, :, :top], (best_logit - norm)[:, :, :top], asked_log_p
        log_p = logits.log_softmax(-1, dtype=torch.float32)  # reads the logits less often than logsumexp does
        asked_log_p = log_p.gather(2, asked)
        if not top:
            return asked[:, :, :0], asked_log_p[:, :, :0], asked_log_p
        allowed = logits if bias is None else logits.add_(bias)
        best = allowed.argmax(-1, keepdim=True) if top == 1 else allowed.topk(top).indices  # [B, m, top]
        best_log_p = log_p.gather(2, best)
        return best, best_log_p if bias is None else best_log_p + bias[best], asked_log_p

    @torch.inference_mode()
    def styles(self, ids: Array, attention: Array) -> Array:
        inputs = [torch.as_tensor(x, device=self.device) for x in (ids, attention)]
        with _on(self.device):
            (found,) = self._in_parts(lambda *part: (self.model.style_logits(*part).float().log_softmax(-1),), *inputs)
            return _beside(found, ids)


def _on(device: torch.device) -> AbstractContextManager[Any]:
    """Triton's kernels run where the process is told to be, wherever their inputs are."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _is_large(device: torch.device) -> bool:
    """Whether it has memory for batches so large that little time is lost between them."""
    return device.type == "cuda" and torch.cuda.get_device_properties(device).total_memory > 60 << 30


def _kernels() -> Any:
    """The kernels for CUDA; None where Triton is not installed, or has no C compiler to work with."""
    try:
        from masker.runtime import kernels

        kernels.best_and_norm(torch.zeros(1, 1, 2, device="cuda", dtype=torch.bfloat16), None)
    except Exception:  # of many kinds; PyTorch alone gives the same answers, more slowly
        return None
    return kernels


def _beside(tensor: Tensor, other: Array) -> Array:
    """A result of the kind of an input, and where it is."""
    return tensor.cpu().numpy() if isinstance(other, np.ndarray) else tensor.to(other.device)
