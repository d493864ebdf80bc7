"""masker silver: aligned pairs out of unaligned text."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._editing import counter, tell_finished
from masker.cli._output import err, is_stdout, writer
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.scale.silver import SilverReport, SilverSettings


Corpus = Annotated[Path, typer.Argument(help="Text, one per line; gz and xz too; - is standard input.")]
Out = Annotated[Path, typer.Option("--out", help="TSV to write; its state is kept beside it in OUT.json.")]
Synthetic = Annotated[
    str | None,
    typer.Option(
        "--synthetic", help="Side of the pairs that rewritten text is put on: input (the default), target, or both."
    ),
]
Reverse = Annotated[
    bool,
    typer.Option("--reverse", help="As --synthetic input, which is usual: the targets are texts that people wrote."),
]
MinScore = Annotated[float | None, typer.Option("--min-score", help="Keep a pair only if its Score is above this.")]
MinSimilarity = Annotated[
    float,
    typer.Option("--min-similarity", help="Keep a pair only if its sides share this much of their words (F1, 0 to 1)."),
]
JudgeFolder = Annotated[
    Path | None, typer.Option("--judge", metavar="DIR", help="Keep a pair only if this judge sees --to in it.")
]
Counts = Annotated[Path | None, typer.Option("--report", help="Also write the counts here, as JSON.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a killed run stopped.")]
Method = Annotated[str | None, typer.Option("--method", help="search (the default), paper, auto or fast.")]
Strength = Annotated[float | None, typer.Option("--strength", help="Of the search editor, as for masker edit.")]
MaxEdits = Annotated[
    int | None, typer.Option("--max-edits", help="Up to so many edits per sentence; by paper per text.")
]
MaxWords = Annotated[int, typer.Option("--max-words", help="Leave out texts of more words than this.")]


@app.command()
def silver(
    context: typer.Context,
    corpus: Corpus,
    to: o.To,
    out: Out,
    from_: o.From = None,
    synthetic: Synthetic = None,
    reverse: Reverse = False,
    min_score: MinScore = None,
    min_similarity: MinSimilarity = 0.0,
    judge: JudgeFolder = None,
    report: Counts = None,
    resume: Resume = False,
    model: o.Model = None,
    source_model: o.SourceModel = None,
    method: Method = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_confidence: o.MinConfidence = None,
    no_source_score: o.NoSourceScore = False,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    max_words: MaxWords = 2000,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Rewrite a corpus into aligned pairs, for a student to learn from.

    A TSV with a header: source, target, score, similarity, line, edits (JSON, of the text that was not rewritten), and
    to, the domain of the target.
    Which lines gave no pair, and why, is counted on stderr. For example, pairs to learn sentence fusion from:

    masker silver --from fused --to split fused.txt --out silver.tsv

    With a student as --model, its own rewrites are the inputs of the next one: a second round.
    """
    from masker.scale.silver import SilverSettings

    if reverse and synthetic not in (None, "input"):
        raise MaskerError(f"--reverse puts rewrites on the input side, and --synthetic {synthetic} does not; drop one")
    _check_apart(corpus, out, report)
    options: dict[str, Any] = {"method": method, "strength": strength, "max_edits": max_edits, "protect": protect}
    options |= {"min_confidence": min_confidence}
    options = {name: value for name, value in options.items() if value is not None}
    if forbid:
        options["forbid"] = o.words(forbid)
    if keep:
        options["keep"] = o.terms(keep)
    if no_source_score:
        options["source_score"] = False
    made_by = {"model": model, "source_model": source_model, "judge": judge and str(judge), "max_words": max_words}
    settings = SilverSettings(to, from_, synthetic or "input", min_score, min_similarity, options, made_by)
    found = write_pairs(settings, corpus, out, resume, encoding, device)
    if resume and not found.now:
        tell_finished(out)
    else:
        print_counts(found, out, context.command)
    if report:
        with writer(report) as sink:
            sink.write(json.dumps(found.to_dict(), indent=2) + "\n")


def _check_apart(corpus: Path, out: Path, report: Path | None) -> None:
    """What is written must not be written over what is read, or written besides."""
    if _same(out, corpus):
        raise MaskerError(f"--out is {corpus} itself, which the pairs would be written over; choose another file")
    state = out.with_name(out.name + ".json")
    for what, path in (("the corpus", corpus), ("--out", out), ("the state of --out", state)):
        if report and not is_stdout(report) and _same(report, path):
            raise MaskerError(f"--report is {path}, {what}, which it would be written over; choose another file")


def _same(one: Path, other: Path) -> bool:
    there = one.exists() and other.exists()
    return one.samefile(other) if there else one.expanduser().resolve() == other.expanduser().resolve()


def write_pairs(
    settings: "SilverSettings", corpus: Path, out: Path, resume: bool, encoding: str, device: str | None
) -> "SilverReport":
    """Load what the settings name, and write the pairs under a progress bar."""
    from masker.api import Masker
    from masker.evaluation.judges.base import Judge
    from masker.scale.silver import Taught, group_size, write_silver
    from masker.students.base import Student, is_student

    made_by = settings.made_by
    judge = Judge.from_pretrained(made_by["judge"]) if made_by["judge"] else None
    masker: Masker | Taught
    if made_by["model"] is not None and is_student(made_by["model"]):
        masker = Taught(Student.from_pretrained(made_by["model"], device=device), made_by["max_words"])
    else:
        masker = Masker.from_pretrained(
            made_by["model"], made_by["source_model"], device=device, max_words=made_by["max_words"]
        )
    with counter() as bar:
        task = bar.add_task("0 lines")
        return write_silver(
            masker, corpus, out, settings, judge=judge, resume=resume, encoding=encoding, group=group_size(masker),
            on_progress=lambda r: bar.update(task, description=f"{r.lines:,} lines, {r.kept:,} pairs"),
        )  # fmt: skip


def print_counts(report: "SilverReport", out: Path, verb: Any = None) -> None:
    """How many pairs there are, and why there are no more, as a table."""
    from rich import box
    from rich.table import Table

    from masker.scale.silver import REASONS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in (("lines", "right"), ("%", "right"), (f"of {report.lines:,}", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    counts = {f"kept in {out.name}": report.kept}
    counts |= {
        f"dropped: {o.as_flags(why, verb) if verb else why.replace('`', '')}": report.dropped[name]
        for name, why in REASONS.items()
    }
    for name, count in counts.items():
        table.add_row(f"{count:,}", f"{100 * count / max(report.lines, 1):.1f}", name)
    err.print(table, markup=False)
