"""Markdown: paragraphs, headings, items, quotes and cells, as markdown-it-py finds them.

It tells which lines a block is on, and the content of its inline tokens, but not where they stand. So blocks are found
again in their lines, and tokens are counted off in their blocks: most are as long as they read, and of the others a
wrapper of their rule notes the end.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from masker.data.documents.blocks import CODE, Block, Piece, Role
from masker.data.documents.html import HIDDEN, SILENT, THINGS, read_html
from masker.data.documents.plain import LINE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# No pattern may look far ahead from many places, or from one place in many ways: the time of an unclosed mark, over and
# over, would grow with the square of a text. So what a repetition takes it keeps (*+), and marks are not endless.
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*+\r?\n(?:[^\n]*+\n)*?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_MATH = re.compile(r"\$\$.+?\$\$|\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?!\d)", re.DOTALL)
# footnotes, [!NOTE], boxes of to-do lists, templates, :emoji:
_MARK = re.compile(
    r"\[\^[^\]\s]{1,2000}+\]:?|\[![A-Z]++\]|\[[ xX]\](?=\s)"
    r"|\{\{.[^}\n]{0,2000}+(?:\}(?!\})[^}\n]{0,2000}+){0,9}+\}\}|\{%.[^%\n]{0,2000}+(?:%(?!\})[^%\n]{0,2000}+){0,9}+%\}"
    r"|(?<!\w):[a-z_]++:(?!\w)"
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*+)[^>]*?(/?)>")
_SPECIAL = re.compile(r"[\\`*_\[\]<|]")
_OPAQUE = {"link", *THINGS, *HIDDEN}  # what is between their tags stays; links of this kind are <https://...>

Place = tuple[int, int]  # in the source, of a character of a block's content


def read_markdown(source: str) -> list[Block]:
    front = _FRONT_MATTER.match(source)
    lines = [(m.start(1), m[1]) for m in LINE.finditer(source)]
    hidden = sum(start < front.end() for start, _ in lines) if front else 0
    text = "\n".join([""] * hidden + [line for _, line in lines[hidden:]]).removeprefix("\ufeff")
    tokens, blocks = _parser().parse(text), list[Block]()
    used: dict[int, int] = {}  # how much of a line with cells is read
    for opening, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "html_block" and token.map and not token.level:
            first, last = token.map
            blocks += read_html(source, lines[first][0], lines[last - 1][0] + len(lines[last - 1][1]))
        elif token.type == "inline" and token.map and opening is not None:
            kind = opening.type.removesuffix("_open")
            if (places := _found(token, kind, lines, used)) is not None:
                blocks += [Block(kind, source, tuple(pieces)) for pieces in _read(token, places)]
    return blocks


def escape_markdown(new: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", new)


# -- where the content of a block stands -------------------------------------------------------------------------------


def _found(token: "Token", kind: str, lines: list[tuple[int, str]], used: dict[int, int]) -> list[Place] | None:
    """Where each character of a token's content stands in the source; None if it is not found there."""
    assert token.map is not None
    places: list[Place] = []
    for number, part in enumerate(token.content.split("\n"), token.map[0]):
        start, line = lines[number] if number < len(lines) else (0, "")
        words = part.lstrip(" \t")
        if kind in ("th", "td"):  # between two cells there are pipes and spaces, and \| is a pipe inside of one
            match = re.compile(re.escape(words).replace(r"\|", r"\\?\|")).search(line, used.get(number, 0))
            at = match.start() if match else -1
            used[number] = match.end() if match else len(line)
        else:  # nothing comes after it, but for the #s of a heading
            at = line.rfind(words)
            if line[at + len(words) :].strip(" \t#" if kind == "heading" else None):
                return None
        if at < 0:
            return None
        if places:
            places.append((places[-1][1], start + at))  # the line break, with the indentation of the next line
        places += [(start + at, start + at)] * (len(part) - len(words))
        for char in words:
            size = 2 if char == "|" and line[at] == "\\" else 1
            places.append((start + at, start + at + size))
            at += size
    return places


# -- what is in a block ------------------------------------------------------------------------------------------------


