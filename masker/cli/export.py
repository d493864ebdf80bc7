"""masker export: a model for ONNX Runtime."""

from pathlib import Path
from typing import Annotated

import typer

from masker.cli import app
from masker.cli._output import err


@app.command()
def export(
    model: Annotated[
        str | None, typer.Argument(help="Model folder or Hugging Face id [default: the embedded one].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write to [default: the model's own, or the user's cache].")
    ] = None,
) -> None:
    """Write a model in int8 for ONNX Runtime: up to three times as fast on a CPU, and loaded in a moment.

    From then on it is chosen by itself wherever there is no GPU.
    """
    from masker.runtime.export import export as write

    path = write(model, out)
    err.print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", markup=False, soft_wrap=True)
