"""What the verbs for clusters share: edit and silver, files in and files out, on whatever engine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli._output import err

if TYPE_CHECKING:
    from masker.scale.silver import SilverSettings

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
Start = Callable[..., dict[str, int]]  # an engine's `run`, which is also given the command's context

Input = Annotated[
    list[str], typer.Option("--input", help="File or pattern: text, .jsonl, .parquet, gz; local or gs://, s3:// ...")
]
Output = Annotated[
    str, typer.Option("--output", help="out.jsonl becomes out-00000-of-00012.jsonl and so on, in order.")
]
Field = Annotated[str | None, typer.Option("--column", help="Field of JSONL or Parquet [default: text].")]
Count = Annotated[
    int | None, typer.Option("--shards", help="Files to write [default: by size, up to 1 MB of input each].")
]
Resume = Annotated[bool, typer.Option("--resume", help="Make only the files that are not there yet.")]
Format = Annotated[
    str | None, typer.Option("--format", help="lines, tsv, jsonl or parquet [default: by the name of --output].")
]
Method = Annotated[str | None, typer.Option("--method", help="As for masker edit.")]
Strength = Annotated[float | None, typer.Option("--strength", help="As for masker edit.")]
MaxEdits = Annotated[int | None, typer.Option("--max-edits", help="As for masker edit.")]


def add_edit(engine: typer.Typer, start: Start, others: str) -> None:
    """The verb that rewrites files."""

    def edit(
        context: typer.Context, input: Input, output: Output, to: o.To, from_: o.From = None, model: o.Model = None,
        source_model: o.SourceModel = None, format: Format = None, column: Field = None, shards: Count = None,
        method: Method = None, strength: Strength = None, max_edits: MaxEdits = None, min_score: o.MinScore = None,
        no_source_score: o.NoSourceScore = False, protect: o.Protect = None, keep: o.Keep = None,
        forbid: o.Forbid = None, exact: o.Exact = False, max_words: o.MaxWords = 2000, device: o.Device = None,
        resume: Resume = False,
    ) -> None:  # fmt: skip
        options = _options(method, strength, max_edits, min_score, no_source_score, protect, forbid)
        options |= {"keep": o.terms(keep)} if keep else {}
        _run(start, context, to, from_, model, source_model, max_words, options, input, output, exact=exact,
             format=format, column=column, shards=shards, device=device, resume=resume)  # fmt: skip

    edit.__doc__ = f"""Rewrite every text in the style of --to. {others}

    What cannot be edited comes out unchanged, and is listed with its reason in out-failed-*.jsonl.
    """
    engine.command("edit", context_settings=EXTRA)(edit)


def add_silver(engine: typer.Typer, start: Start) -> None:
    """The verb that makes aligned pairs of files."""

    def silver(
        context: typer.Context, input: Input, output: Output, to: o.To, from_: o.From = None, model: o.Model = None,
        source_model: o.SourceModel = None,
        synthetic: Annotated[str, typer.Option("--synthetic", help="As for masker silver.")] = "input",
        min_score: Annotated[float, typer.Option("--min-score", help="As for masker silver.")] = 0.0,
        min_similarity: Annotated[float, typer.Option("--min-similarity", help="As for masker silver.")] = 0.0,
        column: Field = None, shards: Count = None, method: Method = None, strength: Strength = None,
        max_edits: MaxEdits = None, no_source_score: o.NoSourceScore = False, protect: o.Protect = None,
        forbid: o.Forbid = None, max_words: o.MaxWords = 2000, device: o.Device = None, resume: Resume = False,
    ) -> None:  # fmt: skip
        """Rewrite a corpus into aligned pairs, as masker silver does; its column `line` counts in each file anew."""
        from masker.scale.silver import SilverSettings

        options = _options(method, strength, max_edits, min(0.0, min_score), no_source_score, protect, forbid)
        settings = SilverSettings(to, from_, synthetic, min_score, min_similarity)
        _run(start, context, to, from_, model, source_model, max_words, options, input, output, format="tsv",
             column=column, shards=shards, device=device, resume=resume, silver=settings)  # fmt: skip

    engine.command("silver", context_settings=EXTRA)(silver)


def _options(
    method: str | None, strength: float | None, max_edits: int | None, min_score: float | None, no_source_score: bool,
    protect: str | None, forbid: list[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """What was given of the options of Masker.edit_stream."""
    given = {"method": method, "strength": strength, "max_edits": max_edits, "min_score": min_score, "protect": protect}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {"forbid": o.words(forbid)} if forbid else {}
    return options | ({"source_score": False} if no_source_score else {})


def _run(
    start: Start, context: typer.Context, to: str, from_: str | None, model: str | None, source_model: str | None,
    max_words: int, options: dict[str, Any], input: list[str], output: str, *, exact: bool = False,
    silver: "SilverSettings | None" = None, **rest: Any,
) -> None:  # fmt: skip
    from masker.scale.job import Job

    counts = start(
        context, Job(to, from_, model, source_model, max_words, options, exact), input, output, silver=silver, **rest
    )
    names = ("texts", "changed", "failed", *sorted(name for name in counts if name.startswith("silver_")), "shards")
    err.print(", ".join(f"{name.removeprefix('silver_')} {counts.get(name, 0):,}" for name in names))
