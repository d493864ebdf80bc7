"""Plain text: paragraphs with blank lines between them; items of lists, and quotes by `>`, as in mails."""

import re
from collections.abc import Iterator

from masker.data.documents.blocks import Block, Piece, Role

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_PREFIX = re.compile(r"[\s\ufeff]*(?:>\s*)*")
_ITEM = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])\s+")


def read_plain(source: str) -> list[Block]:
    return [Block("paragraph", source, tuple(pieces)) for pieces in _paragraphs(source) if pieces]


def escape_plain(new: str) -> str:
    return new


def _paragraphs(source: str) -> Iterator[list[Piece]]:
    pieces: list[Piece] = []
    for line in LINE.finditer(source):
        start, end = line.start(), line.start() + len(line[1].rstrip())
        start = min(_PREFIX.match(source, start, end).end(), end)  # type: ignore[union-attr]
        item = _ITEM.match(source, start, end)
        if item or not any(char.isalnum() for char in source[start:end]):  # a blank line, or a rule such as -----
            yield pieces
            pieces = []
        if item:
            start = item.end()
        if any(char.isalnum() for char in source[start:end]):
            if pieces:
                pieces.append(Piece(pieces[-1].end, start, " ", Role.BREAK))
            pieces.append(Piece(start, end, source[start:end]))
    yield pieces
