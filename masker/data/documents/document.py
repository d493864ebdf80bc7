"""A document: its source, its blocks of prose, and what becomes of it when they are rewritten."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents.blocks import CODE, Block
from masker.data.documents.html import escape_html, read_html
from masker.data.documents.markdown import escape_markdown, read_markdown
from masker.data.documents.plain import escape_plain, read_plain
from masker.errors import MaskerError, unknown

if TYPE_CHECKING:
    from masker.data.documents.findings import Finding


class Kind(NamedTuple):
    """A kind of document: how blocks are found in it, and how new words are written so that they are only words."""

    read: Callable[[str], list[Block]]
    escape: Callable[[str], str]
    suffixes: tuple[str, ...] = ()


KINDS = {
    "markdown": Kind(read_markdown, escape_markdown, (".md", ".markdown")),
    "html": Kind(read_html, escape_html, (".html", ".htm", ".xhtml")),
    "plain": Kind(read_plain, escape_plain),
}
KEEP = (CODE,)  # terms that the editor is told to keep: what stands in texts for things that are not words


def kind_of(path: str | Path) -> str:
    """What the name of a file tells: plain text if it tells nothing."""
    suffix = Path(path).suffix.lower()
    return next((name for name, kind in KINDS.items() if suffix in kind.suffixes), "plain")


@dataclass(frozen=True)
class BlockRewrite:
    """What became of a block: `rewrite` is of its text, `edits` are the same edits of the document's source."""

    block: Block
    rewrite: Rewrite
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class DocumentRewrite:
    """A rewritten document: making all `edits` in `source` gives `text`. All else is as it was, byte for byte."""

    document: "Document"
    blocks: tuple[BlockRewrite, ...]

    @property
    def source(self) -> str:
        return self.document.source

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for block in self.blocks for edit in block.edits)

    @cached_property
    def text(self) -> str:
        return apply_edits(self.source, self.edits)

    def __str__(self) -> str:
        return self.text

    def findings(self) -> "list[Finding]":
        """Where it reads like the source domain, with lines and columns, and what could stand there."""
        from masker.data.documents.findings import findings

        return findings(self)

    def to_dicts(self) -> Iterable[dict[str, Any]]:
        """As in JSONL: the blocks that have changed, or could not be edited; offsets are those of the document."""
        for done in self.blocks:
            if not done.edits and not done.rewrite.error:
                continue
            start, end = done.block.start, done.block.end
            there = [replace(edit, start=edit.start - start, end=edit.end - start) for edit in done.edits]
            source = self.source[start:end]
            record = {"kind": done.block.kind, "line": self.document.position(start)[0], "start": start, "end": end}
            record |= replace(done.rewrite, source=source, text=apply_edits(source, there)).to_dict()
            record["edits"] = [
                {"line": line, "column": column, **edit.to_dict()}
                for edit in done.edits
                for line, column in [self.document.position(edit.start)]
            ]
            yield record


@dataclass(frozen=True)
class Document:
    """A source with its blocks of words. Texts go to an editor; what it makes of them comes back with `rewrite`."""

    kind: str
    source: str
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, source: str, kind: str = "plain") -> "Document":
        if not isinstance(source, str):
            raise MaskerError(f"the document is {type(source).__name__}, not str; give its text, decoded")
        if not isinstance(kind, str) or kind not in KINDS:
            raise unknown("kind", kind, KINDS)
        return cls(kind, source, tuple(block for block in KINDS[kind].read(source) if block.words))

    @cached_property
    def prose(self) -> tuple[Block, ...]:
        """The blocks that are to be edited."""
        return tuple(block for block in self.blocks if block.is_prose())

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.prose]

    def rewrite(self, rewrites: Iterable[Rewrite]) -> DocumentRewrite:
        """The document with rewrites of its texts, one of each. An edit that would break its marks is not made."""
        given = list(rewrites)
        escape, placed, end = KINDS[self.kind].escape, list[_Placed](), 0
        for block, rewrite in zip(self.prose, given, strict=True):
            for edit in rewrite.edits:
                there = block.place(edit, escape)
                if there is not None and there.start >= end:
                    placed.append(_Placed(block.start, edit, there))
                    end = there.end
        made = _by_block(self._sound(placed))
        blocks = []
        for block, rewrite in zip(self.prose, given, strict=True):
            here = made[block.start]
            if len(here) < len(rewrite.edits):
                text = apply_edits(block.text, [one.edit for one in here])
                reason = None if here else "the edit would have broken the document's marks"
                rewrite = replace(rewrite, text=text, edits=tuple(one.edit for one in here), reason=reason)
            blocks.append(BlockRewrite(block, rewrite, tuple(one.there for one in here)))
        return DocumentRewrite(self, tuple(blocks))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character of the source, both from 1. A byte order mark has no column."""
        line = bisect(self._lines, offset)
        marked = line == 1 and self.source.startswith("\ufeff")
        return line, offset - self._lines[line - 1] + 1 - marked

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", self.source))]

    def _sound(self, placed: "Sequence[_Placed]") -> "Sequence[_Placed]":
        """Those edits after which the document still reads as it should. A dash may begin a list, or $ a formula."""
        if self._reads(placed):
            return placed
        if len(placed) == 1:
            return []
        half = len(placed) // 2
        first, second = self._sound(placed[:half]), self._sound(placed[half:])
        return both if self._reads(both := [*first, *second]) else first

    def _reads(self, placed: "Sequence[_Placed]") -> bool:
        """Whether the document with edits made has the same blocks, with the same marks and the new texts."""
        if not placed:
            return True
        after = apply_edits(self.source, [one.there for one in placed])
        made = _by_block(placed)
        wanted = [
            (block.shape(), apply_edits(block.text, [one.edit for one in made[block.start]])) for block in self.blocks
        ]
        return wanted == [(block.shape(), block.text) for block in Document.read(after, self.kind).blocks]


class _Placed(NamedTuple):
    """An edit of the text of the block that begins at `block`, and the same one in the source."""

    block: int
    edit: Edit
    there: Edit


def _by_block(placed: Iterable[_Placed]) -> dict[int, list[_Placed]]:
    found: dict[int, list[_Placed]] = defaultdict(list)
    for one in placed:
        found[one.block].append(one)
    return found
