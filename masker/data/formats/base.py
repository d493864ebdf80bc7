"""What a format is: a reader of Records, and perhaps a writer of results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from masker.errors import MaskerError, unknown

Result = tuple[Mapping[str, Any], str]  # what became of a text, and the end of the line that it came from


class Record(NamedTuple):
    """A text of a file, which may be blank, with the end of its line. `mark` is a byte order mark before it."""

    text: str
    ending: str = "\n"
    mark: str = ""

    @property
    def line(self) -> str:
        return self.text + self.ending


class Format(ABC):
    """A kind of file that texts are read from. `suffixes` are the ends of its files' names."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        """Stream all texts of a file, blank and missing ones too, so that none loses its place."""


class Writer(ABC):
    """A format that results can be written in."""

    @abstractmethod
    def write(self, results: Iterable[Result]) -> bytes:
        """Results as a whole file."""


class LineWriter(Writer):
    """A format of which every line stands for itself: files can be written bit by bit, and put together."""

    @abstractmethod
    def line(self, result: Mapping[str, Any], ending: str) -> str:
        """A result as a line."""

    def write(self, results: Iterable[Result]) -> bytes:
        lines = "".join(self.line(result, ending) for result, ending in results)
        return lines.encode("utf-8", "surrogateescape")  # bytes that were no UTF-8 come out as they went in


class Table(ABC):
    """A format of rows and columns, of which one column can be rewritten."""

    @abstractmethod
    def rewrite(
        self,
        path: Path,
        sink: IO[bytes],
        edit: Callable[[Iterator[str]], Iterable[str]],
        column: str | None,
        encoding: str,
    ) -> None:
        """Write a file with the texts of a column as `edit` makes them, as they come; everything else stays."""


# -- columns -----------------------------------------------------------------------------------------------------------


def text_of(value: Any, where: str, column: str) -> str:
    if value is not None and not isinstance(value, str):
        kind = type(value).__name__
        raise MaskerError(f"{where}: column '{column}' holds {kind}, not text; choose another `column`")
    return value or ""


def default_column(path: Path, columns: Sequence[str]) -> str:
    if "text" in columns:
        return "text"
    if len(columns) == 1:
        return columns[0]
    raise MaskerError(f"which column of {path} is the text? say `column`; known: {', '.join(columns) or 'none'}")


def check_column(where: str, column: str, columns: Sequence[str]) -> None:
    """A column that is there, and once."""
    if column not in columns:
        raise MaskerError(f"{where}: {unknown('column', column, columns)}")
    if (count := columns.count(column)) > 1:
        raise MaskerError(f"{where}: {count} columns are called '{column}'; rename them, or choose another `column`")
