"""The command line: one module a verb, each of them thin. Nothing heavy is imported before a verb runs."""

import sys

import typer
from rich.console import Console

from masker.errors import MaskerError

app = typer.Typer(
    name="masker",
    help="Rewrite text from one style to another, with small edits that explain themselves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command line; an error of the user's is one line on stderr and exit code 2."""
    from masker.cli import edit, evaluate, explain, fit, info, judge  # noqa: F401  (each registers its verb)

    err = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        app()
    except MaskerError as error:
        err.print(f"masker: {error}", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("masker: interrupted", markup=False)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        err.print(f"masker: {error.strerror or error}{where}", markup=False)
        sys.exit(2)
