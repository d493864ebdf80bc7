"""The training loop, the same for fitting domains and for pretraining.

All randomness of a step (its rows, its spans, its dropout) follows from the seed and the step's number alone, so a run
that was killed goes on as if nothing had happened, and several processes see what one would have seen.
"""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from masker.core.padding import IGNORE, Masked
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.training import checkpoint
from masker.training.examples import EncodedCorpus, order, segment
from masker.training.settings import TrainSettings

STYLED = 4  # one row in so many is also shown whole to the style classifier
SHORT = 64  # pieces of a text on average, below which plain attention is faster on a GPU
EVALUATED_SPANS = 1000  # held-out spans that a span accuracy is measured on, at least


@dataclass(frozen=True)
class Progress:
    """What is known after a step: for a progress bar. `span_accuracy` is the newest measured, in percent."""

    step: int
    steps: int
    loss: float
    span_accuracy: float | None
    best: float | None
    tokens_per_second: float
    evaluated: bool


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
    resume: bool = False,
    report: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Train `model` in place; checkpoints, metrics.jsonl and TensorBoard events go to the folder `out`.

    Several processes share the batch of a step; on several machines `out` has to be a folder that all of them see.
    """
    from accelerate.utils import broadcast_object_list

    if not len(corpus) or not len(held_out):
        raise MaskerError(f"there are {len(corpus)} texts to train on and {len(held_out)} held out; both need some")
    accelerator = _accelerator(settings.precision)
    part = settings.part(accelerator.num_processes)
    device = accelerator.device
    lengths = corpus.lengths.numpy()
    per_epoch = len(order(lengths, settings.batch_size, 0, settings.seed))
    steps = settings.steps or max(1, math.ceil(settings.epochs * per_epoch))
    every = settings.eval_every or max(1, steps // 10)
    data = corpus.fingerprint() + held_out.fingerprint()
    shape = f"{model.mlm.config.model_type} of {sum(p.numel() for p in model.parameters())} parameters"
    fingerprint = {**asdict(model.settings), **asdict(settings), "data": data, "model": shape, "steps": steps}
    del fingerprint["workers"], fingerprint["made"]  # of no effect on the weights

    set_dropout(model, settings.dropout)
    pieces = model.mlm.get_input_embeddings().num_embeddings
    _resize(model, -(-pieces // 64) * 64)  # products of such a size are far faster on a GPU
    optimizer = torch.optim.AdamW(_groups(model, settings.weight_decay), lr=settings.lr, betas=(0.9, 0.98), eps=1e-6,
                                  fused=device.type == "cuda")  # fmt: skip
    if device.type == "cuda" and lengths.mean() < SHORT:
        model.mlm.set_attn_implementation("eager")  # the fused kernels are made for longer texts
    size = _largest(model) if settings.compile else None
    objective = Objective(model, compiled=settings.compile)
    wrapped, optimizer = accelerator.prepare(objective, optimizer)
    state = checkpoint.State()
    if resume:
        state = checkpoint.load(out, model, optimizer, fingerprint)
    elif accelerator.is_main_process:
        checkpoint.start(out)
    log = checkpoint.Log(out, state.step) if accelerator.is_main_process else None
    corpus, held_out = corpus.to(device), held_out.to(device)
    epoch, batches = -1, []

    tokens, trained = torch.zeros((), device=device, dtype=torch.int64), 0.0  # of this process, evaluation aside
    stopped = settings.patience is not None and state.stale >= settings.patience
    while state.step < steps and not stopped:
        began = time.monotonic()
        if state.step // per_epoch != epoch:
            epoch = state.step // per_epoch
            batches = order(lengths, settings.batch_size, epoch, settings.seed)
        rows = torch.from_numpy(batches[state.step % per_epoch]).to(device)
        rate = settings.lr * _schedule(state.step, steps, settings.warmup)
        for group in optimizer.param_groups:
            group["lr"] = rate
        generator = torch.Generator(device).manual_seed(_seed(settings.seed, state.step))
        torch.manual_seed(_seed(settings.seed, state.step) + 1 + accelerator.process_index)  # for dropout
        masked = corpus.draw(rows, model.frame, generator, domains=domains, revealed=settings.reveal, size=size)
        wrapped.train()
        total = torch.zeros((), device=device)
        count = (masked.targets != IGNORE).sum().clamp(min=1)  # of the whole batch: all parts weigh by what they hold
        judged = len(rows[state.step % STYLED :: STYLED]) or 1
        for k in range(settings.accumulate):
            at = (k * accelerator.num_processes + accelerator.process_index) * part
            piece = _rows(masked, slice(at, at + part))
            last = k == settings.accumulate - 1
            styled = _Styled.draw(model, corpus, rows[at : at + part], (state.step - at) % STYLED, size)
            with nullcontext() if last else accelerator.no_sync(wrapped), accelerator.autocast():
                spans, styles = wrapped(piece, styled)
                loss = spans / count + settings.style * styles / judged
            accelerator.backward(loss * accelerator.num_processes)  # gradients of processes are averaged
            total += spans.detach() / count * accelerator.num_processes
        accelerator.clip_grad_norm_(wrapped.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        state.step += 1
        tokens += masked.attention.sum()

        evaluated = state.step % every == 0 or state.step == steps
        measured = evaluated or state.step % 10 == 0
        loss_now = float(accelerator.reduce(total, "mean")) if measured else math.nan  # waits for the device
        if measured and not math.isfinite(loss_now):
            raise MaskerError(f"the loss is {loss_now} after step {state.step}; lower lr, it is {settings.lr:g}")
        trained += time.monotonic() - began
        state.seconds += time.monotonic() - began
        began = time.monotonic()
        if evaluated:
            wrapped.eval()
            scores = span_accuracy(model, held_out, domains=domains, seed=settings.seed)
            accuracy, held_out_loss = broadcast_object_list(list(scores))  # all stop together
            style = style_accuracy(model, held_out) if model.style is not None else None
            improved = state.note(accuracy, held_out_loss, style)
            stopped = settings.patience is not None and state.stale >= settings.patience
            if log:
                log.write(state.step, loss=loss_now, held_out_loss=held_out_loss, span_accuracy=accuracy, lr=rate,
                          tokens_per_second=int(tokens) / trained, seconds=state.seconds,
                          **({} if style is None else {"style_accuracy": style}))  # fmt: skip
                checkpoint.save(out, model, optimizer, state, fingerprint, best=improved)
            accelerator.wait_for_everyone()
            state.seconds += time.monotonic() - began
        if measured and accelerator.is_main_process:
            report(Progress(state.step, steps, loss_now, state.accuracy, state.best, int(tokens) / trained, evaluated))
    if log:
        log.close()
    accelerator.unwrap_model(wrapped, keep_fp32_wrapper=False)
    checkpoint.load_best(out, model)
    _resize(model, pieces)
    accelerator.wait_for_everyone()  # before the checkpoints are thrown away
    return Result(state.step, state.best_step, state.best or 0.0, state.best_style, state.seconds, state.step < steps)


class Objective(nn.Module):
    """What is minimised: the sum of the masks' losses, and that of the style classifier's, which is 0 without one.

    Where it is compiled all rows have to be equally long: programs for any length would take minutes to make.
    """

    def __init__(self, model: PaddedMLM, *, compiled: bool) -> None:
        super().__init__()
        self.model = model
        self._compute = torch.compile(self._losses, dynamic=False) if compiled else self._losses

    def forward(self, piece: Masked, styled: "_Styled") -> tuple[Tensor, Tensor]:
        return self._compute(piece.ids, piece.attention, piece.slots, piece.targets, *styled)

    def _losses(
        self, ids: Tensor, attention: Tensor, slots: Tensor, targets: Tensor, whole: Tensor | None,
        whole_attention: Tensor | None, labels: Tensor | None, weights: Tensor | None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        spans = _loss(self.model(ids, attention, slots), targets)
        if whole is None or whole_attention is None or labels is None or weights is None:
            return spans, spans.new_zeros(())
        logits = self.model.style_logits(whole, whole_attention).float()
        return spans, (cross_entropy(logits, labels, reduction="none") * weights).sum()


class _Styled(NamedTuple):
    """Whole texts for the style classifier, the number of the domain of each and what it weighs; None without one."""

    ids: Tensor | None = None
    attention: Tensor | None = None
    labels: Tensor | None = None
    weights: Tensor | None = None

    @classmethod
    def draw(
        cls, model: PaddedMLM, corpus: EncodedCorpus, rows: Tensor, first: int, size: tuple[int, int] | None = None
    ) -> "_Styled":
        """Every STYLED-th of the rows from `first` on. Domains weigh alike, however large they are."""
        if model.style is None:
            return cls()
        chosen = rows[first::STYLED] if first < len(rows) else rows[:1]
        masked = corpus.whole(chosen, model.frame, size[0] if size else None)
        labels, shares = corpus.labels(chosen, [model.vocabulary.domain(name) for name in model.domains])
        return cls(masked.ids, masked.attention, labels, 1 / (len(shares) * shares[labels].clamp(min=1e-9)))


@torch.inference_mode()
def span_accuracy(
    model: PaddedMLM, corpus: EncodedCorpus, *, domains: bool, seed: int = 0, batch: int = 256
) -> tuple[float, float]:
    """Percent of masked spans of which all n_p pieces are predicted right, the paper's measure of health; and loss."""
    device, n_p = model.device, model.frame.n_p
    rows = torch.argsort(corpus.lengths).to(device)
    generator = torch.Generator(device).manual_seed(seed)
    right, count, loss = 0, 0, 0.0
    while count < EVALUATED_SPANS:
        for at in range(0, len(corpus), batch):
            masked = corpus.draw(rows[at : at + batch], model.frame, generator, domains=domains)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = model(masked.ids, masked.attention, masked.slots)  # [B, m * n_p, V]
            flat, targets = logits.flatten(0, 1).float(), masked.targets.flatten()
            real = targets[::n_p] != IGNORE
            right += int(((flat.argmax(-1) == targets).view(-1, n_p).all(1) & real).sum())
            loss += float(_loss(logits, masked.targets)) / n_p
            count += int(real.sum())
    return 100.0 * right / count, loss / count


