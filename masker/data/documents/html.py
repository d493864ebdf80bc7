"""HTML: the text between tags of blocks. Tags, comments and what is code or no text at all stay as they are."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from masker.data.documents.blocks import CODE, Block, Piece, Role

# Tags that divide no text; all others begin and end blocks.
INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "label",
    "mark", "nobr", "q", "rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "u",
}  # fmt: skip
THINGS = {"code", "kbd", "math", "samp", "svg", "tt", "var"}  # stand in a text as a word does
SILENT = {"img", "input", "wbr"}  # stand in a text, and have no end tag
HIDDEN = {
    "audio", "canvas", "iframe", "noscript", "object", "pre", "script", "style", "template", "textarea", "video", "xmp",
}  # fmt: skip
_TAG = re.compile(r"<[a-zA-Z/!?]")
_SPACE = re.compile(r"\s++")
_LINE_END = re.compile("\n")


def read_html(source: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The blocks of `source[start:end]`, up to a tag that has no end."""
    end = len(source) if end is None else end
    broken = _TAG.search(source, source.rfind(">", start, end) + 1 or start, end)
    reader = _Reader(source, start, broken.start() if broken else end)
    blocks = ((kind, _trimmed(pieces)) for kind, pieces in reader.blocks())
    return [Block(kind, source, pieces) for kind, pieces in blocks if pieces]


def escape_html(new: str) -> str:
    return html.escape(new, quote=False)


class _Event(NamedTuple):
    start: int
    kind: str  # text, entity, open, close or other
    name: str


class _Reader(HTMLParser):
    """What the parser of the standard library finds, with where it begins: it ends where the next thing does."""

    def __init__(self, source: str, start: int, end: int) -> None:
        super().__init__(convert_charrefs=False)
        self.source, self.end = source, end
        self.lines = [start, *(m.end() for m in _LINE_END.finditer(source, start, end))]
        self.events: list[_Event] = []
        self.feed(source[start:end])
        self.close()

    def _note(self, kind: str, name: str) -> None:
        line, column = self.getpos()
        self.events.append(_Event(self.lines[line - 1] + column, kind, name))

    def handle_data(self, data: str) -> None:
        self._note("text", data)

    def handle_entityref(self, name: str) -> None:
        self._note("entity", name)

    def handle_charref(self, name: str) -> None:
        self._note("entity", f"#{name}")

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._note("open", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._note("other" if tag in INLINE | THINGS | SILENT else "open", tag)

    def handle_endtag(self, tag: str) -> None:
        self._note("close", tag)

    def handle_comment(self, data: str) -> None:
        self._note("other", "")

    def handle_decl(self, decl: str) -> None:
        self._note("other", "")

    def handle_pi(self, data: str) -> None:
        self._note("other", "")

    def unknown_decl(self, data: str) -> None:
        self._note("other", "")

    def blocks(self) -> Iterator[tuple[str, list[Piece]]]:
        kind, pieces = "text", list[Piece]()
        inside, depth, begun = "", 0, 0  # the element that is passed over
        for event, following in pairwise([*self.events, _Event(self.end, "other", "")]):
            start, end, name = event.start, following.start, event.name
            if inside:
                depth += {"open": 1, "close": -1}.get(event.kind, 0) * (name == inside)
                if not depth:
                    if inside in THINGS:
                        pieces.append(Piece(begun, end, CODE, Role.THING))
                    inside = ""
            elif event.kind == "text":
                pieces += _words(self.source, start, end)
            elif event.kind == "entity":
                pieces.append(_entity(self.source, start, end))
            elif event.kind == "open" and name in THINGS | HIDDEN:
                inside, depth, begun = name, 1, start
                if name in HIDDEN:
                    yield kind, pieces
                    pieces = []
            elif event.kind == "other" or name in SILENT:
                pieces.append(Piece(start, end, "", Role.THING))
            elif name in INLINE:
                pieces.append(Piece(start, end, "", Role.OPEN if event.kind == "open" else Role.CLOSE))
            else:
                yield kind, pieces
                kind, pieces = name if event.kind == "open" and name != "br" else kind, []
        yield kind, pieces


def _words(source: str, start: int, end: int) -> Iterator[Piece]:
    for run in _SPACE.finditer(source, start, end):
        if "\n" not in run[0] and "\r" not in run[0]:
            continue
        if start < run.start():
            yield Piece(start, run.start(), source[start : run.start()])
        yield Piece(run.start(), run.end(), " ", Role.BREAK)
        start = run.end()
    if start < end:
        yield Piece(start, end, source[start:end])


def _entity(source: str, start: int, end: int) -> Piece:
    return Piece(start, end, html.unescape(source[start:end]))


def _trimmed(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Without the white space around a block."""
    first, last = 0, len(pieces)
    while first < last and not pieces[first].text.strip() and pieces[first].role in (Role.WORDS, Role.BREAK):
        first += 1
    while first < last and not pieces[last - 1].text.strip() and pieces[last - 1].role in (Role.WORDS, Role.BREAK):
        last -= 1
    return tuple(pieces[first:last])
