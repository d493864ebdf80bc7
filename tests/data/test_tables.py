"""A table with a column rewritten: every other character and value stays."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.data.formats import format_of
from masker.data.formats.text import Csv
from masker.errors import MaskerError


def shout(texts: Iterator[str]) -> Iterator[str]:
    """An editor that has something to do only where there are letters; it reads ahead, as editors do."""
    yield from [text.replace("bad", 'good, "so" good').upper() if "bad" in text else text for text in texts]


def rewritten(path: Path, column: str | None = None, encoding: str = "utf-8") -> bytes:
    sink = io.BytesIO()
    format_of(path).rewrite(path, sink, shout, column, encoding)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.csv", "id,text\n1,bad\n", 'id,text\n1,"GOOD, ""SO"" GOOD"\n'),
        ("a.csv", 'id,"text"\r\n\r\n"1",bad\r\n', 'id,"text"\r\n\r\n"1","GOOD, ""SO"" GOOD"\r\n'),
        ("a.csv", '\ufeffid,text,n\n1,"bad\nx", 01.0 ', '\ufeffid,text,n\n1,"GOOD, ""SO"" GOOD\nX", 01.0 '),
        ("a.csv", 'id;text\n"a;b";bad\n;\n', 'id;text\n"a;b";GOOD, "SO" GOOD\n;\n'),
        ("a.csv", "text\nbad\n", 'text\n"GOOD, ""SO"" GOOD"\n'),
        ("a.csv", "id,text\n", "id,text\n"),
        ("a.csv", "", ""),
        ("a.tsv", 'id\ttext\n"1\tbad\r\n2\t\n', 'id\ttext\n"1\tGOOD, "SO" GOOD\r\n2\t\n'),
        ("a.jsonl", '{"n": 1.50, "text" : "bad"}\n', '{"n": 1.50, "text" : "GOOD, \\"SO\\" GOOD"}\n'),
        ("a.jsonl", '\n{"text":"bad \\u00e9","x":{"text":"bad"}}',
         '\n{"text":"GOOD, \\"SO\\" GOOD \\u00c9","x":{"text":"bad"}}'),
        ("a.jsonl", '{"text": "bad é", "n": 1e400}\n', '{"text": "GOOD, \\"SO\\" GOOD É", "n": 1e400}\n'),
        ("a.jsonl", '{"text": "x", "text": "bad"}\n', '{"text": "x", "text": "GOOD, \\"SO\\" GOOD"}\n'),
        ("a.jsonl", '{"text": null}\n{"text": ""}\n{"text": "\\u0078"}\n', None),
    ],
)  # fmt: skip
def test_all_else_stays(tmp_path: Path, name: str, before: str, after: str | None) -> None:
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert rewritten(path, "text" if before else None).decode() == (before if after is None else after)


CELLS = st.text(st.sampled_from('ab,;"\n\t bad|'), max_size=12)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    delimiter=st.sampled_from(",;|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_any_csv(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], delimiter: str, quoting: Any, ending: str
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ending)
    writer.writerows([("id", "text", "more"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    found = list(csv.reader(io.StringIO(rewritten(path, "text").decode(), newline=""), delimiter=delimiter))
    assert found == [["id", "text", "more"], *([a, *shout(iter([b])), c] for a, b, c in rows)]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.text(max_size=4), st.none() | st.floats(allow_nan=False) | st.text()), max_size=5)
)
def test_any_jsonl(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    rows = [{**row, "text": "so bad" if k % 2 else None} for k, row in enumerate(rows)]
    lines = [json.dumps(row, ensure_ascii=k % 2 > 0) for k, row in enumerate(rows)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    found = rewritten(path, "text").decode().split("\n")[:-1]
    wanted = [json.dumps(row | ({"text": 'SO GOOD, "SO" GOOD'} if k % 2 else {})) for k, row in enumerate(rows)]
    assert [json.dumps(json.loads(line)) for line in found] == wanted


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_the_encoding_stays(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("id,text\né,bad\n".encode(encoding))
    assert rewritten(path, encoding=encoding).decode(encoding) == 'id,text\né,"GOOD, ""SO"" GOOD"\n'


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    path, sink = tmp_path / "a.csv", io.BytesIO()
    path.write_bytes(b"text\n" + b"bad\n" * 3)
    seen = []

    def one_by_one(texts: Iterator[str]) -> Iterator[str]:
        for text in texts:
            seen.append(sink.getvalue())
            yield text

    Csv().rewrite(path, sink, one_by_one, None, "utf-8")
    assert seen == [b"", b"text\nbad\n", b"text\nbad\nbad\n"]


def test_parquet_keeps_types_metadata_and_groups(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        fields = [
            pa.field("n", pa.int16(), metadata={"unit": "m"}),
            pa.field("text", kind, metadata={"lang": "en"}),
            pa.field("when", pa.timestamp("ns", "Europe/Berlin")),
            pa.field("tags", pa.list_(pa.struct([("a", pa.float32())]))),
        ]
        schema = pa.schema(fields, metadata={"made": "by hand"})
        rows = {
            "n": [1, None, 3],
            "text": pa.array(["so bad", None, ""]).cast(kind),
            "when": [0, None, 2],
            "tags": [[{"a": 1.5}], None, []],
        }
        path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
        table = pa.table({name: pa.array(values, schema.field(name).type) if name != "text" else values
                          for name, values in rows.items()}, schema=schema)  # fmt: skip
        parquet.write_table(table, path, row_group_size=2, compression="zstd")
        out.write_bytes(rewritten(path))
        before, after = parquet.ParquetFile(path), parquet.ParquetFile(out)
        assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
        assert [after.metadata.row_group(k).num_rows for k in range(after.num_row_groups)] == [2, 1]
        assert after.metadata.row_group(0).column(0).compression == "ZSTD"
        assert after.read()["text"].to_pylist() == ['SO GOOD, "SO" GOOD', None, ""]
        assert after.read().drop(["text"]).equals(before.read().drop(["text"]))


def test_an_empty_parquet_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquet.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    out.write_bytes(rewritten(path))
    assert parquet.read_table(out).equals(parquet.read_table(path))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_missing_column(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({"review": ["x"], "n": [1]}), path)
    else:
        path.write_text('{"review": "x", "n": 1}\n' if "json" in name else "review,n\nx,1\n")
    with pytest.raises(MaskerError, match="unknown column 'reviews'; known: review, n; did you mean 'review'"):
        rewritten(path, "reviews")
