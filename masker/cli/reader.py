"""masker reader: a causal LM that reads drafts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._training import command, reports, say, told_apart

if TYPE_CHECKING:
    from masker.training.reader import ReaderSettings

LARGEST = 512  # texts of a step on a GPU, at most


@app.command()
def reader(
    base: Annotated[str, typer.Option("--base", help="Folder or Hugging Face id of any causal language model.")],
    domain: Annotated[list[str], typer.Option("--domain", metavar="NAME=FILE", help="A domain and its texts; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the reader; MODEL/reader is that model's own.")],
    epochs: Annotated[float | None, typer.Option("--epochs", help="Passes over the texts [default: 1].")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Steps, instead of --epochs.")] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Texts per step [default: 64, more on a GPU].")
    ] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Highest learning rate [default: 1e-4].")] = None,
    window: Annotated[int | None, typer.Option("--window", help="Longest text in pieces [default: 256].")] = None,
    eval_every: Annotated[
        int | None, typer.Option("--eval-every", help="Steps between evaluations [default: 10 per run].")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same reader.")] = 0,
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Fit a causal language model to domains, so that it can choose among the drafts of the search editor.

    It is given the same texts as masker fit. A model uses the reader in its folder; others are named with masker edit
    --reader DIR. What a step of masker fit --reader BASE does is the same, with the settings that are usual here.
    """
    from masker.data.corpora import load_domains
    from masker.training.reader import ReaderSettings

    given: dict[str, Any] = {
        "epochs": epochs, "steps": steps, "batch_size": batch_size, "lr": lr, "window": window,
        "eval_every": eval_every, "device": device,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    settings = ReaderSettings(**given, seed=seed)
    corpora = load_domains(o.pairs(domain, "--domain"), column=column, encoding=encoding)
    fit_reader(corpora, base, out, settings, {*given})


def fit_reader(
    corpora: Mapping[str, Sequence[str]], base: str, out: Path, settings: "ReaderSettings", chosen: set[str]
) -> None:
    """Fit a reader under a progress bar. What was not `chosen` is set as it suits the device."""
    from masker.runtime import chosen_device
    from masker.training.reader import fit_reader
    from masker.training.settings import batch_for

    if "batch_size" not in chosen and chosen_device(settings.device) != "cpu":
        size = min(LARGEST, batch_for(sum(map(len, corpora.values())), settings.epochs))
        settings = replace(settings, batch_size=size)
    with reports("reader", told_apart) as report:
        card = fit_reader(corpora, base, out, settings=settings, command=command(), report=report)
    made, scores = card.made, card.made["scores"]
    told = f"tells {scores['told_apart']:.1f} % of held-out texts apart, " if scores else ""
    say(f"wrote {out}: {told}{made['steps']} steps, {made['seconds']} s")
