"""masker info: what a model is and how it was made."""

from typing import Annotated

import typer
from rich.console import Console

from masker.cli import app


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
    for name, value in facts(found, model or "the embedded model"):
        console.print(f"{name:<18}", value, markup=False)
