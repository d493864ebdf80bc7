"""masker info: what a model is and how it was made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from masker.cli import app
from masker.model.folder import CRITIC, PHRASES, READER, STUDENT
from masker.show.terminal import Terminal


@app.command()
def info(
    model: Annotated[
        str | None, typer.Argument(help="Model folder or Hugging Face id [default: the embedded one].")
    ] = None,
) -> None:
    """Print what a model is and how it was made.

    Students, readers, critics and judges are told of, too.
    """
    from masker.model.card import facts
    from masker.model.folder import local_folder
    from masker.model.light import LightModel
    from masker.runtime import load_network

    console = Terminal(highlight=False, soft_wrap=True)
    told = [] if model is None else list(_other(Path(model).expanduser()))
    if not told:
        folder = local_folder(model)
        found = LightModel.read(folder) if folder else load_network(model)
        told = [*facts(found, model or "the embedded model"), *_parts(folder)]
    for name, value in told:
        console.print(f"{name:<18}", value, markup=False)


def _parts(folder: Path | None) -> Iterator[tuple[str, str]]:
    """What is known of the student, the reader, the critic and the phrase books in a model's folder."""
    if folder is not None:
        yield from _student(folder / STUDENT)
        yield from _reader(folder / READER)
        yield from _critic(folder / CRITIC)
        yield from _books(folder / PHRASES)


def _other(folder: Path) -> Iterator[tuple[str, str]]:
    """What is known of a folder that holds no model."""
    from masker.data.checked import checked, read_object
    from masker.evaluation.judges.base import CARD, Card

    yield from _student(folder)
    yield from _reader(folder)
    yield from _critic(folder)
    if (folder / CARD).is_file():
        card = checked(Card, read_object(folder / CARD), folder / CARD)
        yield "judge", f"{card.kind}, of {', '.join(card.domains)}"
        yield "lines", f"{card.train_lines:,} to learn from, {card.dev_lines:,} to be measured on"
        yield "right on dev", f"{card.dev_accuracy:.2f} %"


def _student(folder: Path) -> Iterator[tuple[str, str]]:
    """What is known of a student."""
    from masker.model.folder import one_line
    from masker.students.base import is_student, read_card

    if is_student(folder):
        kind, fields, card = read_card(folder)
        to = f", to {' and '.join(targets)}" if (targets := fields.get("targets")) else ""
        with one_line(f"cannot read the card of the student in {folder}"):
            yield "student", f"{kind}, {card['parameters'] / 1e6:.1f}M parameters{to}"
            for made in card["made"]:
                told = f"{made['steps']} steps with {made['pairs']:,} pairs"
                yield "  taught", f"{told}, Exact {made['scores'].get('exact')}"


def _reader(folder: Path) -> Iterator[tuple[str, str]]:
    """What is known of a reader."""
    from masker.model.folder import one_line
    from masker.model.reader import ReaderCard, is_reader

    if is_reader(folder):
        made = ReaderCard.read(folder).made
        with one_line(f"cannot read the card of the reader in {folder}"):
            scores = made["scores"]
            told = f", tells {scores['told_apart']:.1f} % of held-out texts apart" if scores else ""
            yield "reader", f"{made['base']}, {made['parameters'] / 1e6:.1f}M parameters{told}"


def _critic(folder: Path) -> Iterator[tuple[str, str]]:
    """What is known of a critic."""
    from masker.model.critic import CriticCard, is_critic
    from masker.model.folder import one_line

    if is_critic(folder):
        card = CriticCard.read(folder)
        with one_line(f"cannot read the card of the critic in {folder}"):
            told = f"taught by {card.made['ratings']:,} ratings"
            yield "critic", f"of rewrites to {', '.join(card.domains)}; {told}"


def _books(folder: Path) -> Iterator[tuple[str, str]]:
    """What is known of phrase books."""
    from masker.search.phrases import PhraseBook

    for path in sorted(folder.glob("*.txt")):
        yield "phrase book", f"of rewrites to {path.stem}; {len(PhraseBook.load(path).phrases):,} phrases"
