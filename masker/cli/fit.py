"""masker fit and masker pretrain."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._training import command, reports, say
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.training.progress import Progress, Report

Epochs = Annotated[float, typer.Option("--epochs", help="Passes over the texts.")]
SETTINGS = ("epochs", "steps", "batch_size", "accumulate", "lr", "dropout", "reveal", "style", "eval_every", "patience",
            "seed", "precision", "compile", "workers")  # fmt: skip


def _shared(
    base: Annotated[
        str | None, typer.Option("--base", help="Folder or Hugging Face id to start from [default: embedded].")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", help="Start from scratch instead: tiny, mini, small or base.")
    ] = None,
    n_p: Annotated[int | None, typer.Option("--n-p", help="Masks per span [default: the base model's, 4].")] = None,
    window: Annotated[
        int | None, typer.Option("--window", help="Longest text in pieces [default: the base model's].")
    ] = None,
    epochs: Epochs = 3.0,
    steps: Annotated[int | None, typer.Option("--steps", help="Steps, instead of --epochs.")] = None,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", help="Examples per step, over all processes [default: 64, more on a GPU]."),
    ] = None,
    accumulate: Annotated[int, typer.Option("--accumulate", help="Compute a step's batch in so many parts.")] = 1,
    lr: Annotated[
        float | None, typer.Option("--lr", help="Highest learning rate [default: 2e-4, more for larger batches].")
    ] = None,
    dropout: Annotated[float, typer.Option("--dropout", help="Share of activations dropped in training.")] = 0.1,
    reveal: Annotated[float, typer.Option("--reveal", help="Share of spans with their first pieces shown.")] = 0.4,
    eval_every: Annotated[
        int | None, typer.Option("--eval-every", help="Steps between evaluations [default: 10 per run].")
    ] = None,
    patience: Annotated[int, typer.Option("--patience", help="Stop after so many evaluations without a gain.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same model.")] = 0,
    precision: Annotated[str, typer.Option("--precision", help="auto (bf16 on a GPU), fp32, bf16 or fp16.")] = "auto",
    compile: Annotated[
        bool, typer.Option("--compile", help="Compile the step: pays in long runs over texts that fill the window.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", help="Processes that tokenise the corpora.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last checkpoint in --out.")] = False,
) -> None:
    """The options that fit and pretrain share; `_with_shared` adds them to a verb's own."""


def _with_shared(verb: Callable[..., None]) -> Callable[..., None]:
    own = {n: p for n, p in inspect.signature(verb).parameters.items() if p.kind is not p.VAR_KEYWORD}
    shared = {n: p for n, p in inspect.signature(_shared).parameters.items() if n not in own}
    verb.__signature__ = inspect.Signature([*own.values(), *shared.values()])  # type: ignore[attr-defined]
    verb.__annotations__ = {**_shared.__annotations__, **verb.__annotations__}
    return verb


@app.command()
@_with_shared
def fit(
    domain: Annotated[list[str], typer.Option("--domain", metavar="NAME=FILE", help="A domain and its texts; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    counterpart: Annotated[
        list[str] | None, typer.Option("--counterpart", metavar="NAME=NAME", help="A domain's default source domain.")
    ] = None,
    domain_as: Annotated[
        str, typer.Option("--domain-as", help="token before the text, or embedding added to every piece.")
    ] = "token",
    style: Annotated[
        float, typer.Option("--style", help="Weight of the style classifier, for the search editor; 0: do without.")
    ] = 0.3,
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Annotated[
        list[str] | None, typer.Option("--licence", metavar="NAME=TEXT", help="Licence of a domain's texts.")
    ] = None,
    **shared: Any,
) -> None:
    """Fit a model to domains, each given as plain texts.

    No aligned pairs are needed. Texts are lines, JSONL, CSV or TSV, or gz or xz of these.
    """
    from masker.data.corpora import load_domains, warn_if_inseparable

    shared["style"] = style
    settings, chosen = _settings(shared)
    counterparts, licences = o.pairs(counterpart, "--counterpart"), o.pairs(licence, "--licence")
    corpora = load_domains(o.pairs(domain, "--domain"), column=column, encoding=encoding)
    if warning := warn_if_inseparable(corpora):
        say(f"masker: warning: {warning}")
    from masker.training import fit as training

    with _reports(out) as report:
        model = training.fit(
            corpora, out, counterparts=counterparts, domain_as=domain_as, licences=licences,
            settings=_suited(settings, chosen, corpora), command=command(), report=report, **shared,
        )  # fmt: skip
    _say(model, out)


@app.command()
@_with_shared
def pretrain(
    corpus: Annotated[list[Path], typer.Argument(help="Plain texts, one per line; JSONL, CSV; gz or xz of these.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Annotated[str, typer.Option("--licence", help="Licence of the corpora.")] = "not stated",
    epochs: Epochs = 1.0,
    **shared: Any,
) -> None:
    """Train a model on plain text, as a base for fit."""
    from masker.data.corpora import read_corpus

    shared["epochs"] = epochs
    settings, chosen = _settings(shared)
    corpora: dict[str, list[str]] = {}
    for path in corpus:
        if str(path) in corpora:
            raise MaskerError(f"{path} is given twice; name each corpus once")
        corpora[str(path)] = list(read_corpus(path, column=column, encoding=encoding))
    from masker.training import fit as training

    with _reports(out) as report:
        model = training.pretrain(
            corpora, out, licences=dict.fromkeys(corpora, licence), settings=_suited(settings, chosen, corpora),
            command=command(), report=report, **shared,
        )  # fmt: skip
    _say(model, out)


def _settings(shared: dict[str, Any]) -> tuple[Any, set[str]]:
    """Take the options that are training settings out of `shared`; gives the names of those that were set, too."""
    from masker.training.settings import TrainSettings

    options = {name: shared.pop(name) for name in SETTINGS if name in shared}
    given = {name: value for name, value in options.items() if value is not None}
    return TrainSettings(**given), {*given}


def _suited(settings: Any, chosen: set[str], corpora: Mapping[str, Sequence[str]]) -> Any:
    """Settings with what was not chosen, as it suits the device and the number of texts."""
    from masker.runtime import gpus
    from masker.training.settings import batch_for, rate_for

    if "batch_size" not in chosen and gpus():
        texts = sum(map(len, corpora.values()))
        settings = replace(
            settings, batch_size=batch_for(texts, settings.epochs) // settings.accumulate * settings.accumulate
        )
    return settings if "lr" in chosen else replace(settings, lr=rate_for(settings.batch_size))


def _say(model: Any, out: Path) -> None:
    made = model.settings.made[-1]
    early = "" if made["steps"] == made["best_step"] else f", best checkpoint at step {made['best_step']}"
    accuracy = made["scores"]["span_accuracy"]
    say(f"wrote {out}: span accuracy {accuracy:.2f} after {made['steps']} steps{early}, {made['seconds']} s")


@contextmanager
def _reports(out: Path) -> Iterator["Report"]:
    """A progress bar; a run that is interrupted says how it goes on."""
    try:
        with reports("step", _line) as report:
            yield report
    except KeyboardInterrupt:
        if any((out / "checkpoints").glob("step-*")):
            raise MaskerError(
                f"interrupted; the run so far is in {out}: the same command with --resume goes on"
            ) from None
        raise


def _line(p: "Progress") -> str:
    accuracy = f"  span acc. {p.newest.value:.1f} (best {p.best.value:.1f})" if p.newest and p.best else ""
    return f"loss {p.loss:.3f}{accuracy}  {p.tokens_per_second:,.0f} tokens/s"
