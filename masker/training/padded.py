"""Training a padded MLM, the same for fitting domains and for pretraining: the task, and the folder that it fills.

All randomness of a step (its rows, its spans, its dropout) follows from the seed and the step's number alone, so a run
that was killed goes on as if nothing had happened, and several processes see what one would have seen.
"""

from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.padding import IGNORE, Masked
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM, embeddings
from masker.runtime.memory import halved
from masker.training import checkpoint, loop
from masker.training.accuracy import span_accuracy, style_accuracy
from masker.training.examples import EncodedCorpus, segment
from masker.training.objective import STYLED, Objective, WholeTexts
from masker.training.progress import Progress, Report, Score, State
from masker.training.settings import TrainSettings
from masker.training.task import Task

SHORT = 64  # pieces of a text on average, below which plain attention is faster on a GPU


@dataclass(frozen=True)
class Result:
    """How a run ended. The model holds the best checkpoint's weights."""

    steps: int
    best_step: int
    span_accuracy: float
    style_accuracy: float | None  # of the style classifier, in percent; None where there is none
    seconds: float
    stopped_early: bool


def train(
    model: PaddedMLM,
    corpus: EncodedCorpus,
    held_out: EncodedCorpus,
    settings: TrainSettings,
    *,
    domains: bool,
    out: Path,
    kept: int = 0,
    resume: bool = False,
    report: Report = lambda _: None,
) -> Result:
    """Train `model` in place; checkpoints, metrics.jsonl and TensorBoard events go to the folder `out`.

    The embeddings of the first `kept` pieces stay as they are and, if there are any, those of positions, too. Several
    processes share the batch of a step; on several machines `out` has to be a folder that all of them see.
    """
    if not len(corpus) or not len(held_out):
        raise MaskerError(f"there are {len(corpus)} texts to train on and {len(held_out)} held out; both need some")
    accelerator = _accelerator(settings.precision)
    settings.part(accelerator.num_processes)  # refuses a batch that cannot be shared equally
    steps = loop.Schedule(corpus.lengths.numpy(), settings).steps
    run = _fingerprint(model, corpus, held_out, settings, steps)
    pieces = model.mlm.get_input_embeddings().num_embeddings
    loop.set_dropout(model, settings.dropout)
    _resize(model, -(-pieces // 64) * 64)  # products of such a size are far faster on a GPU
    task = SpanTask(model, corpus, held_out, settings, accelerator, domains=domains, out=out, kept=kept, run=run)
    state = loop.train(
        task, settings, task.optimizer, state=task.begin(resume=resume),
        report=report if accelerator.is_main_process else lambda _: None,
    )  # fmt: skip
    _resize(model, pieces)
    accelerator.wait_for_everyone()  # before the checkpoints are thrown away
    best = state.best or Score(0.0, 0.0)
    early = state.step < steps
    return Result(
        state.step, state.best_step, best.value, best.details.get("style_accuracy"), state.seconds, stopped_early=early
    )


class SpanTask(Task):
    """Spans of a corpus to be filled, and whole texts for the style classifier.

    The batch of a step is drawn by every process, and each computes its share of it, in `accumulate` parts.
    """

    def __init__(
        self,
        model: PaddedMLM,
        corpus: EncodedCorpus,
        held_out: EncodedCorpus,
        settings: TrainSettings,
        accelerator: Any,
        *,
        domains: bool,
        out: Path,
        kept: int,
        run: dict[str, Any],
    ) -> None:
        self.model, self.settings, self.accelerator, self.domains = model, settings, accelerator, domains
        self.out, self.run = out, run
        self.lengths, self.domain = corpus.lengths.numpy(), corpus.domain.numpy()
        self.corpus, self.held_out = corpus.to(accelerator.device), held_out.to(accelerator.device)
        if accelerator.device.type == "cuda" and self.lengths.mean() < SHORT:
            model.mlm.set_attn_implementation("eager")  # the fused kernels are made for longer texts
        self._size = _largest(model) if settings.compile else None
        optimizer = loop.adamw(model, settings, accelerator.device, betas=(0.9, 0.98), eps=1e-6)
        if kept:
            _keep_embeddings(model, kept, optimizer)
        self.module, self.optimizer = accelerator.prepare(Objective(model, compiled=settings.compile), optimizer)
        self._log: checkpoint.Log | None = None

    def begin(self, *, resume: bool) -> State:
        """The state to start from: that of the last checkpoint, or a new one in a folder without leftovers."""
        state = State()
        if resume:
            state = checkpoint.load(self.out, self.model, self.optimizer, self.run)
        elif self.accelerator.is_main_process:
            checkpoint.start(self.out)
        if self.accelerator.is_main_process:
            self._log = checkpoint.Log(self.out, state.step)
        return state

    def _halve(self, rows: np.ndarray, error: Exception) -> None:
        self.settings = _in_smaller_parts(self.settings, self.accelerator.num_processes, error)

    def _backward(self, rows: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        accelerator, processes = self.accelerator, self.accelerator.num_processes
        batch = torch.from_numpy(rows).to(accelerator.device)
        masked = self._draw(batch, step)
        count = (masked.targets != IGNORE).sum().clamp(min=1)  # of the whole batch: all parts weigh by what they hold
        judged = len(batch[step % STYLED :: STYLED]) or 1
        total = torch.zeros((), device=accelerator.device)
        size = self.settings.part(processes)
        for k in range(self.settings.accumulate):
            first = (k * processes + accelerator.process_index) * size
            part = slice(first, first + size)
            length = self._size[0] if self._size else None
            whole = WholeTexts.draw(self.model, self.corpus, batch[part], (step - first) % STYLED, length)
            last = k == self.settings.accumulate - 1
            with nullcontext() if last else accelerator.no_sync(self.module), accelerator.autocast():
                spans, styles = self.module(_rows(masked, part), whole)
                loss = spans / count + self.settings.style * styles / judged
            accelerator.backward(loss * processes)  # gradients of processes are averaged
            total += spans.detach() / count * processes
        return total, masked.attention.sum()

    def _draw(self, batch: Tensor, step: int) -> Masked:
        """The masked batch, the same for all processes; sets the seed of dropout, which is not."""
        seed = (self.settings.seed * 1_000_003 + step * 7919) % (1 << 62)
        torch.manual_seed(seed + 1 + self.accelerator.process_index)
        return self.corpus.draw(
            batch, self.model.frame, torch.Generator(self.accelerator.device).manual_seed(seed), domains=self.domains,
            revealed=self.settings.reveal, size=self._size,
        )  # fmt: skip

    def clip(self, norm: float) -> None:
        self.accelerator.clip_grad_norm_(self.module.parameters(), norm)

    def number(self, loss: Tensor) -> float:
        return float(self.accelerator.reduce(loss, "mean"))

    def evaluate(self) -> Score:
        from accelerate.utils import broadcast_object_list

        scores = span_accuracy(self.model, self.held_out, domains=self.domains, seed=self.settings.seed)
        value, loss = broadcast_object_list(list(scores))  # so that all processes stop together
        styled = self.model.style is not None
        return Score(value, loss, {"style_accuracy": style_accuracy(self.model, self.held_out)} if styled else {})

    def keep(self, state: State, progress: Progress, *, improved: bool) -> None:
        if self._log and (score := state.newest):
            self._log.write(
                state.step, loss=progress.loss, held_out_loss=score.loss, span_accuracy=score.value, lr=progress.lr,
                tokens_per_second=progress.tokens_per_second, seconds=state.seconds, **score.details,
            )  # fmt: skip
            checkpoint.save(self.out, self.model, self.optimizer, state, self.run, best=improved)
        self.accelerator.wait_for_everyone()

    def restore(self) -> None:
        if self._log:
            self._log.close()
        self.accelerator.unwrap_model(self.module, keep_fp32_wrapper=False)
        checkpoint.load_best(self.out, self.model)


def _accelerator(precision: str) -> Any:
    from accelerate import Accelerator

    if precision == "auto":
        precision = "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "fp32"
    try:
        return Accelerator(mixed_precision="no" if precision == "fp32" else precision)
    except ValueError as error:  # fp16 on a CPU, or a second precision in one process
        raise MaskerError(f"cannot train with `precision` {precision}: {error}") from error


def _fingerprint(
    model: PaddedMLM, corpus: EncodedCorpus, held_out: EncodedCorpus, settings: TrainSettings, steps: int
) -> dict[str, Any]:
    """What the weights of a run depend on: it can only be resumed with the same."""
    data = corpus.fingerprint() + held_out.fingerprint()
    shape = f"{model.mlm.config.model_type} of {sum(p.numel() for p in model.parameters())} parameters"
    run = {**asdict(model.settings), **asdict(settings), "data": data, "model": shape, "steps": steps}
    return {name: value for name, value in run.items() if name not in ("workers", "made")}  # they change no weight


def _in_smaller_parts(settings: TrainSettings, processes: int, error: Exception) -> TrainSettings:
    """The same steps, computed in parts of at most half as many rows; processes would have to agree on it."""
    if processes > 1:
        remedy = f"raise `accumulate`, which is {settings.accumulate}, or lower `batch_size`"
        raise MaskerError(f"out of memory with {settings.part(processes)} rows at a time; {remedy}") from error
    most = halved(settings.part(), "rows of a batch", error)
    rows = max(size for size in range(1, most + 1) if settings.batch_size % size == 0)
    return replace(settings, accumulate=settings.batch_size // rows)


def _largest(model: PaddedMLM) -> tuple[int, int]:
    """How long rows are where all are made equally long, and how many masks they can have.

    Where rows have many spans, there is room for three quarters of what their masks could take: it is rarely needed,
    and spans for which it is not enough are not masked.
    """
    frame, window = model.frame, model.settings.window
    spans = 1 if model.domains else max(1, round(window / segment(frame.n_p)))
    room = frame.n_p if spans == 1 else spans * frame.n_p * 3 // 4
    around = len(frame.start) + bool(model.domains) + len(frame.end)
    return -(-(around + window + room) // 16) * 16, spans * frame.n_p


def _resize(model: PaddedMLM, pieces: int) -> None:
    """Make room for more pieces than there are, or take it away."""
    if pieces != model.mlm.get_input_embeddings().num_embeddings:
        model.mlm.resize_token_embeddings(pieces, mean_resizing=False)
        model._renew_head()


def _keep_embeddings(model: PaddedMLM, pieces: int, optimizer: torch.optim.Optimizer) -> None:
    """Let only the embeddings of the pieces that come later learn."""
    weight = model.mlm.get_input_embeddings().weight
    embeddings(model.mlm).requires_grad_(False)
    weight.requires_grad_(True)  # the output layer's, too, in most families
    before = weight.detach()[:pieces].clone()

    def restore(*_: Any) -> None:
        nonlocal before
        before = before.to(weight.device)
        with torch.no_grad():
            weight[:pieces] = before

    optimizer.register_step_post_hook(restore)


def _rows(masked: Masked, part: slice) -> Masked:
    return Masked(masked.ids[part], masked.attention[part], masked.slots[part], masked.targets[part], masked.domain)
