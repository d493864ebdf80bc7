"""The formats that are text: lines, TSV, CSV and JSONL."""

import csv
import io
import itertools
import json
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from masker.data.formats.base import Format, LineWriter, Record, Table, check_column, default_column, text_of
from masker.data.formats.decoding import LINE, numbered_lines
from masker.errors import MaskerError

Numbered = Iterator[tuple[int, str]]  # lines, newlines included, with their numbers in the file

_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_NEWLINE, _CELL = str.maketrans("\n", " "), str.maketrans("\t\n", "  ")


class _TextFormat(Format):
    """A format made of lines, which may be packed."""

    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        return self.parse(path, numbered_lines(path, encoding), column)

    @abstractmethod
    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]: ...


class Row(NamedTuple):
    """What stands in a file, with its line ends, for a row; `put` writes it with another text.

    Headers and blank lines have no text.
    """

    raw: str
    record: Record | None = None
    put: Callable[[str], str] = str


class _TextTable(_TextFormat, Table):
    """Rows of text. An edited text is put in the place of the old one; all other characters stay."""

    @abstractmethod
    def rows(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Row]: ...

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        return (row.record for row in self.rows(path, lines, column) if row.record is not None)

    def rewrite(
        self,
        path: Path,
        sink: IO[bytes],
        edit: Callable[[Iterator[str]], Iterable[str]],
        column: str | None,
        encoding: str,
    ) -> None:
        waiting = deque[Row]()

        def texts(lines: Numbered) -> Iterator[str]:
            for row in self.rows(path, lines, column):
                waiting.append(row)
                if row.record is not None:
                    yield row.record.text

        out = io.TextIOWrapper(sink, encoding, newline="")
        try:
            lines = numbered_lines(path, encoding, keep_mark=True)
            for first in itertools.islice(lines, 1):
                mark = "\ufeff" if first[1].startswith("\ufeff") else ""
                out.write(mark)
                lines = itertools.chain([(1, first[1].removeprefix(mark))], lines)
            for new in edit(texts(lines)):
                while (row := waiting.popleft()).record is None:
                    out.write(row.raw)
                out.write(row.raw if new == row.record.text else row.put(new))
                if not waiting:  # a chunk is complete
                    out.flush()
            out.writelines(row.raw for row in waiting)
        finally:
            out.detach()  # what it writes to is not its own to close


class Lines(_TextFormat, LineWriter):
    """A text is a line."""

    name = "lines"
    suffixes = (".txt",)

    def parse(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Record]:
        if column is not None:
            hint = "drop `column`, or name it .jsonl, .csv, .tsv or .parquet"
            raise MaskerError(f"{path} is read as plain lines, which have no column '{column}'; {hint}")
        for number, line in lines:
            yield as_record(line, first=number == 1)

    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        return self.parse(path, numbered_lines(path, encoding, keep_mark=True), column)

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        return str(result["text"]).translate(_NO_NEWLINE) + ending


class Tsv(_TextTable, LineWriter):
    """Columns with a tab in between and a header. Results have no header, and two columns: source and rewrite."""

    name = "tsv"
    suffixes = (".tsv",)

    def rows(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Row]:
        return _table(path, ((number, raw, _tsv_cells(raw)) for number, raw in lines), column, _put_tsv)

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        return tsv_line((result["source"], result["text"]), ending)


class Csv(_TextTable):
    """Columns with commas in between and a header; a quoted text may hold commas and line breaks.

    Where the header has no comma, semicolons, tabs or bars divide columns.
    """

    name = "csv"
    suffixes = (".csv",)

    def rows(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Row]:
        first = list(itertools.islice(lines, 1))
        header = re.sub(r'"[^"]*"', "", first[0][1]) if first else ""
        delimiter = next((mark for mark in ",;\t|" if mark in header), ",")
        rows = self._rows(path, itertools.chain(first, lines), delimiter)
        return _table(path, rows, column, partial(_put_csv, delimiter))

    def _rows(self, path: Path, lines: Numbered, delimiter: str) -> Iterator[tuple[int, str, list[str]]]:
        csv.field_size_limit(LINE)  # the default, 128 KiB, is shorter than some texts
        taken: list[str] = []  # the lines of a row

        def taking() -> Iterator[str]:
            for _, line in lines:
                taken.append(line)
                yield line

        rows = csv.reader(taking(), strict=True, delimiter=delimiter)
        try:
            for row in rows:
                yield rows.line_num, "".join(taken), row
                taken.clear()
        except csv.Error as error:
            raise MaskerError(f"{path}, line {rows.line_num}: bad CSV ({error}); is a quote left open?") from error


