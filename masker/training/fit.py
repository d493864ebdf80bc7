"""Fitting domains and pretraining: from corpora to a saved model."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from masker.errors import MaskerError, unknown
from masker.model import PaddedMLM, Settings
from masker.training import checkpoint
from masker.training.corpora import hold_out
from masker.training.examples import SEGMENT, build_pile
from masker.training.loop import Progress, Result, train
from masker.training.settings import TrainSettings

# layers, width, heads of models made from scratch
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (6, 384, 12), "base": (12, 768, 12)}


def fit(
    corpora: Mapping[str, Sequence[str]],
    out: str | Path,
    *,
    base: str | Path | None = None,
    size: str | None = None,
    settings: TrainSettings | None = None,
    n_p: int | None = None,
    window: int | None = None,
    counterparts: Mapping[str, str] | None = None,
    licences: Mapping[str, str] | None = None,
    command: str | None = None,
    resume: bool = False,
    report: Callable[[Progress], None] = lambda _: None,
) -> PaddedMLM:
    """Fit a padded MLM to named domains, one masked span an example, and save it in the folder `out`.

    It starts from `base` (None: the embedded model), or from scratch at a `size` with that model's vocabulary.
    """
    out, settings = Path(out), settings or TrainSettings()
    model = prepare(base, size=size, n_p=n_p, window=window, seed=settings.seed)
    model.settings.domains.clear()  # what the base was fitted to is forgotten
    model.add_domains(list(corpora))
    for name, other in (counterparts or {}).items():
        model.settings.domains[model.check_domain(name)] = model.check_domain(other)

    parts = {name: hold_out(lines, share=settings.held_out, seed=settings.seed) for name, lines in corpora.items()}
    pile, held = (
        build_pile(
            model.vocabulary,
            [(part[k], model.vocabulary.domain(name)) for name, part in parts.items()],
            window=model.settings.window,
            workers=settings.workers,
        )
        for k in (0, 1)
    )
    result = train(model, pile, held, settings, domains=True, out=out, resume=resume, report=report)
    data = [_described(name, lines, licences) for name, lines in corpora.items()]
    return _save(model, out, _stage("fit", command, base, size, data, settings, result))


def pretrain(
    corpora: Mapping[str, Sequence[str]],
    out: str | Path,
    *,
    base: str | Path | None = None,
    size: str | None = None,
    settings: TrainSettings | None = None,
    n_p: int | None = None,
    window: int | None = None,
    licences: Mapping[str, str] | None = None,
    command: str | None = None,
    resume: bool = False,
    report: Callable[[Progress], None] = lambda _: None,
) -> PaddedMLM:
    """Train a padded MLM on plain text without domains, several masked spans a text, and save it in the folder `out`."""
    out, settings = Path(out), settings or TrainSettings()
    model = prepare(base, size=size, n_p=n_p, window=window, seed=settings.seed, spans=True)
    model.settings.domains.clear()
    texts = [text for lines in corpora.values() for text in lines]
    if len(texts) < 2:
        raise MaskerError(f"there are {len(texts)} texts to pretrain on; give at least 2, one a line")
    train_texts, held_texts = hold_out(texts, share=settings.held_out, at_least=1, seed=settings.seed)
    pile, held = (
        build_pile(model.vocabulary, [(part, 0)], window=model.settings.window, workers=settings.workers)
        for part in (train_texts, held_texts)
    )
    result = train(model, pile, held, settings, domains=False, out=out, resume=resume, report=report)
    data = [_described(name, lines, licences) for name, lines in corpora.items()]
    return _save(model, out, _stage("pretrain", command, base, size, data, settings, result))


def prepare(
    base: str | Path | None, *, size: str | None, n_p: int | None, window: int | None, seed: int, spans: bool = False
) -> PaddedMLM:
    """The model that training starts from."""
    torch.manual_seed(seed)  # for the weights that are new
    model = PaddedMLM.from_pretrained(base)
    old = model.settings
    if size is not None:
        model = _from_scratch(model, size)
    n_p, window = n_p or old.n_p, window or old.window
    room = model.max_length - len(model.frame.start) - len(model.frame.end) - 1  # 1: the domain's token
    room = room * SEGMENT // (SEGMENT + n_p) - n_p if spans else room - n_p
    if window > room:
        window = room
    return PaddedMLM(model.mlm, model.vocabulary, Settings(n_p=n_p, window=window, made=[] if size else list(old.made)))


def _from_scratch(model: PaddedMLM, size: str) -> PaddedMLM:
    from transformers import BertConfig, BertForMaskedLM

    if size not in SIZES:
        raise unknown("size", size, list(SIZES))
    layers, width, heads = SIZES[size]
    config = BertConfig(
        vocab_size=len(model.vocabulary), hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * width, max_position_embeddings=512, pad_token_id=model.vocabulary.pad,
    )  # fmt: skip
    return PaddedMLM(BertForMaskedLM(config), model.vocabulary, Settings())


def _described(name: str, lines: Sequence[str], licences: Mapping[str, str] | None) -> dict[str, Any]:
    words = sum(len(line.split()) for line in lines)
    return {"name": name, "lines": len(lines), "words": words, "licence": (licences or {}).get(name, "not stated")}


def _stage(
    stage: str,
    command: str | None,
    base: str | Path | None,
    size: str | None,
    data: list[dict[str, Any]],
    settings: TrainSettings,
    result: Result,
) -> dict[str, Any]:
    """What the model card says of this stage."""
    import transformers

    return {
        "stage": stage,
        "command": command,
        "base": f"none, from scratch, size {size}" if size else str(base or "embedded"),
        "data": data,
        "settings": asdict(settings),
        "steps": result.steps,
        "best_step": result.best_step,
        "seconds": round(result.seconds),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "date": time.strftime("%Y-%m-%d"),
        "scores": {"span_accuracy": round(result.span_accuracy, 2)},
    }


def _save(model: PaddedMLM, out: Path, stage: dict[str, Any]) -> PaddedMLM:
    from accelerate import PartialState

    model.settings.made.append(stage)
    if PartialState().is_main_process:
        model.save_pretrained(out)
        checkpoint.finish(out)
    return model
