"""masker fix: rewrite the prose of files, seen as a diff, in place, or edit by edit."""

import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._asking import ask_about
from masker.cli._checking import STDIN, Below, Files, Kind, Rewritten, checking_job, rewrite_files
from masker.cli._editing import Failures
from masker.cli._output import err, writer
from masker.cli.check import TOP
from masker.cli.edit import MaxEdits, Method, Strength
from masker.data.formats import read_text
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.data.documents import DocumentRewrite

Diff = Annotated[bool, typer.Option("--diff", help="Show what would change, for patch -p1; the default.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Write the files anew.")]
Interactive = Annotated[bool, typer.Option("--interactive", help="Ask edit by edit, then write the files anew.")]
# bytes of a path that are not written as they are
_ESCAPES = {byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))}
_ESCAPES |= {ord(char): f"\\{sign}" for char, sign in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}


@app.command()
def fix(
    files: Files,
    to: Annotated[str, typer.Option("--to", help="Domain that texts should read like.")],
    diff: Diff = False,
    in_place: InPlace = False,
    interactive: Interactive = False,
    from_: o.From = None,
    model: o.Model = None,
    below: Below = 0.5,
    method: Method = None,
    strength: Strength = None,
    max_edits: MaxEdits = None,
    min_score: o.MinScore = None,
    min_confidence: o.MinConfidence = None,
    protect: o.Protect = None,
    keep: o.Keep = None,
    forbid: o.Forbid = None,
    kind: Kind = None,
    exact: o.Exact = False,
    max_words: o.MaxWords = 2000,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Rewrite the prose of files so that it reads like --to.

    What masker check lists is shown as a diff, made in place, or asked about. Everything else in a file stays as it is,
    byte for byte; a file is replaced as a whole or not at all. A paragraph that cannot be edited stays, and the exit
    code is 3.
    """
    if diff + in_place + interactive > 1:
        raise MaskerError("--diff, --in-place and --interactive are three ways to do it; choose one")
    if in_place or interactive:
        _check_writable(files)
    job = checking_job(
        to, from_, model, max_words, exact, method=method, strength=strength, max_edits=max_edits,
        min_score=min_score, min_confidence=min_confidence,
        top=TOP if interactive and method in (None, "search", "paper") else 0, below=below,
        protect=protect, keep=keep, forbid=forbid,
    )  # fmt: skip
    failures = Failures("could not be edited, and came out unchanged")
    done = rewrite_files(job, files, kind=kind, encoding=encoding, device=device, failures=failures)
    if interactive:
        for one, decided in ask_about(done):
            _write(one, decided, encoding)
    elif in_place:
        for one in done:
            _write(one, one.done, encoding)
    else:
        with writer(None, encoding) as sink:
            for one in done:
                sink.writelines(unified(one.name, one.done.source, one.done.text))
    failures.end()


def _check_writable(files: Sequence[Path]) -> None:
    from masker.data.formats import PACKED

    for file in files:
        if file == STDIN:
            raise MaskerError("standard input cannot be written to; name a file, or see the changes with --diff")
        if file.suffix.lower() in PACKED:
            raise MaskerError(f"{file} is packed; unpack it first, or see the changes with --diff")


def _write(one: Rewritten, done: "DocumentRewrite", encoding: str) -> None:
    """Put the new text in the place of the old, unless somebody has changed that in the meantime."""
    if done.text == one.done.source:
        return
    if read_text(one.file, encoding) != one.done.source:
        raise MaskerError(f"{one.file} was changed while it was looked at, and is left alone; fix it again")
    with writer(one.file, encoding) as sink:
        sink.write(done.text)
    count = len(done.edits)
    err.print(f"{one.file}: {count:,} edit{'' if count == 1 else 's'}", markup=False, soft_wrap=True)


def unified(name: str, old: str, new: str) -> Iterator[str]:
    """A unified diff, as patch and git read it; lines end where they end in the file."""
    path = name.lstrip("/") if sys.platform != "win32" else Path(name).as_posix()
    for line in difflib.unified_diff(_lines(old), _lines(new), _label(f"a/{path}"), _label(f"b/{path}")):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _label(path: str) -> str:
    """A path as git writes it into a diff: in quotes if a character of it needs them, before a tab if it has spaces."""
    written = "".join(_ESCAPES.get(byte) or chr(byte) for byte in os.fsencode(path))
    return (path if written == path else f'"{written}"') + "\t" * (" " in path)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)
