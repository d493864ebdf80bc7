"""masker fit --baseline: what the paper compares with, fitted into the folder of a model."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from masker.baselines.base import NAMES, fit_baseline
from masker.cli._training import command, reports, say
from masker.errors import MaskerError, unknown
from masker.model.folder import SETTINGS, has_settings, local_folder, one_line, read_settings

Baseline = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="Instead, fit what the paper compares with into the model in --out, or a copy of the base: "
        "acmlm-frequency, acmlm-attention, acmlm-fusion, delete-template or delete-retrieve; repeat.",
    ),
]


def add_baselines(
    names: Sequence[str], corpora: Mapping[str, Sequence[str]], out: Path, base: str | None, *, seed: int
) -> None:
    """Fit baselines into the model in `out`; where there is none yet, the base is copied there."""
    for name in names:
        if name not in NAMES:
            raise unknown("baseline", name, NAMES)
    if len(corpora) < 2:
        raise MaskerError("a baseline tells domains apart: give two or more with --domain")
    folder = out if has_settings(out) else local_folder(base)
    known = read_settings(folder / SETTINGS).domains if folder and has_settings(folder) else []
    if lacking := [name for name in corpora if name not in known]:
        raise MaskerError(f"the model in {folder or base} has no domain '{lacking[0]}'; fit one that has first")
    if folder and folder != out:
        with one_line(f"cannot copy the model in {folder} to {out}"):
            shutil.copytree(folder, out, dirs_exist_ok=True)
    for name in names:
        with reports(name, lambda p: f"accuracy {p.newest.value:.1f}" if p.newest else "") as report:
            folder = fit_baseline(name, corpora, out, seed=seed, command=command(), report=report)
        say(f"wrote {folder}: masker edit --method {name} --model {out}")
