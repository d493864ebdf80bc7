"""The model card and `masker info`, both written from what a model knows of its own making."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masker.model.settings import WithDomains


def facts(model: "WithDomains", name: str) -> Iterator[tuple[str, str]]:
    """What `masker info` prints, as name and value."""
    settings = model.settings
    yield "model", name
    yield "domains", ", ".join(d + (f" (from {o})" if o else "") for d, o in settings.domains.items()) or "none yet"
    yield "architecture", f"{model.architecture}, {_size(model)} parameters"
    yield "n_p", f"{settings.n_p} masks a span, so up to {settings.n_p} pieces are deleted and inserted"
    yield "window", f"{settings.window} pieces"
    yield "vocabulary", f"{len(model.vocabulary):,} pieces"
    for name, knobs in settings.search.items():
        yield "search", f"to {name}: {_knobs(knobs)}"
    for stage in settings.made:
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
    if settings.domains:
        lines += ["```python", "from masker import Masker", "", 'masker = Masker.from_pretrained("this folder")',
                  f'masker.edit("...", to="{next(iter(settings.domains))}")', "```", ""]  # fmt: skip
    lines += ["## How it was made", ""]
    for number, stage in enumerate(settings.made, 1):
        lines += _stage(number, stage)
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


def _knobs(knobs: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in knobs.items())


def _cell(text: str) -> str:
    """As it can stand in a table."""
    return " ".join(text.split()).replace("|", r"\|")


def _size(model: "WithDomains") -> str:
    count = model.size
    return f"{count / 1e6:.1f}M" if count >= 1e5 else f"{count:,}"
