"""What the verbs that train have in common: a progress bar, lines on stderr, and the command as it was typed."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from masker.cli._output import err
from masker.errors import MaskerError
from masker.show.terminal import readable

if TYPE_CHECKING:
    from masker.training.progress import Progress, Report


class Update(Protocol):
    def __call__(self, step: int, steps: int, line: str = "") -> None: ...


@contextmanager
def bar(title: str) -> Iterator[Update]:
    """A progress bar, on a terminal only."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
               TimeRemainingColumn())  # fmt: skip
    with Bar(*columns, console=err, disable=not err.is_terminal) as shown:
        task = shown.add_task("reading", total=None)

        def update(step: int, steps: int, line: str = "") -> None:
            shown.update(task, completed=step, total=steps, description=line)

        yield update


@contextmanager
def reports(title: str, describe: Callable[["Progress"], str]) -> Iterator["Report"]:
    """A progress bar that tells the newest scores; where there is no terminal, a line for every evaluation."""
    with bar(title) as update:

        def report(progress: "Progress") -> None:
            line = describe(progress)
            update(progress.step, progress.steps, line)
            if progress.evaluated and not err.is_terminal:
                say(f"{title} {progress.step}/{progress.steps}  {line}")

        yield report


def told_apart(p: "Progress") -> str:
    """A line for what learns to tell things apart."""
    told = f"  told apart {p.newest.details['told_apart']:.1f} %" if p.newest else ""
    return f"loss {p.loss:.3f}{told}  {p.tokens_per_second:,.0f} tokens/s"


def say(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)


def command() -> str:
    """The command as it was typed, for the card of what it makes."""
    return readable(shlex.join(["masker", *sys.argv[1:]]))


def claim(context: typer.Context, out: Path, card: str) -> None:
    """Have the folder for what is to be made, which `card` tells, to ourselves until the verb ends."""
    if readable(str(out)) != str(out):  # which TensorBoard does not take
        raise MaskerError(f"the name of the folder {out} is no UTF-8 here; give it another with --out")
    from masker.model.claim import claimed

    context.with_resource(claimed(out, card))
