"""Apache Parquet, through pyarrow, which is an extra."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from masker.data.formats.base import Format, Record, Result, Writer, default_column, text_of, unknown_column
from masker.errors import MaskerError, missing


class Parquet(Format, Writer):
    """Apache Parquet, by pyarrow. It is packed by itself, and written whole or not at all."""

    name = "parquet"
    suffixes = (".parquet",)
    BATCH = 1024  # rows in memory at a time

    def read(self, path: Path, column: str | None, encoding: str | None) -> Iterator[Record]:
        pa, parquet = _pyarrow()
        try:
            with parquet.ParquetFile(path) as file:
                schema = file.schema_arrow
                strings = (pa.types.is_string, pa.types.is_large_string)
                column = column or default_column(path, [f.name for f in schema if any(is_(f.type) for is_ in strings)])
                if column not in schema.names:
                    raise unknown_column(str(path), column, schema.names)
                rows = (row for batch in file.iter_batches(self.BATCH) for row in batch.to_pylist())
                for number, row in enumerate(rows, 1):
                    yield Record(text_of(row[column], f"{path}, row {number}", column), row=row)
        except pa.ArrowInvalid as error:
            raise MaskerError(f"{path} is not a whole Parquet file ({error}); copy it again") from error
        except OSError as error:
            raise MaskerError(f"cannot read {path}: {error.strerror or error}; give a readable file") from error

    def group_sizes(self, file: Any) -> list[int]:
        """How many rows each row group of an open file has."""
        metadata = _pyarrow()[1].ParquetFile(file).metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

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
        ours |= {"edits": pa.list_(pa.struct(edit))}
        others = dict.fromkeys(name for row in rows for name in row if name not in ours)
        columns: dict[str, Any] = {name: pa.array([row.get(name) for row in rows]) for name in others}
        columns |= {name: pa.array([row.get(name) for row in rows], kind) for name, kind in ours.items()}
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink)
        return bytes(sink.getvalue())


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing("parquet", "a Parquet file") from error
    return pyarrow, parquet
