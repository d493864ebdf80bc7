"""Aligned pairs in: DiscoFuse's and WikiSplit's files as published, plain two-column TSV, and silver files."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from masker.data.formats.decoding import numbered_lines
from masker.data.formats.discofuse import FUSED, KIND, UNFUSED, is_header
from masker.data.formats.text import tsv_rows
from masker.errors import MaskerError, unknown

FORMATS = ("discofuse", "wikisplit", "silver", "tsv")
SPLIT = "<::::>"  # between WikiSplit's two sentences
_NEEDED = {"discofuse": (*FUSED, *UNFUSED, KIND), "silver": ("source", "target", "score")}


class AlignedPair(NamedTuple):
    """A text and what it should become; `type` is DiscoFuse's discourse type, `to` the target's domain, where told."""

    source: str
    target: str
    type: str = ""
    to: str = ""


Read = Callable[[list[str]], AlignedPair]  # the columns of a row -> a pair


def read_pairs(
    path: str | Path, *, format: str | None = None, reverse: bool = False, encoding: str = "utf-8"
) -> Iterator[AlignedPair]:
    """Stream the pairs of a file, or of gz or xz of it. Without `format` the first line tells it.

    A corpus reads as the task it was made for: DiscoFuse from split to fused, WikiSplit from one sentence to two;
    `reverse` swaps the sides. Plain TSV has two columns, or a header that names `source`, `target` and maybe `type`
    and `to`.
    """
    path = Path(os.path.expanduser(path))
    if format is not None and format not in FORMATS:
        raise unknown("format of pairs", format, list(FORMATS))
    rows = tsv_rows((number, line) for number, line in numbered_lines(path, encoding) if line.strip())
    first = next(rows, None)
    if first is None:
        raise MaskerError(f"{path} is empty; give a file of aligned pairs")
    number, head = first
    format = format or _sniff(head)
    if format in _NEEDED or head[:2] == ["source", "target"]:
        if missing := [name for name in _NEEDED.get(format, ()) if name not in head]:
            where = f"{path}, line {number}"
            raise MaskerError(f"{where}: the header of {format} lacks {missing[0]}; is the file of another format?")
        read, width = _by_name(head), len(head)
    else:
        read, width = _wikisplit if format == "wikisplit" else _plain, 2
        rows = itertools.chain([first], rows)
    for number, row in rows:
        if len(row) != width:
            hint = "a text must not hold a tab"
            raise MaskerError(f"{path}, line {number}: {len(row)} columns where {width} are needed; {hint}")
        try:
            pair = read(row)
        except ValueError as error:
            raise MaskerError(f"{path}, line {number}: {error}") from error
        if not (pair.source and pair.target):
            side = "source" if pair.target else "target"
            raise MaskerError(f"{path}, line {number}: the {side} is empty; remove the line")
        yield AlignedPair(pair.target, pair.source, pair.type) if reverse else pair


def _sniff(head: list[str]) -> str:
    if is_header(head):
        return "discofuse"
    if {"source", "target", "score"} <= set(head):
        return "silver"
    return "wikisplit" if len(head) == 2 and SPLIT in head[1] else "tsv"


def _by_name(head: list[str]) -> Read:
    """A reader of the columns that a header names: DiscoFuse's, or `source` and `target`."""
    at = {name: index for index, name in enumerate(head)}
    if is_header(head):
        sides = [[at[name] for name in names] for names in (UNFUSED, FUSED)]
        kind = at.get(KIND)
    else:
        sides, kind = [[at["source"]], [at["target"]]], at.get("type")

    def read(row: list[str]) -> AlignedPair:
        source, target = (" ".join(text for k in side if (text := row[k].strip())) for side in sides)
        return AlignedPair(source, target, *("" if k is None else row[k] for k in (kind, at.get("to"))))

    return read


def _wikisplit(row: list[str]) -> AlignedPair:
    parts = [part.strip() for part in row[1].split(SPLIT)]
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"WikiSplit's second column is two sentences with {SPLIT} between them; mend the line")
    return AlignedPair(row[0].strip(), " ".join(parts))


def _plain(row: list[str]) -> AlignedPair:
    return AlignedPair(row[0].strip(), row[1].strip())
