"""masker critic: what tells how probably a reader accepts a rewrite."""

from pathlib import Path
from typing import Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._training import command, reports, say, told_apart
from masker.errors import MaskerError


@app.command()
def critic(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Ratings of rewrites: JSONL, maybe packed.")],
    model: o.Model = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the critic [default: MODEL/critic].")] = None,
    calibrate: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibrate", metavar="FILE", help="Ratings of rewrites as they come out: these set confidence; repeat."
        ),
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", help="Passes over the ratings [default: 9].")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Ratings per step [default: 64].")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Highest learning rate [default: 1.5e-3].")] = None,
    rank: Annotated[int | None, typer.Option("--rank", help="Of the changes to the weights [default: 16].")] = None,
    held_out: Annotated[
        float | None, typer.Option("--held-out", help="Share of the texts to measure with [default: 0.15].")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same critic.")] = 0,
    device: o.Device = None,
) -> None:
    """Teach a model's critic by what readers said of rewrites: every rewrite gets a confidence then.

    Each line of FILE has the fields to, source, text, and style, content and fluency: how good the rewrite is, from 1
    to 5. A rewrite is accepted that has at least 4 in all three. Some hundred texts with several rewrites each, good
    and bad ones, are a start.
    """
    from masker.model.folder import CRITIC, local_folder
    from masker.model.light import LightModel
    from masker.runtime.critic import load_critic
    from masker.runtime.export_critic import export_critic
    from masker.training.critic import CriticSettings, fit_critic, read_ratings
    from masker.training.critic import calibrate as recalibrated

    folder = local_folder(model)
    if folder is None:
        raise MaskerError(f"'{model}' is no folder; save the model first, for its critic is stored beside it")
    if model is None and out is None:
        raise MaskerError("the embedded model's own critic is not replaced; name a folder with `out`")
    target = out or folder / CRITIC
    given: dict[str, Any] = {
        "epochs": epochs, "batch_size": batch_size, "lr": lr, "rank": rank, "held_out": held_out, "device": device,
    }  # fmt: skip
    settings = CriticSettings(**{name: value for name, value in given.items() if value is not None}, seed=seed)
    ratings = [rating for path in files for rating in read_ratings(path)]
    with reports("critic", told_apart) as report:
        card = fit_critic(ratings, model, target, settings=settings, command=command(), report=report)
    export_critic(target, folder)
    if calibrate:
        taught = load_critic(target, folder, LightModel.read(folder).vocabulary, "cpu")
        recalibrated(taught, [rating for path in calibrate for rating in read_ratings(path)]).write(target)
    scores = card.made["scores"]
    say(f"wrote {target}: tells {scores['told_apart']:.1f} % of held-out pairs of good and bad rewrites apart")
