"""Apache Parquet, through pyarrow, which is an extra."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from masker.data.formats.base import Format, Record, Result, Table, Writer, check_column, default_column, text_of
from masker.errors import MaskerError, missing


class Parquet(Format, Writer, Table):
    """Apache Parquet, by pyarrow. It is packed by itself, and written whole or not at all."""

    name = "parquet"
    suffixes = (".parquet",)
    BATCH = 1024  # rows in memory at a time

    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        with _opened(path) as file:
            column = _column(path, file.schema_arrow, column)
            batches = file.iter_batches(self.BATCH, columns=[column])
            yield from map(Record, _texts(path, column, (value for batch in batches for value in batch.column(column))))

    def rewrite(
        self,
        path: Path,
        sink: IO[bytes],
        edit: Callable[[Iterator[str]], Iterable[str]],
        column: str | None,
        encoding: str,
    ) -> None:
        """Schema, metadata, row groups and compression are those of the file. A row group is in memory at a time."""
        with _opened(path) as file:
            schema, groups = file.schema_arrow, deque[Any]()
            column = _column(path, schema, column)

            def values() -> Iterator[Any]:
                for group in range(file.num_row_groups):
                    groups.append(file.read_row_group(group))
                    yield from groups[-1][column]

            with _pyarrow()[1].ParquetWriter(sink, schema, compression=_compression(file.metadata)) as writer:
                done: list[str] = []
                for text in edit(_texts(path, column, values())):
                    done.append(text)
                    while groups and len(done) >= len(groups[0]):
                        table = groups.popleft()
                        writer.write_table(_replaced(table, column, done[: len(table)]), max(len(table), 1))
                        del done[: len(table)]

    def group_sizes(self, file: Any) -> list[int]:
        """How many rows each row group of an open file has."""
        metadata = _pyarrow()[1].ParquetFile(file).metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def columns(self, file: Any) -> list[str]:
        """The names of the columns of an open file."""
        return list(_pyarrow()[1].ParquetFile(file).schema_arrow.names)

    def rows(self, file: Any, group: int, start: int, stop: int) -> list[dict[str, Any]]:
        """Some rows of a row group of an open file."""
        table = _pyarrow()[1].ParquetFile(file).read_row_group(group)
        return list(table.slice(start, stop - start).to_pylist())

    def write(self, results: Iterable[Result]) -> bytes:
        """The columns of a rewrite have the same types whatever is in them, so that many files are one table."""
        pa, parquet = _pyarrow()
        rows = [result for result, _ in results]
        edit = {"start": pa.int64(), "end": pa.int64(), "old": pa.string(), "new": pa.string()}
        edit |= {name: pa.float64() for name in ("score", "target_score", "source_score")}
        ours = {name: pa.string() for name in ("source", "text", "from", "to", "reason", "method", "error")}
        ours |= {"confidence": pa.float64(), "edits": pa.list_(pa.struct(edit))}
        others = dict.fromkeys(name for row in rows for name in row if name not in ours)
        columns: dict[str, Any] = {name: _array(name, [row.get(name) for row in rows]) for name in others}
        columns |= {name: pa.array([row.get(name) for row in rows], kind) for name, kind in ours.items()}
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink)
        return bytes(sink.getvalue())


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    pa, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except pa.ArrowInvalid as error:
        raise MaskerError(f"{path} is not a whole Parquet file ({error}); copy it again") from error
    except OSError as error:
        raise MaskerError(f"cannot read {path}: {error.strerror or error}; give a readable file") from error


def _column(path: Path, schema: Any, column: str | None) -> str:
    strings = [field.name for field in schema if _is_text(field.type)]
    column = column or default_column(path, strings)
    check_column(str(path), column, schema.names)
    return column


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if _pyarrow()[0].types.is_dictionary(kind) else kind
    return str(kind) in ("string", "large_string", "string_view")  # of which older versions do not know the last


def _texts(path: Path, column: str, values: Iterable[Any]) -> Iterator[str]:
    """What Python makes of Arrow's values, which may be more than it can hold."""
    for number, value in enumerate(values, 1):
        where = f"{path}, row {number}"
        try:
            text = value.as_py()
        except (ValueError, OverflowError, LookupError) as error:
            raise MaskerError(f"{where}: column '{column}' cannot be read as text ({error}); mend it") from error
        yield text_of(text, where, column)


def _array(name: str, values: list[Any]) -> Any:
    """A column of the user's, which JSON has room for and Parquet may not."""
    pa = _pyarrow()[0]
    try:
        return pa.array(values)
    except (UnicodeEncodeError, OverflowError, pa.ArrowException) as error:
        raise MaskerError(f"Parquet cannot hold column '{name}' ({error}); write `format` jsonl") from error


def _compression(metadata: Any) -> dict[str, str]:
    """How each column is packed."""
    chunks = [metadata.row_group(0).column(k) for k in range(metadata.num_columns)] if metadata.num_row_groups else []
    return {chunk.path_in_schema: chunk.compression.replace("UNCOMPRESSED", "NONE") for chunk in chunks}


def _replaced(table: Any, column: str, texts: list[str]) -> Any:
    """A table with other texts in a column; what had none still has none."""
    values = table[column].to_pylist()
    new = [old if text == (old or "") else text for old, text in zip(values, texts, strict=True)]
    index = table.schema.get_field_index(column)
    field = table.schema.field(index)
    return table.set_column(index, field, _pyarrow()[0].array(new).cast(field.type))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing("parquet", "a Parquet file") from error
    return pyarrow, parquet
