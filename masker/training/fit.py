"""Fitting domains and pretraining: from corpora to a saved model."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import torch

from masker.core.segments import shape
from masker.core.spacing import usual_gaps
from masker.core.surface import usual_names
from masker.core.unspaced import is_unspaced, segmenter
from masker.data.corpora import hold_out
from masker.errors import MaskerError, unknown
from masker.model.bag_of_words import BagOfWords
from masker.model.claim import check_begun, claimed
from masker.model.folder import SETTINGS
from masker.model.padded_mlm import PaddedMLM
from masker.model.seen import packed, packed_counts
from masker.model.settings import NO_SEGMENTER, SearchSettings, Settings
from masker.training import checkpoint
from masker.training.examples import encode_corpora, segment
from masker.training.padded import Result, train
from masker.training.progress import Report
from masker.training.settings import TrainSettings
from masker.training.vocabulary import respelt

SHAPED = 10_000  # texts of a domain whose sentences are counted
NAMES = 20_000  # words with capitals that are kept at most
APART = 5  # words for each edit; docs/fitting.md has the figures
MOST_EDITS, MOST_AT_ONCE = 4, 3  # of a sentence, and of a text that is edited as a whole
UNSPACED = 0.01  # share of texts in scripts without spaces above which a model depends on how they were cut
# layers, width, heads of models made from scratch
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (6, 384, 12), "base": (12, 768, 12)}


class Options(TypedDict, total=False):
    """What `fit` and `pretrain` have in common; `_train` has the defaults."""

    base: str | Path | None  # None: the embedded model
    size: str | None  # from scratch at this size, with the vocabulary of `base`
    vocabulary: int | None  # pieces to learn from the texts; None: only if the embedded ones spell them badly; 0: none
    settings: TrainSettings | None
    n_p: int | None
    window: int | None
    licences: Mapping[str, str] | None
    command: str | None
    resume: bool
    report: Report


def fit(
    corpora: Mapping[str, Sequence[str]],
    out: str | Path,
    *,
    counterparts: Mapping[str, str] | None = None,
    domain_as: str = "token",
    **options: Unpack[Options],
) -> PaddedMLM:
    """Fit a padded MLM to named domains, one masked span per example, and save it in the folder `out`."""
    return _made("fit", corpora, Path(out), counterparts=counterparts or {}, domain_as=domain_as, **options)


def pretrain(corpora: Mapping[str, Sequence[str]], out: str | Path, **options: Unpack[Options]) -> PaddedMLM:
    """Train a padded MLM on plain text without domains, several spans per text, and save it in the folder `out`."""
    return _made("pretrain", corpora, Path(out), counterparts={}, **options)


def _made(stage: str, corpora: Mapping[str, Sequence[str]], out: Path, **options: Any) -> PaddedMLM:
    with claimed(out, SETTINGS):
        check_begun(out, resume=options.get("resume", False))
        return _train(stage, corpora, out.expanduser(), **options)


def _train(
    stage: str,
    corpora: Mapping[str, Sequence[str]],
    out: Path,
    *,
    counterparts: Mapping[str, str],
    domain_as: str = "token",
    base: str | Path | None = None,
    size: str | None = None,
    vocabulary: int | None = None,
    settings: TrainSettings | None = None,
    n_p: int | None = None,
    window: int | None = None,
    licences: Mapping[str, str] | None = None,
    command: str | None = None,
    resume: bool = False,
    report: Report = lambda _: None,
) -> PaddedMLM:
    settings, licences, domains = settings or TrainSettings(), licences or {}, stage == "fit"
    _check_licences(licences, corpora)
    model = prepare(base, size=size, n_p=n_p, window=window, seed=settings.seed, spans=not domains)
    texts = [text for lines in corpora.values() for text in lines]
    own = model.vocabulary
    model = _of_language(model, texts, 0 if vocabulary is None and base is not None else vocabulary)
    model.settings = replace(model.settings, domain_as=domain_as)
    kept = len(model.vocabulary) if settings.keep_embeddings else 0  # before domains are added
    if domains:
        parts = _add_domains(model, corpora, counterparts, settings)
    else:
        parts = {0: _split("the plain text", texts, settings)}
    corpus, held_out = (
        encode_corpora(
            model.vocabulary,
            [(part[k], token) for token, part in parts.items()],
            window=model.settings.window,
            workers=settings.workers,
        )
        for k in (0, 1)
    )
    for name in model.domains:
        mine = corpus.domain == model.vocabulary.domain(name)
        sizes = corpus.lengths[mine]
        model.settings.longest[name] = int(sizes.double().quantile(0.99)) if len(sizes) else 0
        counts = corpus.counts_of(mine)
        model.settings.seen[name], model.settings.counts[name] = packed(np.flatnonzero(counts)), packed_counts(counts)
        model.settings.shape[name] = shape(model.vocabulary, corpora[name][:SHAPED])
    _allow_edits(model.settings)
    result = train(model, corpus, held_out, settings, domains=domains, out=out, kept=kept, resume=resume, report=report)
    data = [_described(name, lines, licences) for name, lines in corpora.items()]
    start = f"none, from scratch, size {size}" if size else str(base or "embedded")
    start += "" if model.vocabulary is own else f", with {len(model.vocabulary):,} pieces learnt from the texts"
    return _save(model, out, _stage(stage, command, start, data, settings, result))


def _of_language(model: PaddedMLM, texts: Sequence[str], vocabulary: int | None) -> PaddedMLM:
    """The model with pieces that spell the texts, and with what it must know of how they are written."""
    model = respelt(model, texts, vocabulary)
    some = texts[:: len(texts) // SHAPED + 1]
    gaps, names = usual_gaps(some), [] if model.vocabulary.cased else usual_names(some, NAMES)
    unspaced = sum(map(is_unspaced, texts)) > UNSPACED * len(texts)
    model.settings = replace(
        model.settings, gaps=gaps, names=names, segmenter=segmenter() or NO_SEGMENTER if unspaced else None
    )
    return model


def _allow_edits(settings: Settings) -> None:
    """More edits than are usual for the search editor where it is to edit long sentences; or texts as a whole."""
    for name, other in settings.domains.items():
        if other:
            sentences, words = settings.shape[other]["sentences"], settings.shape[other]["words"]
            alone = settings.by_sentence(name, other)
            edits = int(words / APART) if alone else int(sentences * words / APART)
            edits = min(edits, MOST_EDITS if alone else MOST_AT_ONCE)
            if edits > SearchSettings.max_edits:
                settings.search.setdefault(name, {})["max_edits"] = edits


def rehearse(
    domains: Collection[str], counterparts: Mapping[str, str], licences: Mapping[str, str], **options: Any
) -> PaddedMLM:
    """The model that `fit` would start from, domains and all, by options as for `prepare`: what is wrong shows here."""
    _check_licences(licences, domains)
    model = prepare(**options)
    model.add_domains(list(domains))
    _name_counterparts(model, counterparts)
    return model


def _check_licences(licences: Mapping[str, str], corpora: Collection[str]) -> None:
    for name in licences:
        if name not in corpora:
            raise unknown("corpus", name, list(corpora))


def _add_domains(
    model: PaddedMLM,
    corpora: Mapping[str, Sequence[str]],
    counterparts: Mapping[str, str],
    settings: TrainSettings,
) -> dict[int, tuple[list[str], list[str]]]:
    """Tell the model of its domains; gives each one's lines, to train on and held out, by the id of its token."""
    model.add_domains(list(corpora))
    _name_counterparts(model, counterparts)
    styled = len(corpora) > 1 and settings.style > 0
    if styled:
        model.add_style()
    parts = {name: _split(f"domain '{name}'", lines, settings) for name, lines in corpora.items()}
    if styled:
        model.bag_of_words = BagOfWords.fit([train_lines for train_lines, _ in parts.values()])
    return {model.vocabulary.domain(name): part for name, part in parts.items()}


