"""Fitting a reader: a causal LM learns to write texts of several domains, each after the name of its domain."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.batching import by_length, padded
from masker.data.corpora import hold_out
from masker.errors import MaskerError
from masker.model.causal import CausalVocabulary, load_causal, window_of
from masker.model.claim import claimed
from masker.model.folder import GRAPHS, PACKED, READER_CARD, WEIGHTS, one_line, staged
from masker.model.pretrained import quiet, save_packed
from masker.model.reader import WINDOW, ReaderCard, prefix, shown
from masker.runtime.memory import InParts
from masker.runtime.reader import next_log_p
from masker.training.device import autocast, choose_device
from masker.training.loop import teach
from masker.training.progress import Report, Score
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask

MEASURED = 4096  # tokens of held-out texts at a time


@dataclass(frozen=True, kw_only=True)
class ReaderSettings(LoopSettings):
    """How to fit a reader. Of texts with more than `window` pieces the beginning is read.

    Evaluations ask of the `held_out` share of the texts which domain makes them likeliest.
    """

    epochs: float = 1.0
    lr: float = 1e-4
    window: int = WINDOW
    held_out: float = 0.01
    device: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("window", above=0)
        self._require("held_out", at_least=0, below=1)


@dataclass(frozen=True)
class Rows:
    """Texts after their domains, filled up on the right; `first` is where the text begins, which is what is learnt."""

    ids: Tensor  # [N, L]
    first: Tensor  # [N]
    ends: Tensor  # [N]
    lengths: np.ndarray  # [N] the same as `ends`, where the loop can see it

    def likelihood(self, model: Any, rows: Tensor, longest: int) -> tuple[Tensor, Tensor]:
        """[B] log-likelihoods of texts, and of how many pieces."""
        ids = self.ids[rows, :longest]
        at = torch.arange(1, longest, device=ids.device)
        counted = (at >= self.first[rows, None]) & (at < self.ends[rows, None])
        return (next_log_p(model, ids) * counted).sum(1), counted.sum(1)

    def loss(self, model: Any, rows: Tensor, longest: int) -> Tensor:
        log_p, pieces = self.likelihood(model, rows, longest)
        return -log_p.sum() / pieces.sum()


def fit_reader(
    corpora: Mapping[str, Sequence[str]],
    base: str | Path,
    out: str | Path,
    *,
    settings: ReaderSettings | None = None,
    command: str | None = None,
    report: Report = lambda _: None,
) -> ReaderCard:
    """Fit the causal LM `base` to named domains and save it as a reader in the folder `out`."""
    with claimed(Path(out), READER_CARD):
        return _fit(corpora, base, Path(out).expanduser(), settings or ReaderSettings(), command, report)


def _fit(
    corpora: Mapping[str, Sequence[str]],
    base: str | Path,
    out: Path,
    settings: ReaderSettings,
    command: str | None,
    report: Report,
) -> ReaderCard:
    if len(corpora) < 2:
        raise MaskerError(f"a reader compares domains, and there is {len(corpora)}; give two or more")
    device = choose_device(settings.device)
    torch.manual_seed(settings.seed)
    model, vocabulary = load_causal(base)
    model.to(device)
    longest = max(len(prefix(vocabulary, name)) for name in corpora)
    card = ReaderCard(tuple(corpora), window_of(model, settings.window + longest + 1) - longest - 1)
    parts = [hold_out(lines, share=settings.held_out, seed=settings.seed) for lines in corpora.values()]
    train = encode(vocabulary, card, [part[0] for part in parts], device)
    held = [text for _, texts in parts for text in texts]
    own = np.repeat(np.arange(len(parts)), [len(texts) for _, texts in parts])
    again = [  # all of them as if they were of each domain
        encode(vocabulary, card, [held if name == other else [] for other in card.domains], device)
        for name in card.domains
    ]
    task = RowsTask(
        model, train.lengths, lambda rows, most: train.loss(model, rows, most),
        (lambda: _measure(model, again, own, device)) if held else None, device,
    )  # fmt: skip
    state = teach(task, settings, report=report)
    made = {
        "base": str(base), "command": command, "settings": asdict(settings), "texts": len(train.lengths),
        "steps": state.step, "best_step": state.best_step, "seconds": round(state.seconds),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "parameters": sum(p.numel() for p in model.parameters()), "date": time.strftime("%Y-%m-%d"),
        "scores": {**state.best.details, "loss": round(state.best.loss, 4)} if state.best else {},
    }  # fmt: skip
    card = ReaderCard(card.domains, card.window, made)
    save_reader(model, vocabulary, card, out)
    return card


def save_reader(
    model: Any, vocabulary: CausalVocabulary, card: ReaderCard, folder: Path, *, packed: bool = False
) -> None:
    """The LM as Hugging Face has it, in float16, and reader.json. `packed` is a third smaller."""
    with one_line(f"cannot save the reader in {folder}"), staged(folder) as stage, quiet():
        if packed:
            model.config.save_pretrained(stage)
            save_packed(model, stage / PACKED)
        else:
            model.to(torch.float16).save_pretrained(stage)
        vocabulary.tokenizer.save_pretrained(stage)
        card.write(stage)
        written = {path.name for path in stage.iterdir()}
    for name in {*WEIGHTS, GRAPHS} - written:  # of an earlier reader in this folder
        (folder / name).unlink(missing_ok=True)


def encode(
    vocabulary: CausalVocabulary, card: ReaderCard, texts: Sequence[Sequence[str]], device: torch.device
) -> Rows:
    """The texts of each domain as rows."""
    rows, first = list[list[int]](), list[int]()
    for name, some in zip(card.domains, texts, strict=True):
        before = prefix(vocabulary, name)
        rows += [
            [*before, *pieces[: card.window], vocabulary.end] for pieces in vocabulary.many(list(map(shown, some)))
        ]
        first += [len(before)] * len(some)
    ids = torch.from_numpy(padded(rows, vocabulary.end)[0]).to(device)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return Rows(ids, torch.tensor(first, device=device), torch.from_numpy(lengths).to(device), lengths)


@torch.inference_mode()
def _measure(model: Any, again: Sequence[Rows], own: np.ndarray, device: torch.device) -> Score:
    """The loss, in nats per piece, and how many texts are likeliest in their own domain: the loss alone decides, for
    that percentage is high long before the reader is good.
    """
    log_p, pieces, in_parts = np.zeros((len(again), len(own))), 0, InParts()
    for number, rows in enumerate(again):
        for chosen in by_length(rows.lengths, MEASURED):
            longest = int(rows.lengths[chosen].max())
            ask = partial(rows.likelihood, model, longest=longest)
            with autocast(device):
                some, counted = in_parts(ask, torch.from_numpy(chosen).to(device), length=longest)
            log_p[number, chosen] = some.double().cpu().numpy()
            pieces += int(counted.sum())
    told_apart = 100 * float((log_p.argmax(0) == own).mean())
    loss = -float(log_p[own, np.arange(len(own))].sum()) / (pieces / len(again))
    return Score(0.0, loss, {"told_apart": round(told_apart, 2)})
