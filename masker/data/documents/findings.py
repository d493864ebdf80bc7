"""What a checker finds in a document: places that read like the source domain, and what could stand there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents.document import KINDS, BlockRewrite, DocumentRewrite
from masker.data.suggestions import MOST, Rule, alternatives, widened

BOM = "\ufeff"  # a byte order mark: programs do not count it as a character of the file


@dataclass(frozen=True)
class Finding:
    """A place of a document, and what could stand there, the best first.

    Characters `start` to `end` of the file are `old`. Lines and columns count from 1, and a column, as all offsets, in
    characters (Unicode code points); `end_column` is that of the first character after it.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    old: str
    replacements: tuple[str, ...]
    rule: Rule
    score: float
    method: str | None = None
    place: tuple[int, int] = field(default=(0, 0), repr=False)  # which block, and which of its edits
    edits: tuple[Edit, ...] = field(default=(), repr=False)  # of the block's text, that make the replacements

    @property
    def message(self) -> str:
        return self.rule.message(self.old, *self.replacements)

    def first(self, count: int) -> "Finding":
        """With that many suggestions at most."""
        return replace(self, replacements=self.replacements[:count], edits=self.edits[:count])

    def to_dict(self) -> dict[str, Any]:
        names = ("line", "column", "end_line", "end_column", "start", "end", "old")
        record = {name: getattr(self, name) for name in names}
        record |= {"replacements": list(self.replacements), "from": self.rule.from_, "to": self.rule.to}
        return record | {
            "score": round(self.score, 6), "method": self.method, "rule": self.rule.id, "message": self.message,
        }  # fmt: skip


def findings(done: DocumentRewrite) -> list[Finding]:
    """One for every edit of a rewritten document, in order. Those who asked for alternatives have more suggestions."""
    return [finding for k, block in enumerate(done.blocks) for finding in _of_block(done, k, block)]


def _of_block(done: DocumentRewrite, k: int, block: BlockRewrite) -> Iterator[Finding]:
    document, escape = done.document, KINDS[done.document.kind].escape
    marked = int(document.source.startswith(BOM))
    for n, (edit, there) in enumerate(zip(block.rewrite.edits, block.edits, strict=True)):
        first = block.block.start
        text = document.source[first : block.block.end]
        start, end, left, right = widened(text, replace(there, start=there.start - first, end=there.end - first))
        made = {left + there.new + right: edit}
        for other in alternatives(block.rewrite, edit):
            placed = block.block.place(other, escape)
            if placed and (placed.start, placed.end) == (there.start, there.end):
                made.setdefault(left + placed.new + right, other)
        line, column = document.position(start + first)
        end_line, end_column = document.position(end + first)
        yield Finding(
            start + first - marked, end + first - marked, line, column, end_line, end_column, text[start:end],
            tuple(made)[:MOST], Rule(block.rewrite.from_, block.rewrite.to), edit.score, block.rewrite.method,
            (k, n), tuple(made.values())[:MOST],
        )  # fmt: skip


def decided(done: DocumentRewrite, chosen: Mapping[tuple[int, int], Edit]) -> DocumentRewrite:
    """The document with those edits made that were chosen, by the `place` of their findings, and no others."""
    rewrites = []
    for k, block in enumerate(done.blocks):
        edits = [chosen[k, n] for n in range(len(block.edits)) if (k, n) in chosen]
        rewrites.append(_with(block.rewrite, edits))
    return done.document.rewrite(rewrites)


def _with(rewrite: Rewrite, edits: Sequence[Edit]) -> Rewrite:
    return replace(rewrite, text=apply_edits(rewrite.source, edits), edits=tuple(edits))
