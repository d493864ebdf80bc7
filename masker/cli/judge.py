"""masker judge: train the classifiers that measure style, and count a language model that measures fluency."""

from pathlib import Path
from typing import Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._training import bar, claim, say

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
    context: typer.Context,
    domain: Annotated[list[str], typer.Option(metavar="NAME=FILE", help="Corpus of a domain; once for each domain.")],
    out: Annotated[Path, typer.Option(help="Folder to write the judge to.")],
    dev: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Development lines of a domain. Default: 5 % of its corpus, held out."),
    ] = None,
    kind: Annotated[str, typer.Option(help="ngram (logistic regression) or transformer.")] = "ngram",
    base: Annotated[
        Path | None, typer.Option(help="Encoder that a transformer judge starts from [default: embedded].")
    ] = None,
    judge_lines: Annotated[
        bool, typer.Option("--judge-lines", help="Learn only from the quarter of the lines that is kept for judges.")
    ] = False,
    no_normalise: Annotated[
        bool, typer.Option("--no-normalise", help="Read texts as they are: case and spacing are a matter of style.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Transformer: passes over the corpora.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Transformer: lines per step.")] = 256,
    lr: Annotated[float, typer.Option(help="Transformer: the highest learning rate.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="Seed of everything that is random.")] = 0,
) -> None:
    """Train a style judge on plain lines of two or more domains, and say how good it is.

    For example: masker judge fit --domain negative=neg.txt.gz --domain positive=pos.txt.gz --out judges/ngram
    """
    from masker.data.corpora import is_judge_line, load_domains
    from masker.evaluation.judges.base import CARD, Judge, Training

    training = Training(base=base, epochs=epochs, batch_size=batch_size, lr=lr, seed=seed)
    corpora = load_domains(o.pairs(domain, "--domain"))
    if judge_lines:
        corpora = {name: [line for line in lines if is_judge_line(line)] for name, lines in corpora.items()}
    held = load_domains(o.pairs(dev, "--dev")) if dev else None
    claim(context, out, CARD)
    with bar(f"{kind} judge") as update:
        fitted = Judge.fit(corpora, dev=held, kind=kind, training=training, normalised=not no_normalise, on_step=update)
    fitted.save_pretrained(out)
    card = fitted.card
    lines = f"{card.train_lines} training and {card.dev_lines} development lines"
    domains = ", ".join(card.domains)
    say(f"{kind} judge of {domains}: {card.dev_accuracy:.2f} % right on dev ({lines}); saved to {out}")


@judge_app.command("lm")
def lm(
    context: typer.Context,
    corpus: Annotated[list[Path], typer.Argument(help="Plain texts, one per line; JSONL, CSV; gz or xz of these.")],
    out: Annotated[Path, typer.Option(help="Folder to write the language model to.")],
) -> None:
    """Count a trigram language model for 'masker evaluate --fluency-model': quick, and a stranger to all systems.

    For example: masker judge lm negative.judge.txt positive.judge.txt --out judges/lm
    """
    from masker.data.corpora import read_corpus
    from masker.evaluation.fluency import NgramLM
    from masker.evaluation.fluency_ngram import CARD

    claim(context, out, CARD)
    model = NgramLM.fit(line for path in corpus for line in read_corpus(path))
    model.save_pretrained(out)
    say(f"trigram language model of {len(model.words):,} words; saved to {out}")
