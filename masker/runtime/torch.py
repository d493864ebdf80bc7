"""The plain runtime: PyTorch on whatever device there is."""

import torch
from torch import Tensor

from masker.errors import MaskerError
from masker.model import PaddedMLM, SlotScores


class TorchRuntime:
    """Float32 on the CPU, bfloat16 on a GPU unless `exact`; only the masks are projected to the vocabulary."""

    def __init__(self, model: PaddedMLM, device: str | torch.device | None = None, *, exact: bool = False) -> None:
        try:
            self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
            self.model = model.to(self.device).eval()
        except (RuntimeError, AssertionError) as error:
            raise MaskerError(f"cannot use the device '{device}': {str(error).splitlines()[0]}") from error
        self.exact = exact

    @torch.inference_mode()
    def __call__(self, ids: Tensor, attention: Tensor, slots: Tensor, asked: Tensor, bias: Tensor | None) -> SlotScores:
        on = self.device
        with torch.autocast(on.type, torch.bfloat16, enabled=on.type == "cuda" and not self.exact):
            logits = self.model(ids.to(on), attention.to(on), slots.to(on)).float()  # [B, n_p, V]
        norm = logits.logsumexp(-1)  # [B, n_p]
        asked_log_p = logits.gather(2, asked.to(on)) - norm[:, :, None]
        top, best = (logits if bias is None else logits + bias.to(on)).max(-1)
        return SlotScores(best.cpu(), (top - norm).cpu(), asked_log_p.cpu())
