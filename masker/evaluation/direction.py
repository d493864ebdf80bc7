"""What is scored: lines of a source, and what a system made of them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from masker.data.formats import format_of, read_lines, read_records
from masker.data.formats.text import Jsonl, json_object
from masker.errors import MaskerError


@dataclass(frozen=True)
class Direction:
    """Lines of a source, what a system made of them, and the domain it should have reached.

    `references` has one sequence of lines per file; `paper_reference` is the single, raw one that paper_bleu needs.
    """

    to: str
    sources: Sequence[str]
    outputs: Sequence[str]
    references: Sequence[Sequence[str]] = ()
    paper_reference: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not self.sources:
            raise MaskerError(f"the source for '{self.to}' is empty; nothing can be scored")
        named = {"output": self.outputs, "paper reference": self.paper_reference}
        named |= {f"reference {i}": lines for i, lines in enumerate(self.references, 1)}
        for name, lines in named.items():
            if lines is not None and len(lines) != len(self.sources):
                counts = f"{len(lines)} lines but the source has {len(self.sources)}"
                raise MaskerError(f"to '{self.to}': the {name} has {counts}; they must agree line by line")

    @classmethod
    def from_files(
        cls,
        *,
        to: str,
        source: str | Path,
        output: str | Path,
        references: Sequence[str | Path] = (),
        paper_reference: str | Path | None = None,
    ) -> "Direction":
        """The same from UTF-8 files with one text per line; an empty line is an empty text. Of JSONL, as masker edit
        writes it, the column `text` is read.
        """
        paper = None if paper_reference is None else read_lines(paper_reference)
        sources = _texts(source)
        return cls(to, sources, read_outputs(output, sources), [_texts(path) for path in references], paper)


def read_outputs(path: str | Path, sources: Sequence[str]) -> list[str]:
    """What a system made of sources; a file that has these, too, in a column of their own is refused."""
    outputs = _texts(path)
    pairs = list(zip(sources, outputs, strict=False))
    if pairs and all(line.startswith(f"{before}\t") for before, line in pairs):
        hint = "as masker edit --format tsv writes them; give the rewrites alone"
        raise MaskerError(f"{path} has two columns, {hint}")
    return outputs


def _texts(path: str | Path) -> list[str]:
    if isinstance(format_of(path), Jsonl):
        return [record.text for record in read_records(path)]
    lines = read_lines(path)
    with suppress(ValueError):
        if lines and {"source", "text"} <= json_object(lines[0]).keys():
            raise MaskerError(f"{path} has JSON in its lines, as masker edit --format jsonl writes it; name it .jsonl")
    return lines
