"""Inputs cut into blocks that any worker can read by itself: byte ranges of text and JSONL, row ranges of Parquet."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from masker.data.formats import format_of
from masker.data.formats.parquet import Parquet
from masker.data.formats.text import Jsonl, json_object
from masker.errors import MaskerError
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
    files = [file for pattern in patterns for file in storage.match(located(pattern))]
    if not files:
        raise MaskerError(f"no file matches {' '.join(patterns)}")
    total = sum(file.size for file in files)
    size = max(1, -(-total // shards)) if shards else min(max(total // 128, SMALLEST), LARGEST)
    parts: list[tuple[str, int, int | None, int]] = []
    for file in files:
        path, ending = file.path, os.path.splitext(file.path)[1].lower()
        if isinstance(format_of(path), Parquet):
            parts += [(path, *part) for part in _row_groups(path, storage)]
        elif ending in (".gz", ".xz", ".bz2", ".zst", ".deflate"):
            parts.append((path, 0, None, 0))
        else:
            ends = [*range(size, file.size, size), file.size]
            parts += [(path, start, stop, 0) for start, stop in zip([0, *ends], ends, strict=False)]
    return [Block(k, *part) for k, part in enumerate(parts)]


def _row_groups(path: str, storage: Storage) -> Iterator[tuple[int, int, int]]:
    with storage.open(path) as file:
        for group, rows in enumerate(Parquet().group_sizes(file)):
            yield from ((start, min(start + ROWS, rows), group) for start in range(0, rows, ROWS))


def read(block: Block, column: str | None, storage: Storage) -> list[tuple[Any, str, dict[str, Any]]]:
    """The texts of a block, each with the end of its line and the other fields of its record."""
    format = format_of(block.path)
    if isinstance(format, Parquet):
        with storage.open(block.path) as file:
            rows = format.rows(file, block.group, block.start, block.stop or 0)
        return [_record(row, row, column) for row in rows]
    lines = _lines(block, storage)
    if isinstance(format, Jsonl):
        return [_json(raw, column) for raw in lines if raw.strip()]
    return [_line(raw, block.start == 0 and k == 0) for k, raw in enumerate(lines)]


def _lines(block: Block, storage: Storage) -> Iterator[bytes]:
    with storage.open(block.path) as file:
        at = 0
        if block.start:
            file.seek(block.start - 1)
            at = block.start - 1 + len(file.readline())  # of the line that begins before, if one does
        while block.stop is None or at < block.stop:
            raw = file.readline()
            if not raw:
                return
            at += len(raw)
            yield raw


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
    return _record(row, raw, column)


def _record(row: dict[str, Any], raw: Any, column: str | None) -> tuple[Any, str, dict[str, Any]]:
    column = column or "text"
    text = row.get(column)
    if not isinstance(text, str):
        shown = raw.rstrip(b"\r\n") if isinstance(raw, bytes) else repr(raw)
        text = Unreadable(shown, f"no text in column '{column}'")
    return text, "\n", {name: value for name, value in row.items() if name != column}