class Jsonl(_TextTable, LineWriter):
    """A JSON object per line."""

    name = "jsonl"
    suffixes = (".jsonl", ".json")

    def rows(self, path: Path, lines: Numbered, column: str | None) -> Iterator[Row]:
        for number, line in lines:
            if not line.strip():
                yield Row(line)
                continue
            where = f"{path}, line {number}"
            try:
                row = json_object(line)
            except ValueError as error:
                raise MaskerError(f"{where}: {error}; write one object per line") from error
            if column is None:
                # a null may be a text that is missing in this record only
                column = default_column(path, [key for key, value in row.items() if isinstance(value, str | None)])
            check_column(where, column, list(row))
            text = text_of(row[column], where, column)
            if any("\ud800" <= char <= "\udfff" for char in text):
                raise MaskerError(f"{where}: half of a surrogate pair; mend or remove this line")
            yield Row(line, Record(text), partial(_put_json, line, column))

    def line(self, result: Mapping[str, Any], ending: str) -> str:
        line = json.dumps(result, ensure_ascii=False, default=str) + "\n"
        return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", line)  # which has no place in UTF-8


# -- parts of them -----------------------------------------------------------------------------------------------------


def as_record(line: str, *, first: bool = False) -> Record:
    """A line with its end, taken apart, and if it is the first of a file with its byte order mark."""
    text = line.rstrip("\r\n")
    mark = "\ufeff" if first and text.startswith("\ufeff") else ""
    return Record(text.removeprefix(mark), line[len(text) :], mark=mark)


def tsv_rows(lines: Numbered) -> Iterator[tuple[int, list[str]]]:
    return ((number, _tsv_cells(line)) for number, line in lines)


def _tsv_cells(line: str) -> list[str]:
    # No quoting in TSV: a text that merely begins with a quote would swallow the lines after it.
    return line.rstrip("\r\n").split("\t")


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


def _table(
    path: Path, rows: Iterator[tuple[int, str, list[str]]], column: str | None, put: Callable[[str, int, str], str]
) -> Iterator[Row]:
    header: list[str] = []
    for number, raw, row in rows:
        where = f"{path}, line {number}"
        if not any(row) and (not header or len(row) != len(header)):  # an empty line
            yield Row(raw)
        elif not header:
            header = row
            column = column or default_column(path, header)
            check_column(where, column, header)
            index = header.index(column)
            yield Row(raw)
        elif len(row) != len(header):
            counts = f"{len(row)} columns, but the header has {len(header)}"
            raise MaskerError(f"{where}: {counts}; quote texts that hold the delimiter, or use JSONL")
        else:
            yield Row(raw, Record(row[index]), partial(put, raw, index))


# -- another text in a row ---------------------------------------------------------------------------------------------


def _put_tsv(raw: str, index: int, new: str) -> str:
    record = as_record(raw)
    cells = record.text.split("\t")
    cells[index] = new
    return tsv_line(cells, record.ending)


def _put_csv(delimiter: str, raw: str, index: int, new: str) -> str:
    """It is quoted if the old text was, or if it has to be."""
    cell = re.compile(rf'"(?:[^"]|"")*"|[^{re.escape(delimiter)}\r\n]*')
    start = 0
    for _ in range(index):
        start = cell.match(raw, start).end() + 1  # type: ignore[union-attr]
    end = cell.match(raw, start).end()  # type: ignore[union-attr]
    if raw.startswith('"', start) or new.startswith('"') or any(mark in new for mark in (delimiter, "\r", "\n")):
        new = '"' + new.replace('"', '""') + '"'
    return raw[:start] + new + raw[end:]


def _put_json(raw: str, column: str, new: str) -> str:
    """In an object that is known to be one: of a key that stands there twice the last value counts."""
    decode, between = json.JSONDecoder().raw_decode, re.compile(r"[\s:,]*")
    start = end = 0
    at = between.match(raw, raw.index("{") + 1).end()  # type: ignore[union-attr]
    while raw[at] != "}":
        key, at = decode(raw, at)
        begin = between.match(raw, at).end()  # type: ignore[union-attr]
        _, stop = decode(raw, begin)
        if key == column:
            start, end = begin, stop
        at = between.match(raw, stop).end()  # type: ignore[union-attr]
    return raw[:start] + json.dumps(new, ensure_ascii=raw.isascii()) + raw[end:]
