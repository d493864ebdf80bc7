"""masker spark edit, masker spark silver: files of any size, on a cluster of Apache Spark."""

from typing import Any

import typer

from masker.cli import app
from masker.cli._engine import add_edit, add_silver

spark = typer.Typer(help="Edit files of any size with Apache Spark: on a cluster or this machine.")
app.add_typer(spark, name="spark", no_args_is_help=True)


def _start(context: typer.Context, *job: Any, **rest: Any) -> dict[str, int]:
    from masker.scale.spark import run

    return run(*job, options=context.args, **rest)


add_edit(spark, _start, "Spark's own options are --master URL and --conf KEY=VALUE, as for spark-submit.")
add_silver(spark, _start)
