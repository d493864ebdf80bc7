"""masker beam edit, masker beam silver: files of any size, on any runner of Apache Beam."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import err

if TYPE_CHECKING:
    from masker.scale.silver import SilverSettings

beam = typer.Typer(help="Edit files of any size with Apache Beam: on Dataflow, Flink, Spark or this machine.")
app.add_typer(beam, name="beam", no_args_is_help=True)
EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}

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


@beam.command("edit", context_settings=EXTRA)
def edit(
    context: typer.Context,
    input: Input,
    output: Output,
    to: o.To,
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    format: Annotated[
        str | None, typer.Option("--format", help="lines, tsv, jsonl or parquet [default: by the name of --output].")
    ] = None,
    column: Field = None,
    shards: Count = None,
    method: Annotated[str | None, typer.Option("--method", help="As for masker edit.")] = None,
    strength: Annotated[float | None, typer.Option("--strength", help="As for masker edit.")] = None,
    max_edits: Annotated[int | None, typer.Option("--max-edits", help="As for masker edit.")] = None,
    min_score: o.MinScore = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    device: o.Device = None,
    resume: Resume = False,
) -> None:
    """Rewrite every text in the style of --to. Options that are not named here are Beam's, --runner first of all.

    What cannot be edited comes out unchanged, and is listed with its reason in out-failed-*.jsonl.
    """
    options = _options(method, strength, max_edits, min_score, no_source_score, protect, forbid)
    options |= {"keep": o.terms(keep)} if keep else {}
    _run(context, to, from_, model, source_model, max_words, options, input, output, exact=exact, format=format,
         column=column, shards=shards, device=device, resume=resume)  # fmt: skip


@beam.command("silver", context_settings=EXTRA)
def silver(
    context: typer.Context,
    input: Input,
    output: Output,
    to: o.To,
    from_: o.From = None,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    synthetic: Annotated[str, typer.Option("--synthetic", help="As for masker silver.")] = "input",
    min_score: Annotated[float, typer.Option("--min-score", help="As for masker silver.")] = 0.0,
    min_similarity: Annotated[float, typer.Option("--min-similarity", help="As for masker silver.")] = 0.0,
    column: Field = None,
    shards: Count = None,
    method: Annotated[str | None, typer.Option("--method", help="As for masker edit.")] = None,
    strength: Annotated[float | None, typer.Option("--strength", help="As for masker edit.")] = None,
    max_edits: Annotated[int | None, typer.Option("--max-edits", help="As for masker edit.")] = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    forbid: o.Forbid = None,
    max_words: o.MaxWords = 2000,
    device: o.Device = None,
    resume: Resume = False,
) -> None:
    """Rewrite a corpus into aligned pairs, as masker silver does; its column `line` counts in each file anew."""
    from masker.scale.silver import SilverSettings

    options = _options(method, strength, max_edits, min(0.0, min_score), no_source_score, protect, forbid)
    settings = SilverSettings(to, from_, synthetic, min_score, min_similarity)
    _run(context, to, from_, model, source_model, max_words, options, input, output, format="tsv", column=column,
         shards=shards, device=device, resume=resume, silver=settings)  # fmt: skip


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
    context: typer.Context, to: str, from_: str | None, model: str | None, source_model: str | None, max_words: int,
    options: dict[str, Any], input: list[str], output: str, *, exact: bool = False,
    silver: "SilverSettings | None" = None, **rest: Any,
) -> None:  # fmt: skip
    from masker.scale.beam.files import last_words, run
    from masker.scale.job import Job

    job = Job(to, from_, model, source_model, max_words, options, exact)
    quiet = "--default_sdk_harness_log_level=WARNING"  # which a level that the user gives comes after
    counts = run(
        job, input, output, silver=silver, options=[quiet, *context.args],
        on_death=lambda message: last_words(o.as_flags(message, context.command)), **rest,
    )  # fmt: skip
    names = ("texts", "changed", "failed", *sorted(name for name in counts if name.startswith("silver_")), "shards")
    err.print(", ".join(f"{name.removeprefix('silver_')} {counts.get(name, 0):,}" for name in names))