@torch.inference_mode()
def style_accuracy(model: PaddedMLM, corpus: EncodedCorpus, *, batch: int = 512) -> float:
    """Percent of the texts that the style classifier puts into their domain."""
    right, order_ = 0, torch.argsort(corpus.lengths).to(model.device)
    tokens = [model.vocabulary.domain(name) for name in model.domains]
    for rows in order_.split(batch):
        masked = corpus.whole(rows, model.frame)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=model.device.type == "cuda"):
            logits = model.style_logits(masked.ids, masked.attention)
        right += int((logits.argmax(1) == corpus.labels(rows, tokens)[0]).sum())
    return 100.0 * right / len(corpus)


def _accelerator(precision: str) -> Any:
    from accelerate import Accelerator

    if precision == "auto":
        precision = "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "fp32"
    try:
        return Accelerator(mixed_precision="no" if precision == "fp32" else precision)
    except ValueError as error:  # fp16 on a CPU, or a second precision in one process
        raise MaskerError(f"cannot train with the precision {precision}: {error}") from error


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    """logits [B, m * n_p, V], targets [B, m * n_p] -> the sum over all masks."""
    return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORE, reduction="sum")


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


def set_dropout(model: nn.Module, share: float) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def _groups(model: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices only, as usual: not for biases and norms."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def _schedule(step: int, steps: int, warmup: float) -> float:
    rise = max(1, round(warmup * steps))
    return (step + 1) / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


def _seed(seed: int, step: int) -> int:
    return (seed * 1_000_003 + step * 7919) % (1 << 62)


def _rows(masked: Masked, part: slice) -> Masked:
    return Masked(masked.ids[part], masked.attention[part], masked.slots[part], masked.targets[part], masked.domain)
