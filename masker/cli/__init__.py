"""The command line: one module a verb, each of them thin. Nothing heavy is imported before a verb runs."""

import errno
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from masker import __version__
from masker.cli._options import as_flags, check_given
from masker.cli._streams import Ended, prepare
from masker.errors import MaskerError, missing
from masker.show.terminal import Terminal

# which extra of the package brings what is imported
_EXTRAS = {
    "torch": "train", "transformers": "train", "accelerate": "train", "sklearn": "train", "scipy": "train",
    "sacrebleu": "train", "onnx": "onnx", "onnxscript": "onnx", "apache_beam": "beam", "pyarrow": "parquet",
    "pyspark": "spark", "matplotlib": "plot",
}  # fmt: skip


class _Interrupted(Exception):
    """Ctrl-C or a closed pipe, kept from typer, which would answer them in a way of its own."""


class _Verbs(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # what cannot be written is an error, and no remark of Python's at its end
            return result
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise _Interrupted from error


app = typer.Typer(
    name="masker",
    cls=_Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"masker {__version__}")
        raise typer.Exit


@app.callback()
def masker(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Rewrite text from one style to another, with small edits that explain themselves."""


def main() -> None:
    """Run the command line; what goes wrong is one line on stderr, with exit code 2 where the user can mend it, and 70
    where it is a bug of Masker's: 1 is what masker check says of a text.
    """
    prepare()
    try:
        # each registers its verb
        from masker.cli import (  # noqa: F401
            beam,
            bench,
            check,
            critic,
            distill,
            edit,
            evaluate,
            explain,
            export,
            fit,
            fix,
            info,
            judge,
            page,
            reader,
            serve,
            silver,
            spark,
            tune,
        )

        check_given(sys.argv[1:])
        app()
    except _Interrupted as stop:
        closed = isinstance(stop.__cause__, BrokenPipeError)  # `masker edit ... | head`
        _leave(None if closed else "interrupted", 141 if closed else 130)
    except Ended as stop:
        _leave("ended by a signal", stop.code)
    except MaskerError as error:
        _leave(as_flags(str(error), _verb(sys.argv[1:])), 2)
    except OSError as error:
        if error.errno == errno.EBADF and error.filename is None:
            _leave("standard output is closed, but is to be written to; leave it open", 2)
        _leave(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2)
    except Exception as error:
        # `pip install masker-nlp` brings what `edit`, `explain`, `check` and their like need
        if isinstance(error, ModuleNotFoundError) and (extra := _EXTRAS.get((error.name or "").partition(".")[0])):
            _leave(str(missing(extra, f"masker {sys.argv[1]}")), 2)
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # as torch says it
            _leave("out of memory; take smaller batches or shorter texts, or close other programs", 2)
        # a bug of Masker's
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        first = str(error).strip().partition("\n")[0]
        _leave(f"this should not have happened, please report it: {type(error).__name__} at {where}: {first}", 70)


def _verb(arguments: list[str]) -> Any:
    """The command that was called. Only verbs have options, so their names come first."""
    command: Any = typer.main.get_command(app)
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def _leave(message: str | None, code: int) -> None:
    if message is not None:
        Terminal(stderr=True, highlight=False, soft_wrap=True).print(f"masker: {message}", markup=False)
    try:
        sys.stdout.flush()
    except OSError:  # Python would try it again, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == 130:  # interrupted inside of `exec`, as imports do, Python would kill itself with the signal at its end
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
