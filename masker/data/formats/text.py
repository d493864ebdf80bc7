"""The formats that are text: lines, TSV, CSV and JSONL."""

import csv
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from masker.data.formats.base import Format, LineWriter, Record, default_column, text_of, unknown_column
from masker.data.formats.decoding import numbered_lines
from masker.errors import MaskerError

Numbered = Iterator[tuple[int, str]]  # lines, newlines included, with their numbers in the file

_NO_NEWLINE, _CELL = str.maketrans("\n", " "), str.maketrans("\t\n", "  ")


class _TextFormat(Format):
    """A format made of lines, which may be packed."""

    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        return self.parse(path, numbered_lines(path, encoding), column)

    @abstractmethod
    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]: ...


class Lines(_TextFormat, LineWriter):
    """A text is a line."""

    name = "lines"
    suffixes = (".txt",)

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        if column is not None:
            hint = "drop `column`, or name it .jsonl, .csv, .tsv or .parquet"
            raise MaskerError(f"{path} is read as plain lines, which have no column '{column}'; {hint}")
        for _, line in lines:
            yield as_record(line)

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        return str(result["text"]).translate(_NO_NEWLINE) + ending


class Tsv(_TextFormat, LineWriter):
    """Columns with a tab in between and a header. Results have no header, and two columns: source and rewrite."""

    name = "tsv"
    suffixes = (".tsv",)

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        return _table(path, tsv_rows(lines), column)

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        return tsv_line((result["source"], result["text"]), ending)


class Csv(_TextFormat):
    """Columns with commas in between and a header; a quoted text may hold commas and line breaks."""

    name = "csv"
    suffixes = (".csv",)

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        return _table(path, self._rows(path, lines), column)

    def _rows(self, path: Path, lines: Numbered) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(2**31 - 1)  # the default, 128 KiB, is shorter than some texts
        rows = csv.reader((line for _, line in lines), strict=True)
        try:
            for row in rows:
                yield rows.line_num, row
        except csv.Error as error:
            raise MaskerError(f"{path}, line {rows.line_num}: bad CSV ({error}); is a quote left open?") from error


class Jsonl(_TextFormat, LineWriter):
    """A JSON object per line."""

    name = "jsonl"
    suffixes = (".jsonl", ".json")

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        for number, line in lines:
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                row = json_object(line)
            except ValueError as error:
                raise MaskerError(f"{where}: {error}; write one object per line") from error
            if column is None:
                # a null may be a text that is missing in this record only
                column = default_column(path, [key for key, value in row.items() if isinstance(value, str | None)])
            if column not in row:
                raise unknown_column(where, column, list(row))
            text = text_of(row[column], where, column)
            if any("\ud800" <= char <= "\udfff" for char in text):
                raise MaskerError(f"{where}: half of a surrogate pair; mend or remove this line")
            yield Record(text, row=row)

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        return json.dumps(result, ensure_ascii=False, default=str) + "\n"


# -- parts of them -----------------------------------------------------------------------------------------------------


def as_record(line: str) -> Record:
    """A line with its end, taken apart."""
    text = line.rstrip("\r\n")
    return Record(text, line[len(text) :])


def tsv_rows(lines: Numbered) -> Iterator[tuple[int, list[str]]]:
    # No quoting in TSV: a text that merely begins with a quote would swallow the lines after it.
    return ((number, line.rstrip("\r\n").split("\t")) for number, line in lines)


def tsv_line(cells: Iterable[str], ending: str = "\n") -> str:
    """Cells as a line; what would part them is written as a space."""
    return "\t".join(cell.translate(_CELL) for cell in cells) + ending


def json_object(line: str | bytes) -> dict[str, Any]:
    """The object in a line of JSONL, or a ValueError that says what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"bad JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def _table(path: Path, rows: Iterator[tuple[int, list[str]]], column: str | None) -> Iterator[Record]:
    header: list[str] = []
    for number, row in rows:
        where = f"{path}, line {number}"
        if not any(row) and (not header or len(row) != len(header)):  # an empty line
            continue
        if not header:
            header = row
            column = column or default_column(path, header)
            if column not in header:
                raise unknown_column(where, column, header)
            index = header.index(column)
        elif len(row) != len(header):
            counts = f"{len(row)} columns, but the header has {len(header)}"
            raise MaskerError(f"{where}: {counts}; quote texts that hold the delimiter, or use JSONL")
        else:
            yield Record(row[index], row=dict(zip(header, row, strict=True)))
