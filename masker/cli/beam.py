"""masker beam edit, masker beam silver: files of any size, on any runner of Apache Beam."""

import logging
import warnings
from typing import Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._engine import add_edit, add_silver

beam = typer.Typer(help="Edit files of any size with Apache Beam: on Dataflow, Flink, Spark or this machine.")
app.add_typer(beam, name="beam", no_args_is_help=True)


def _start(context: typer.Context, *job: Any, **rest: Any) -> dict[str, int]:
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # remarks of libraries as they are imported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from masker.scale.beam.files import last_words, run
            from masker.scale.beam.running import check_options
    finally:
        logging.disable(before)
    check_options(context.args, [flag for parameter in context.command.params for flag in parameter.opts])
    quiet = "--default_sdk_harness_log_level=WARNING"  # which a level that the user gives comes after
    return run(
        *job, options=[quiet, *context.args],
        on_death=lambda message: last_words(o.as_flags(message, context.command)), **rest,
    )  # fmt: skip


add_edit(beam, _start, "Options that are not named here are Beam's, --runner first of all.")
add_silver(beam, _start)
