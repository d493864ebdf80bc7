"""Inputs cut into blocks that any worker can read by itself: byte ranges of text and JSONL, row ranges of Parquet."""

import lzma
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from masker.core.text import not_unicode
from masker.data.formats import PACKED, format_of
from masker.data.formats.base import check_column as check_named
from masker.data.formats.decoding import short_lines
from masker.data.formats.parquet import Parquet
from masker.data.formats.text import Jsonl, json_object
from masker.errors import MaskerError, check_whole
from masker.model.folder import one_line
from masker.scale.outcomes import Unreadable
from masker.scale.storage import Storage

SMALLEST, LARGEST = 2**14, 2**20  # bytes of input per block, which is held in memory
ROWS = 20_000  # of Parquet per block


@dataclass(frozen=True)
class Block:
    """The lines of a file that begin in `start` to `stop` (None: its end), or these rows of a Parquet row group."""

    shard: int
    path: str
    start: int
    stop: int | None
    group: int = 0


def located(path: str) -> str:
    """A local path in full: workers may be in other folders, and Beam finds nothing by a pattern without one."""
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def plan(patterns: Sequence[str], shards: int | None, storage: Storage) -> list[Block]:
    """Cut the files that match into blocks of about the same size. A compressed file cannot be cut."""
    if shards is not None:
        check_whole(1, shards=shards)
    with one_line(f"cannot find {' '.join(patterns)}"):
        files = [file for pattern in patterns for file in storage.match(located(pattern))]
    places = [file.path for file in files] or [located(pattern) for pattern in patterns]
    if folder := next((place for place in places if os.path.isdir(place)), None):
        raise MaskerError(f"{folder} is a folder; give its files, as {os.path.join(folder, '*')}")
    if not files:
        raise MaskerError(f"no file matches {' '.join(patterns)}")
    total = sum(file.size for file in files)
    size = max(1, -(-total // shards)) if shards else min(max(total // 128, SMALLEST), LARGEST)
    parts: list[tuple[str, int, int | None, int]] = []
    for file in files:
        path, ending = file.path, os.path.splitext(file.path)[1].lower()
        if isinstance(format_of(path), Parquet):
            parts += [(path, *part) for part in _row_groups(path, storage)]
        elif ending in (*PACKED, ".zst", ".deflate"):
            parts.append((path, 0, None, 0))
        else:
            ends = [*range(size, file.size, size), file.size]
            parts += [(path, start, stop, 0) for start, stop in zip([0, *ends], ends, strict=False)]
    return [Block(k, *part) for k, part in enumerate(parts)]


def _row_groups(path: str, storage: Storage) -> Iterator[tuple[int, int, int]]:
    with one_line(f"{path} is not a whole Parquet file"), storage.open(path) as file:
        sizes = list(Parquet().group_sizes(file))
    for group, rows in enumerate(sizes):
        yield from ((start, min(start + ROWS, rows), group) for start in range(0, rows, ROWS))


def read(block: Block, column: str | None, storage: Storage) -> list[tuple[Any, str, dict[str, Any]]]:
    """The texts of a block, each with the end of its line and the other fields of its record."""
    format = format_of(block.path)
    if isinstance(format, Parquet):
        with one_line(f"cannot read {block.path}"), storage.open(block.path) as file:
            rows = format.rows(file, block.group, block.start, block.stop or 0)
        return [_record(row, column) for row in rows]
    lines = _lines(block, storage)
    if isinstance(format, Jsonl):
        return [_json(raw, column) for raw in lines if raw.strip()]
    return [_line(raw, block.start == 0 and k == 0) for k, raw in enumerate(lines)]


def check_column(blocks: Sequence[Block], column: str | None, storage: Storage) -> None:
    """A column that the first record of a file lacks is better heard of before anything is done."""
    for path in dict.fromkeys(block.path for block in blocks):
        format, found = format_of(path), None
        if isinstance(format, Parquet):
            with storage.open(path) as file:
                found = format.columns(file)
        elif isinstance(format, Jsonl):
            block = next(block for block in blocks if block.path == path)
            with suppress(ValueError):  # a line that is no JSON is a failure of its own
                found = next((list(json_object(raw)) for raw in _lines(block, storage) if raw.strip()), None)
        if found is not None:
            check_named(path, column or "text", found)
        if found is None and column is not None and not isinstance(format, Jsonl | Parquet):
            raise MaskerError(f"{path} is read as plain lines, which have no column '{column}'; drop `column`")


def _lines(block: Block, storage: Storage) -> Iterator[bytes]:
    with _opened(block.path, storage) as file:
        at = 0
        if block.start:
            file.seek(block.start - 1)
            at = block.start - 1 + len(file.readline())  # of the line that begins before, if one does
        for raw in short_lines(block.path, file):
            if block.stop is not None and at >= block.stop:
                return
            at += len(raw)
            yield raw


@contextmanager
def _opened(path: str, storage: Storage) -> Iterator[Any]:
    """A file; of a packed one half is never taken for all of it."""
    ending = os.path.splitext(path)[1].lower()
    try:
        with storage.open(path) as file:
            yield file
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if ending not in PACKED:
            raise
        raise MaskerError(f"{path} is not a whole {ending} file ({error}); pack or copy it again") from error


def _line(raw: bytes, first: bool) -> tuple[Any, str, dict[str, Any]]:
    bare = raw.rstrip(b"\r\n")
    ending = raw[len(bare) :].decode()
    try:
        return bare.decode("utf-8-sig" if first else "utf-8"), ending, {}
    except UnicodeDecodeError:
        return Unreadable(bare, "not UTF-8 text"), ending, {}


def _json(raw: bytes, column: str | None) -> tuple[Any, str, dict[str, Any]]:
    try:
        row = json_object(raw)
    except ValueError as error:
        return Unreadable(raw.rstrip(b"\r\n"), str(error)), "\n", {}
    return _record(row, column)


def _record(row: dict[str, Any], column: str | None) -> tuple[Any, str, dict[str, Any]]:
    column = column or "text"
    text = row.get(column)
    if not isinstance(text, str):
        text = Unreadable(None, f"no text in column '{column}'")
    elif why := not_unicode(text):
        text = Unreadable(text.encode("utf-8", "backslashreplace"), why)
    return text, "\n", {name: value for name, value in row.items() if name != column}
