"""The model card and `masker info`, both written from what a model knows of its own making."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.data.checked import checked
from masker.model.folder import CARD, SETTINGS, one_line, staged, write_settings

if TYPE_CHECKING:
    from masker.model.settings import WithDomains


@dataclass(frozen=True)
class Corpus:
    """What a model learnt from, as a stage of its making tells it."""

    name: str
    lines: int
    words: int
    licence: str


@dataclass(frozen=True)
class Stage:
    """What a stage of the making of a model tells at least: one of `made` in masker.json."""

    stage: str
    command: str | None
    base: str
    data: list[dict[str, Any]]
    settings: dict[str, Any]
    steps: int
    best_step: int
    seconds: float
    device: str
    date: str
    scores: dict[str, Any]


def stages(model: "WithDomains") -> list[dict[str, Any]]:
    """How a model was made, checked: it may be edited with whatever is told there, but not told of."""
    for number, stage in enumerate(model.settings.made):
        where = f"{(model.folder or Path()) / SETTINGS}: made[{number}]"
        for at, corpus in enumerate(checked(Stage, stage, where, others=None).data):
            checked(Corpus, corpus, f"{where}.data[{at}]", others=None)
    return model.settings.made


def facts(model: "WithDomains", name: str) -> Iterator[tuple[str, str]]:
    """What `masker info` prints, as name and value."""
    settings = model.settings
    yield "model", name
    ways = {d: o for d, o in settings.domains.items() if d not in settings.sources_only}
    yield "domains", ", ".join(d + (f" (from {o})" if o else "") for d, o in ways.items()) or "none yet"
    if settings.sources_only:
        yield "never written to", ", ".join(settings.sources_only)
    for name, words in settings.forbid.items():
        yield "never inserted", f"to {name}: {', '.join(words)}"
    yield "architecture", f"{model.architecture}, {_size(model)} parameters"
    yield "n_p", f"{settings.n_p} masks a span, so up to {settings.n_p} pieces are deleted and inserted"
    yield "window", f"{settings.window} pieces"
    yield "vocabulary", f"{len(model.vocabulary):,} pieces"
    for name, knobs in settings.search.items():
        yield "search", f"to {name}: {_knobs(knobs)}"
    for stage in stages(model):
        yield stage["stage"], f"{stage['steps']} steps, base: {stage['base']}, {stage['device']}, {stage['date']}"
        for corpus in stage["data"]:
            yield (
                "  data",
                f"{corpus['name']}: {corpus['lines']:,} texts, {corpus['words']:,} words, {corpus['licence']}",
            )
        yield "  command", stage["command"] or "Python"
        for score, value in stage["scores"].items():
            yield f"  {score}", str(value)


def model_card(model: "WithDomains") -> str:
    """README.md of a model folder, with the header that the Hugging Face hub reads."""
    settings = model.settings
    domains = ", ".join(f"`{name}`" for name in settings.domains) or "none yet (a base for `masker fit`)"
    lines = [
        "---", "library_name: masker", "pipeline_tag: fill-mask", "tags: [masker, style-transfer, padded-mlm]", "---",
        "", "# A padded masked language model for Masker", "",
        f"Domains: {domains}. {model.architecture}, {_size(model)} parameters, "
        f"n_p = {settings.n_p}, texts of up to {settings.window} pieces at once.", "",
    ]  # fmt: skip
    if settings.sources_only:
        lines += [f"Never written, only read: {', '.join(f'`{name}`' for name in settings.sources_only)}.", ""]
    for name, words in settings.forbid.items():
        lines += [f"Never inserted on the way to `{name}`: {', '.join(words)}.", ""]
    if settings.domains:
        lines += ["```python", "from masker import Masker", "", 'masker = Masker.from_pretrained("this folder")',
                  f'masker.edit("...", to="{next(iter(settings.domains))}")', "```", ""]  # fmt: skip
    lines += ["## How it was made", ""]
    for number, stage in enumerate(stages(model), 1):
        lines += _stage(number, stage)
    if settings.made and (report := settings.made[-1].get("report")):
        with one_line(f"cannot read the report in {(model.folder or Path()) / SETTINGS}"):
            lines += _report(report)
    if settings.search:
        lines += ["", "## Knobs of the search editor", "",
                  *(f"- to `{name}`: {_knobs(knobs)}" for name, knobs in settings.search.items())]  # fmt: skip
    lines += [
        "", "## Limits", "",
        "Edits are at most n_p pieces long, and by the paper's method the pieces of one edit are predicted "
        "independently of each other, so they can clash. The model knows the style of its corpora only, with whatever "
        "bias they carry; it does not know what is true. Read what it writes before you publish it.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _stage(number: int, stage: dict[str, Any]) -> list[str]:
    lines = [f"### {number}. {stage['stage']}, {stage['date']}", ""]
    if stage["command"]:
        lines += ["```", stage["command"], "```", ""]
    lines += [f"Base: {stage['base']}. {stage['steps']} steps in {stage['seconds']} s on {stage['device']}, "
              f"best checkpoint at step {stage['best_step']}.", "",
              "| data | texts | words | licence |", "|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {_cell(c['name'])} | {c['lines']:,} | {c['words']:,} | {_cell(c['licence'])} |" for c in stage["data"]
    ]
    lines += ["", "| score | value |", "|---|---|", *(f"| {k} | {v} |" for k, v in stage["scores"].items()), ""]
    chosen = ", ".join(f"{k} {v}" for k, v in stage["settings"].items() if v is not None)
    return [*lines, f"Settings: {chosen}.", ""]


def _report(report: dict[str, Any]) -> list[str]:
    """How held-out lines are rewritten, and some of the rewrites."""
    lines = ["## How it rewrites", "",
             f"Lines that nothing was trained on, judged by a classifier of word n-grams that learnt from "
             f"{report['judge_lines']:,} other held-out lines and is right on {report['judge_accuracy']:g} % of the "
             "real lines rewritten here. In per cent: sources that it takes for the target domain (before), rewrites "
             "(style), real lines of that domain; 95 % intervals in brackets.", "",
             "| direction | method | lines | before | style | real | self-BLEU | left alone |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for d in report["directions"]:
        style, bleu, left = (f"{v:g} ({a:g} to {b:g})" for v, a, b in (d["style"], d["self_bleu"], d["left_alone"]))
        lines.append(f"| {d['from']} to {d['to']} | {d['method']} | {d['lines']} | {d['before']:g} | {style} | "
                     f"{d['real']:g} | {bleu} | {left} |")  # fmt: skip
    lines += ["", "Some of them, not picked:", "", "| to | source | rewrite |", "|---|---|---|"]
    lines += [f"| {r['to']} | {_verbatim(r['source'])} | {_verbatim(r['text'])} |" for r in report["rewrites"]]
    return [*lines, ""]


def save_card(model: "WithDomains", folder: Path) -> None:
    """Write README.md and masker.json of a model folder anew; the weights stay as they are."""
    with one_line(f"cannot save the card in {folder}"), staged(folder) as stage:
        (stage / CARD).write_text(model_card(model), "utf-8")
        write_settings(model.settings, stage)


def _knobs(knobs: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in knobs.items())


def _cell(text: str) -> str:
    """As it can stand in a table."""
    return " ".join(text.split()).replace("|", r"\|")


def _verbatim(text: str) -> str:
    """As it can stand in a table and is read as it was written: Markdown would take <b> and * for its own."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", " ".join(text.split()))


def _size(model: "WithDomains") -> str:
    count = model.size
    return f"{count / 1e6:.1f}M" if count >= 1e5 else f"{count:,}"