def _read(token: "Token", places: list[Place]) -> Iterator[list[Piece]]:
    """The pieces of a block; a hard line break divides it."""
    content, pieces, cursor = token.content, list[Piece](), 0
    inside, begun = "", 0  # the element that is passed over, whose content is no prose
    for child in token.children or ():
        if inside == "link" and child.type == "text":  # it may be spelt in another way than in the source
            continue
        start, cursor = cursor, _end(child, content, cursor)
        if cursor < 0 or not start < cursor <= len(places):
            if cursor == start:  # what emphasis leaves behind
                continue
            return  # it cannot be told where things are
        tag = _TAG.fullmatch(child.content) if child.type == "html_inline" else None
        name = tag[2].lower() if tag else "link" if child.info == "auto" else ""
        closes = tag[1] == "/" if tag else child.nesting < 0
        if inside:
            if closes and name == inside:
                pieces.append(_piece(places, begun, cursor, CODE, Role.THING))
                inside = ""
        elif child.type == "hardbreak" or name == "br":
            yield pieces
            pieces = []
        elif name in _OPAQUE and not closes:
            inside, begun = name, start
        elif child.type == "softbreak":
            pieces.append(_piece(places, start, cursor, " ", Role.BREAK))
        elif child.type == "text":
            pieces += _words(content, places, start, cursor)
        elif child.type == "text_special":
            pieces.append(_piece(places, start, cursor, child.content))
        elif child.type in ("code_inline", "math"):
            pieces.append(_piece(places, start, cursor, CODE, Role.THING))
        elif child.nesting or (tag and name not in SILENT and not tag[3]):
            pieces.append(_piece(places, start, cursor, "", Role.CLOSE if closes else Role.OPEN))
        else:
            pieces.append(_piece(places, start, cursor, "", Role.THING))
    yield pieces


def _end(child: "Token", content: str, cursor: int) -> int:
    """Where a token that begins at `cursor` ends; -1 if it does not stand there."""
    if child.type == "text":
        return cursor + len(child.content) if content.startswith(child.content, cursor) else -1
    if "end" in child.meta:
        return int(child.meta["end"])
    return cursor + len(child.markup if child.nesting and child.type != "link_open" else "[")


def _piece(places: list[Place], start: int, end: int, text: str, role: Role = Role.WORDS) -> Piece:
    return Piece(places[start][0], places[end - 1][1], text, role)


def _words(content: str, places: list[Place], start: int, end: int) -> Iterator[Piece]:
    """Characters as they stand, and `\\|` in a cell by itself."""
    for k in range(start, end):
        if places[k][1] - places[k][0] > 1:
            if start < k:
                yield _piece(places, start, k, content[start:k])
            yield _piece(places, k, k + 1, content[k])
            start = k + 1
    if start < end:
        yield _piece(places, start, end, content[start:end])


# -- the parser --------------------------------------------------------------------------------------------------------


@cache
def _parser() -> "MarkdownIt":
    """CommonMark with tables, strikethrough and mathematics."""
    from markdown_it import MarkdownIt
    from markdown_it import rules_inline as rules

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    for name, rule in {
        "newline": rules.newline, "escape": rules.escape, "backticks": rules.backtick, "link": rules.link,
        "image": rules.image, "autolink": rules.autolink, "html_inline": rules.html_inline, "entity": rules.entity,
    }.items():  # fmt: skip
        markdown.inline.ruler.at(name, _noting_end(rule))
    markdown.inline.ruler.before("escape", "math", _noting_end(_rule("math", _MATH)))
    markdown.inline.ruler.before("link", "mark", _noting_end(_rule("mark", _MARK)))
    markdown.block.ruler.before("fence", "math_block", _math_block, {"alt": ["paragraph", "list", "blockquote"]})
    return markdown


def _noting_end(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    def noting(state: Any, silent: bool) -> bool:
        count = len(state.tokens)
        found = rule(state, silent)
        if found and not silent and len(state.tokens) > count:
            state.tokens[-1].meta["end"] = state.pos
        return found

    return noting


def _rule(name: str, pattern: re.Pattern[str]) -> Callable[[Any, bool], bool]:
    """A rule that takes what a pattern matches."""

    def rule(state: Any, silent: bool) -> bool:
        match = pattern.match(state.src, state.pos, state.posMax)
        if match is None:
            return False
        if not silent:
            state.push(name, "", 0)
        state.pos = match.end()
        return True

    return rule


def _math_block(state: Any, start: int, end: int, silent: bool) -> bool:
    """Lines from one that begins with $$ to one that ends with it, which may look like lists and paragraphs."""
    if not state.src.startswith("$$", state.bMarks[start] + state.tShift[start]):
        return False
    first, last = state.env.get("unclosed", (end, start))  # lines among which none was found that ends with $$
    if first <= start and end <= last:
        return False
    for line in range(start, end):
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        if text.endswith("$$") and (line > start or len(text) > 3):
            if not silent:
                state.push("math_block", "", 0).map = [start, line + 1]
                state.line = line + 1
            return True
    state.env["unclosed"] = (start, end)
    return False
