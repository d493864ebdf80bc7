"""masker judge: train the classifiers that measure style, and count a language model that measures fluency."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from masker.cli import app
from masker.errors import MaskerError

judge_app = typer.Typer(
    name="judge",
    help="Train what measures: judges of style, language models for fluency.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(judge_app)


@judge_app.callback()
def judge() -> None:
    """Train what measures: judges of style, language models for fluency."""


@judge_app.command("fit")
def fit(
    domain: Annotated[list[str], typer.Option(metavar="NAME=FILE", help="Corpus of a domain; once for each domain.")],
    out: Annotated[Path, typer.Option(help="Folder to write the judge to.")],
    dev: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Development lines of a domain. Default: 5 % of its corpus, held out."),
    ] = None,
    kind: Annotated[str, typer.Option(help="ngram (logistic regression) or transformer.")] = "ngram",
    base: Annotated[Path | None, typer.Option(help="Encoder folder that a transformer judge starts from.")] = None,
    judge_lines: Annotated[
        bool, typer.Option("--judge-lines", help="Learn only from the quarter of the lines that is kept for judges.")
    ] = False,
    no_normalise: Annotated[
        bool, typer.Option("--no-normalise", help="Read texts as they are: case and spacing are a matter of style.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Transformer: passes over the corpora.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Transformer: lines a step.")] = 256,
    lr: Annotated[float, typer.Option(help="Transformer: the highest learning rate.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="Seed of everything that is random.")] = 0,
) -> None:
    """Train a style judge on plain lines of two or more domains, and say how good it is.

    For example: masker judge fit --domain negative=neg.txt.gz --domain positive=pos.txt.gz --out judges/ngram
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from masker.data.corpora import is_judge_line, load_domains
    from masker.evaluation.judges.base import Judge, Training

    training = Training(base=base, epochs=epochs, batch_size=batch_size, lr=lr, seed=seed)
    corpora = load_domains(_named(domain))
    if judge_lines:
        corpora = {name: [line for line in lines if is_judge_line(line)] for name, lines in corpora.items()}
    held = load_domains(_named(dev)) if dev else None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(f"{kind} judge", total=None)
        fitted = Judge.fit(
            corpora,
            dev=held,
            kind=kind,
            training=training,
            normalised=not no_normalise,
            on_step=lambda step, steps: progress.update(task, completed=step, total=steps),
        )
    fitted.save_pretrained(out)
    card = fitted.card
    lines = f"{card.train_lines} training and {card.dev_lines} development lines"
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"{kind} judge of {', '.join(card.domains)}: {card.dev_accuracy:.2f} % right on dev ({lines}); saved to {out}",
        markup=False,
    )


@judge_app.command("lm")
def lm(
    corpus: Annotated[list[Path], typer.Argument(help="Plain texts, one a line; JSONL, CSV; gz or xz of these.")],
    out: Annotated[Path, typer.Option(help="Folder to write the language model to.")],
) -> None:
    """Count a trigram language model for 'masker evaluate --fluency-model': quick, and a stranger to all systems.

    For example: masker judge lm negative.judge.txt positive.judge.txt --out judges/lm
    """
    from masker.cli._output import err
    from masker.data.corpora import read_corpus
    from masker.evaluation.fluency import NgramLM

    model = NgramLM.fit(line for path in corpus for line in read_corpus(path))
    model.save_pretrained(out)
    err.print(f"trigram language model of {len(model.words):,} words; saved to {out}", markup=False, soft_wrap=True)


def _named(values: list[str]) -> dict[str, str]:
    """NAME=FILE options as a mapping."""
    named: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not (name and equals and path):
            raise MaskerError(f"'{value}' is not NAME=FILE, e.g. negative=reviews.txt")
        if name in named:
            raise MaskerError(f"domain '{name}' is given twice; join its files, e.g. with cat")
        named[name] = path
    return named
