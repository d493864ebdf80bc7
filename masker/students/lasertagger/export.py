"""Writing the graphs of a tagger for ONNX Runtime: encoder, head, and the best tag of every word."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from masker.errors import MaskerError
from masker.model.folder import GRAPHS, one_line, staged
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.export import Step, write_step
from masker.students.base import Student, owner
from masker.students.lasertagger.light import BASE, TaggerWeights, mark_of
from masker.students.lasertagger.network import Tagger
from masker.students.lasertagger.student import LaserTagger


class _Tagged(nn.Module):
    def __init__(self, model: Tagger) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, attention: Tensor, slots: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        return self.model.predict(ids, attention, slots, keep)


def export_student(folder: Path) -> Path:
    """Write the graphs of a student into its folder."""
    student = Student.from_pretrained(folder, device="cpu", exported=False)
    if not isinstance(student, LaserTagger) or student.decoder != "feedforward":
        raise MaskerError(f"the student in {folder} cannot be exported; only a feed-forward lasertagger can")
    base = owner(folder) if student.shared else None
    saved = student.model.state_dict()
    if base:
        saved |= {
            BASE + name.removeprefix("mlm."): t for name, t in PaddedMLM.from_pretrained(base).state_dict().items()
        }
    weights = {
        name: array.reshape(tuple(saved[name].shape) if name in saved else array.shape)
        for name, array in TaggerWeights(folder, base).items()
    }
    with one_line(f"cannot export to {folder}"), staged(folder) as stage:
        write_step(_step(student), weights, mark_of(folder, base), stage)
    return folder / GRAPHS


def _step(student: LaserTagger) -> Step:
    model = student.model.float().eval()
    model.encoder.body.set_attn_implementation("eager")
    d, window, v = torch.export.Dim, student.window, student.vocabulary
    rows, length, words = d("B", min=1), d("L", min=2, max=window), d("W")
    body = np.random.default_rng(0).choice(np.flatnonzero(v.infillable), (64, min(16, window - 4)))
    domain = [v.domain(name) for name in student.targets[:1]]
    ids = torch.tensor([[*v.start, *domain, *row, *v.end] for row in body.tolist()])
    slots = torch.arange(4).expand(len(ids), 4).clone()
    inputs = {"ids": ids, "attention": torch.ones_like(ids), "slots": slots, "keep": torch.zeros(1)}
    both = {0: rows, 1: length}
    varying = {"ids": both, "attention": both, "slots": {0: rows, 1: words}, "keep": None}
    feed = {name: tensor.numpy() for name, tensor in inputs.items()}
    return Step(_Tagged(model), inputs, varying, ("best", "sure"), feed)
