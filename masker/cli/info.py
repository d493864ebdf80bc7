"""masker info: what a model is and how it was made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from masker.cli import app
from masker.model.folder import READER, STUDENT


@app.command()
def info(
    model: Annotated[
        str | None, typer.Argument(help="Model folder or Hugging Face id [default: the embedded one].")
    ] = None,
) -> None:
    """Print what a model is and how it was made."""
    from masker.model.card import facts
    from masker.model.folder import local_folder
    from masker.model.light import LightModel
    from masker.runtime import load_network

    folder = local_folder(model)
    found = LightModel.read(folder) if folder else load_network(model)
    console = Console(highlight=False, soft_wrap=True)
    for name, value in [*facts(found, model or "the embedded model"), *_student(folder), *_reader(folder)]:
        console.print(f"{name:<18}", value, markup=False)


def _student(folder: Path | None) -> Iterator[tuple[str, str]]:
    """What is known of the student in a model's folder."""
    from masker.students.base import is_student, read_card

    if folder and is_student(folder / STUDENT):
        kind, fields, card = read_card(folder / STUDENT)
        yield "student", f"{kind}, {card['parameters'] / 1e6:.1f}M parameters, to {' and '.join(fields['targets'])}"
        for made in card["made"]:
            yield "  taught", f"{made['steps']} steps with {made['pairs']:,} pairs, Exact {made['scores'].get('exact')}"


def _reader(folder: Path | None) -> Iterator[tuple[str, str]]:
    """What is known of the reader in a model's folder."""
    from masker.model.reader import ReaderCard, is_reader

    if folder and is_reader(folder / READER):
        made = ReaderCard.read(folder / READER).made
        scores = made["scores"]
        told = f", tells {scores['told_apart']:.1f} % of held-out texts apart" if scores else ""
        yield "reader", f"{made['base']}, {made['parameters'] / 1e6:.1f}M parameters{told}"
