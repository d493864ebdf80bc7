"""Tables for masker edit: a column is rewritten, and everything else comes out as it is."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from masker.cli._editing import Failures, rewrites, tell_finished
from masker.data.formats import Table, format_of, read_records
from masker.data.formats.decoding import open_packed
from masker.data.output import replacing, target
from masker.data.resumable import check_finished, check_ours
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.scale.job import Job


def edit_table(
    job: "Job", file: Path, out: Path | None, failures: Failures, *, column: str | None, encoding: str,
    device: str | None, workers: int | None, resume: bool,
) -> None:  # fmt: skip
    """Write a table with a column rewritten, in the format of the file."""
    format = format_of(file)
    assert isinstance(format, Table)
    _check_out(file, out)
    failures.name = lambda number: f"row {number}"
    if out is None or (workers is None and not resume):

        def edited(texts: Iterator[str]) -> Iterator[str]:
            shown = out is None
            for rewrite in rewrites(job, texts, failures, shown=shown, device=device, encoding=encoding, unit="rows"):
                yield rewrite.text

        with _sink(out) as sink:
            format.rewrite(file.expanduser(), sink, edited, column, encoding)
        return
    from masker.scale.parallel import edit_file

    # All rewrites come first, in a file that can be continued: a row may be many lines, and Parquet has none.
    texts = target(out).with_name(target(out).name + ".texts")
    card = texts.with_name(texts.name + ".json")
    records = read_records(file, column=column, encoding=encoding)
    if resume and target(out).exists() and not card.exists():
        written = sum(1 for _ in format.read(target(out), column, encoding))
        check_finished(out, written, records, str(file))
        tell_finished(out, known=False)
        return
    check_ours(texts, card)
    edit_file(
        job, records, texts, format="jsonl", workers=workers or 0, device=device, resume=resume, source=str(file),
        column=column, encoding=encoding, keep_card=True,
    )  # fmt: skip
    with _sink(out) as sink, open(texts, encoding="utf-8") as done:
        format.rewrite(file.expanduser(), sink, lambda sources: _made(done, sources, failures), column, encoding)
    texts.unlink()
    card.unlink()


def _made(done: IO[str], sources: Iterator[str], failures: Failures) -> Iterator[str]:
    for number, (source, line) in enumerate(zip(sources, done, strict=True), 1):
        record = json.loads(line)
        if record["source"] != source:
            raise MaskerError(f"row {number} is not the one that was edited; do not change a file that is being edited")
        if "error" in record:
            failures.note(number, record["error"])
        yield record["text"]


def _check_out(file: Path, out: Path | None) -> None:
    """A table comes out as the format that it is in, whatever a name says."""
    format = format_of(file)
    if out is None:
        if format.name == "parquet" and sys.stdout.isatty():
            raise MaskerError("a Parquet file is nothing for a terminal; name a file with --out")
        return
    other = format_of(out)
    endings = [suffix.lower() for suffix in out.suffixes]
    if other is not format and any(suffix in endings for suffix in other.suffixes):
        hint = f"end its name in {format.suffixes[0]}, or choose what comes out with --format"
        raise MaskerError(f"{file} comes out as the {format.name} table that it is, but --out {out} is none; {hint}")


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[bytes]]:
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(out) as path, open_packed(path, "wb") as file:
        yield file