def _split(name: str, lines: Sequence[str], settings: TrainSettings) -> tuple[list[str], list[str]]:
    """Lines to train on, and lines that the span accuracy is measured on."""
    train_lines, held_out = hold_out(lines, share=settings.held_out, seed=settings.seed)
    if not held_out:
        raise MaskerError(f"{name} has {len(set(lines))} different lines; at least 2 are needed, each a text")
    return train_lines, held_out


def _name_counterparts(model: PaddedMLM, counterparts: Mapping[str, str]) -> None:
    for name, other in counterparts.items():
        if name == other:
            raise MaskerError(f"domain '{name}' cannot be its own counterpart; name another one")
        model.settings.domains[model.check_domain(name)] = model.check_domain(other)


def prepare(
    base: str | Path | None, *, size: str | None, n_p: int | None, window: int | None, seed: int, spans: bool = False
) -> PaddedMLM:
    """The model that training starts from. What domains the base was fitted to is forgotten."""
    torch.manual_seed(seed)  # for the weights that are new
    model = PaddedMLM.from_pretrained(base)
    old = model.settings
    if size is not None:
        model = _from_scratch(model, size)
    n_p = old.n_p if n_p is None else n_p
    room = model.max_length - len(model.frame.start) - len(model.frame.end) - 1  # 1: the domain's token
    room = int((room - n_p / 2) / (1 + n_p / max(1, segment(n_p)))) if spans else room - n_p  # the rest is for masks
    if window is not None and window > room:
        raise MaskerError(f"`window` is {window}, but the model has room for {room} pieces and the masks of a span")
    chosen = Settings(n_p=n_p, window=min(old.window, room) if window is None else window)
    # a report shows what the base wrote: that is no longer so
    chosen.made = [] if size else [{k: v for k, v in stage.items() if k != "report"} for stage in old.made]
    return PaddedMLM(model.mlm, model.vocabulary, chosen)


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


def _described(name: str, lines: Sequence[str], licences: Mapping[str, str]) -> dict[str, Any]:
    words = sum(len(line.split()) for line in lines)
    return {"name": name, "lines": len(lines), "words": words, "licence": licences.get(name, "not stated")}


def _stage(
    stage: str,
    command: str | None,
    base: str,
    data: list[dict[str, Any]],
    settings: TrainSettings,
    result: Result,
) -> dict[str, Any]:
    """What the model card says of this stage."""
    import transformers

    return {
        "stage": stage,
        "command": command,
        "base": base,
        "data": data,
        "settings": asdict(settings),
        "steps": result.steps,
        "best_step": result.best_step,
        "seconds": round(result.seconds),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "date": time.strftime("%Y-%m-%d"),
        "scores": {
            "span_accuracy": round(result.span_accuracy, 2),
            **({} if result.style_accuracy is None else {"style_accuracy": round(result.style_accuracy, 2)}),
        },
    }


def _save(model: PaddedMLM, out: Path, stage: dict[str, Any]) -> PaddedMLM:
    from accelerate import PartialState

    model.settings.made.append(stage)
    if PartialState().is_main_process:
        model.save_pretrained(out)
        checkpoint.finish(out)
    return model
