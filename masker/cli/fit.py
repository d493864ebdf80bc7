"""masker fit and masker pretrain."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import err
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.training.loop import Progress

Out = Annotated[Path, typer.Option("--out", help="Folder for the model.")]
Base = Annotated[
    str | None, typer.Option("--base", help="Folder or Hugging Face id to start from [default: embedded].")
]
Size = Annotated[str | None, typer.Option("--size", help="Start from scratch instead: tiny, mini, small or base.")]
Column = Annotated[str | None, typer.Option("--column", help="Field of JSONL, CSV or TSV corpora.")]
Licence = Annotated[list[str] | None, typer.Option("--licence", metavar="NAME=TEXT", help="Licence of a corpus.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after the last checkpoint in --out.")]
NP = Annotated[int | None, typer.Option("--n-p", help="Masks a span [default: the base model's, 4].")]
Window = Annotated[int | None, typer.Option("--window", help="Longest text in pieces [default: the base model's].")]
Epochs = Annotated[float, typer.Option("--epochs", help="Passes over the texts.")]
Steps = Annotated[int | None, typer.Option("--steps", help="Steps, instead of --epochs.")]
Batch = Annotated[int, typer.Option("--batch-size", help="Examples a step, over all processes.")]
Accumulate = Annotated[int, typer.Option("--accumulate", help="Parts that a step's batch is computed in.")]
Rate = Annotated[float, typer.Option("--lr", help="Highest learning rate.")]
Dropout = Annotated[float, typer.Option("--dropout")]
EvalEvery = Annotated[int | None, typer.Option("--eval-every", help="Steps between evaluations [default: 10 a run].")]
Patience = Annotated[int, typer.Option("--patience", help="Evaluations without a gain before stopping early.")]
Seed = Annotated[int, typer.Option("--seed")]
Precision = Annotated[str, typer.Option("--precision", help="auto (bf16 on a GPU), fp32, bf16 or fp16.")]
Workers = Annotated[int, typer.Option("--workers", help="Processes that tokenise the corpora.")]


def _pairs(values: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for value in values or []:
        name, sign, rest = value.partition("=")
        if not (name and sign and rest):
            raise MaskerError(f"'{value}' is no {option} NAME=VALUE")
        if name in pairs:
            raise MaskerError(f"{option} names '{name}' twice")
        pairs[name] = rest
    return pairs


@app.command()
def fit(
    domain: Annotated[list[str], typer.Option("--domain", metavar="NAME=FILE", help="A domain and its texts; repeat.")],
    out: Out,
    base: Base = None,
    size: Size = None,
    counterpart: Annotated[
        list[str] | None, typer.Option("--counterpart", metavar="NAME=NAME", help="A domain's default source domain.")
    ] = None,
    column: Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Licence = None,
    n_p: NP = None,
    window: Window = None,
    epochs: Epochs = 3.0,
    steps: Steps = None,
    batch_size: Batch = 64,
    accumulate: Accumulate = 1,
    lr: Rate = 2e-4,
    dropout: Dropout = 0.1,
    eval_every: EvalEvery = None,
    patience: Patience = 5,
    seed: Seed = 0,
    precision: Precision = "auto",
    workers: Workers = 1,
    resume: Resume = False,
) -> None:
    """Fit a model to domains, each a pile of texts; no aligned pairs are needed."""
    from masker.training.corpora import load_domains, warn_if_inseparable

    corpora = load_domains(_pairs(domain, "--domain"), column=column, encoding=encoding)
    if warning := warn_if_inseparable(corpora):
        err.print(f"masker: warning: {warning}", markup=False, soft_wrap=True)
    from masker.training import fit as training

    settings = _settings(
        epochs=epochs, steps=steps, batch_size=batch_size, accumulate=accumulate, lr=lr, dropout=dropout,
        eval_every=eval_every, patience=patience, seed=seed, precision=precision, workers=workers,
    )  # fmt: skip
    with _bar(out) as report:
        model = training.fit(
            corpora, out, base=base, size=size, settings=settings, n_p=n_p, window=window,
            counterparts=_pairs(counterpart, "--counterpart"), licences=_pairs(licence, "--licence"),
            command=_command(), resume=resume, report=report,
        )  # fmt: skip
    _say(model, out)


@app.command()
def pretrain(
    corpus: Annotated[list[Path], typer.Argument(help="Plain texts, one a line; JSONL, CSV; gz or xz of these.")],
    out: Out,
    base: Base = None,
    size: Size = None,
    column: Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Annotated[str, typer.Option("--licence", help="Licence of the corpora.")] = "not stated",
    n_p: NP = None,
    window: Window = None,
    epochs: Epochs = 1.0,
    steps: Steps = None,
    batch_size: Batch = 64,
    accumulate: Accumulate = 1,
    lr: Rate = 2e-4,
    dropout: Dropout = 0.1,
    eval_every: EvalEvery = None,
    patience: Patience = 5,
    seed: Seed = 0,
    precision: Precision = "auto",
    workers: Workers = 1,
    resume: Resume = False,
) -> None:
    """Train a padded masked LM on plain text, without domains, as a base for fit."""
    from masker.training import fit as training
    from masker.training.corpora import read_corpus

    settings = _settings(
        epochs=epochs, steps=steps, batch_size=batch_size, accumulate=accumulate, lr=lr, dropout=dropout,
        eval_every=eval_every, patience=patience, seed=seed, precision=precision, workers=workers,
    )  # fmt: skip
    corpora = {path.name: list(read_corpus(path, column=column, encoding=encoding)) for path in corpus}
    with _bar(out) as report:
        model = training.pretrain(
            corpora, out, base=base, size=size, settings=settings, n_p=n_p, window=window,
            licences=dict.fromkeys(corpora, licence), command=_command(), resume=resume, report=report,
        )  # fmt: skip
    _say(model, out)


def _settings(**values: Any) -> Any:
    from masker.training.settings import TrainSettings

    return TrainSettings(**values)


def _command() -> str:
    return shlex.join(["masker", *sys.argv[1:]])


def _say(model: Any, out: Path) -> None:
    made = model.settings.made[-1]
    early = "" if made["steps"] == made["best_step"] else f", best checkpoint at step {made['best_step']}"
    err.print(
        f"wrote {out}: span accuracy {made['scores']['span_accuracy']:.2f} after {made['steps']} steps{early}, "
        f"{made['seconds']} s", markup=False, soft_wrap=True,
    )  # fmt: skip


@contextmanager
def _bar(out: Path) -> Iterator[Callable[["Progress"], None]]:
    """A progress bar on a terminal; elsewhere a line for every evaluation."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    try:
        with Bar(*columns, console=err, disable=not err.is_terminal) as bar:
            task = bar.add_task("reading", total=None)

            def report(p: "Progress") -> None:
                accuracy = "" if p.span_accuracy is None else f"  span acc. {p.span_accuracy:.1f} (best {p.best:.1f})"
                line = f"loss {p.loss:.3f}{accuracy}  {p.tokens_per_second:,.0f} tokens/s"
                bar.update(task, completed=p.step, total=p.steps, description=line)
                if p.evaluated and not err.is_terminal:
                    err.print(f"step {p.step}/{p.steps}  {line}", markup=False, soft_wrap=True)

            yield report
    except KeyboardInterrupt:
        if any((out / "checkpoints").glob("step-*")):
            raise MaskerError(
                f"interrupted; the run so far is in {out}: the same command with --resume goes on"
            ) from None
        raise
