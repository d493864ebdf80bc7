"""Formats of files with texts: the one place that reads and writes them.

A format is a class and a row of FORMATS. Whatever can be read gives Records; results of rewriting, dictionaries with
at least `source` and `text`, are written by the formats that are a Writer, line by line by those that are a LineWriter.
A Table is written again with one of its columns rewritten.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from masker.data.formats.base import Format, LineWriter, Record, Writer
from masker.data.formats.base import Table as Table
from masker.data.formats.decoding import PACKED, numbered_lines
from masker.data.formats.parquet import Parquet
from masker.data.formats.text import Csv, Jsonl, Lines, Tsv

FORMATS: dict[str, Format] = {format.name: format for format in (Lines(), Tsv(), Csv(), Jsonl(), Parquet())}
WRITERS = {name: format for name, format in FORMATS.items() if isinstance(format, Writer)}
LINE_WRITERS = {name: format for name, format in FORMATS.items() if isinstance(format, LineWriter)}


def format_of(path: str | Path) -> Format:
    """The format that a file's name tells, with or without .gz or .xz after it: plain lines if it tells none."""
    path = Path(path)
    suffix = (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()
    return next((format for format in FORMATS.values() if suffix in format.suffixes), FORMATS["lines"])


def read_records(path: str | Path, *, column: str | None = None, encoding: str = "utf-8") -> Iterator[Record]:
    """Stream the texts of a file in the format that its name tells; `-` is standard input, as plain lines.

    Of a table `column` is read; without one the column `text`, or else the only one there is.
    """
    path = Path(os.path.expanduser(path))  # no shell expands the ~ of `--domain negative=~/neg.txt`
    yield from format_of(path).read(path, column, encoding)


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, blank ones too: where line numbers hold several files together."""
    return [record.text for record in Lines().read(Path(path), None, None)]


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """A whole file, or standard input, byte order mark and line ends included."""
    lines = numbered_lines(Path(os.path.expanduser(path)), encoding, keep_mark=True)
    return "".join(line for _, line in lines)
