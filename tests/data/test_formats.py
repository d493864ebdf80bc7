"""Every format reads the same texts, packed or not, and refuses what is bad with one clear line."""

import gzip
import json
import lzma
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from masker.data.corpora import read_corpus
from masker.data.formats import FORMATS, LINE_WRITERS, WRITERS, Record, format_of, read_lines, read_records
from masker.errors import MaskerError

TEXTS = ["the food was terrible .", "“déjà vu”\u2028, again", "  two spaces  "]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refusal(path: Path, **options: str) -> str:
    """The message with which reading a file fails: always a single line that names the file."""
    with pytest.raises(MaskerError) as caught:
        list(read_corpus(path, **options))
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


# Formats


def as_jsonl(texts: list[str]) -> str:
    return "".join(json.dumps({"stars": 1, "text": text}) + "\n" for text in texts)


def as_csv(texts: list[str]) -> str:
    return "stars,text\n" + "".join(f'1,"{text}"\n' for text in texts)


def as_tsv(texts: list[str]) -> str:
    return "stars\ttext\n" + "".join(f"1\t{text}\n" for text in texts)


def as_lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


@pytest.mark.parametrize(("packing", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize(
    ("suffix", "form"),
    [(".txt", as_lines), (".jsonl", as_jsonl), (".json", as_jsonl), (".CSV", as_csv), (".tsv", as_tsv)],
)
def test_every_format_packed_or_not_gives_the_same_texts(
    tmp_path: Path, suffix: str, form: Callable[[list[str]], str], packing: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"corpus{suffix}{packing}"
    path.write_bytes(pack(form(TEXTS).encode()))
    assert list(read_corpus(path)) == TEXTS


def test_blank_texts_are_skipped_and_newlines_of_both_kinds_stripped(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"one\r\n\r\n  \ntwo\n\nthree")
    assert list(read_corpus(path)) == ["one", "two", "three"]


def test_reading_streams(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"fine\n\xff\n")
    assert next(read_corpus(path)) == "fine"  # the bad second line has not been looked at


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    assert list(read_corpus(path)) == ["one"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_encoding_is_used(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes("café\nthé\n".encode(encoding))
    assert list(read_corpus(path, encoding=encoding)) == ["café", "thé"]


def test_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "corpus.txt", ["one"])
    assert list(read_corpus("~/corpus.txt")) == ["one"]


def test_column_is_the_named_one(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.jsonl", ['{"text": "no", "review": "yes"}'])
    assert list(read_corpus(path, column="review")) == ["yes"]
    path = write(tmp_path / "corpus.csv", ["text,review", "no,yes"])
    assert list(read_corpus(path, column="review")) == ["yes"]


def test_the_only_text_field_needs_no_column(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.jsonl", ['{"stars": 4, "review": "yes"}'])
    assert list(read_corpus(path)) == ["yes"]


def test_null_is_a_missing_text_and_not_a_reason_to_read_another_field(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.jsonl", ['{"id": "a1", "text": null}', '{"id": "a2", "text": "yes"}'])
    assert list(read_corpus(path)) == ["yes"]


def test_csv_text_may_hold_delimiter_quote_and_newline(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.csv", ["text", '"one, ""two""', 'three"'])
    assert list(read_corpus(path)) == ['one, "two"\nthree']


def test_csv_text_may_be_very_long(tmp_path: Path) -> None:
    long = "terrible " * 20_000 + "."
    assert list(read_corpus(write(tmp_path / "corpus.csv", ["text", long]))) == [long]


def test_quote_in_tsv_does_not_swallow_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.tsv", ["text", '"open', "next"])
    assert list(read_corpus(path)) == ['"open', "next"]


# Errors


def test_not_utf8_names_line_and_byte_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes("fine\nthe café\n".encode("latin-1"))
    message = refusal(path)
    assert "line 2: byte 7 (0xe9) is not utf-8" in message
    assert "give the file's `encoding`, e.g. latin-1" in message


def test_not_utf16_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xff\xfea")
    assert "not utf-16" in refusal(path, encoding="utf-16")


@pytest.mark.parametrize("content", [b"text\nmore\0text\n", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "ä\n".encode("utf-16")])
def test_binary_file_has_its_own_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    assert "is binary" in refusal(path)


def test_binary_file_is_found_in_encodings_that_decode_anything(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xff\0\n")
    assert "is binary" in refusal(path, encoding="latin-1")


def test_unknown_encoding(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="unknown encoding 'utf-9'"):
        list(read_corpus(write(tmp_path / "corpus.txt", ["one"]), encoding="utf-9"))


def test_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "missing.txt")


def test_directory(tmp_path: Path) -> None:
    assert "Is a directory" in refusal(tmp_path)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("cut", [False, True])
def test_bad_archive(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], cut: bool) -> None:
    path = tmp_path / f"corpus.txt{suffix}"
    path.write_bytes(pack(random.Random(0).randbytes(99).hex().encode())[:-20] if cut else b"this was never packed")
    assert f"not a whole {suffix} file" in refusal(path)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "bad JSON"),
        ('["one"]', "not a JSON object"),
        ('{"text": 5}', "column 'text' holds int"),
        ('{"text": "\\ud83d"}', "surrogate"),
        ('{"body": "one"}', "unknown column 'text'; known: body"),
    ],
)
def test_bad_json_names_the_line(tmp_path: Path, line: str, complaint: str) -> None:
    message = refusal(write(tmp_path / "corpus.jsonl", ['{"text": "fine"}', "", line]))
    assert "line 3: " in message
    assert complaint in message


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("corpus.jsonl", ['{"title": "a", "body": "b"}']),
        ("corpus.csv", ["title,body", "a,b"]),
        ("corpus.tsv", ["title\tbody"]),
    ],
)
class TestColumns:
    def test_unknown_column_lists_the_known(self, tmp_path: Path, name: str, lines: list[str]) -> None:
        message = refusal(write(tmp_path / name, lines), column="review")
        assert message.endswith("unknown column 'review'; known: title, body")
        assert refusal(tmp_path / name, column="titel").endswith("body; did you mean 'title'?")

    def test_several_columns_need_a_choice(self, tmp_path: Path, name: str, lines: list[str]) -> None:
        message = refusal(write(tmp_path / name, lines))
        assert "say `column`; known: title, body" in message


def test_plain_lines_have_no_column(tmp_path: Path) -> None:
    assert "drop `column`" in refusal(write(tmp_path / "corpus.txt", ["one"]), column="text")


def test_ragged_row_names_line_and_both_numbers(tmp_path: Path) -> None:
    message = refusal(write(tmp_path / "corpus.csv", ["text", "fine", "one, two"]))
    assert "line 3: 2 columns, but the header has 1" in message


def test_open_quote_is_an_error(tmp_path: Path) -> None:
    assert "quote left open" in refusal(write(tmp_path / "corpus.csv", ["text", '"open', "next"]))


# Plain lines that belong together by their numbers


def test_blank_lines_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\n  two\x0bhalf\n\n")
    assert read_lines(path) == ["one", "", "  two\x0bhalf", ""]
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(MaskerError, match="not utf-8; convert it"):
        read_lines(path)


# Every text keeps its place


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("in.txt", "a\n\n b\r\n", ["a", "", " b"]),
        ("in.tsv", "text\na\n\nb\n", ["a", "", "b"]),  # an empty line of one column is an empty text
        ("in.tsv", "\nid\ttext\n1\ta\n\n2\t\n", ["a", ""]),
        ("in.csv", '\nid,text\n1,a\n\n,\n2,"b\n"\n', ["a", "", "b\n"]),
        ("in.jsonl", '{"text": "a"}\n\n{"text": null}\n{"text": ""}\n', ["a", "", ""]),
    ],
)
def test_blank_texts_are_records(tmp_path: Path, name: str, content: str, texts: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode())
    assert [record.text for record in read_records(path)] == texts


def test_a_record_has_the_end_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\r\nb\rc\nd")
    assert list(read_records(path)) == [Record("a", "\r\n"), Record("b\rc", "\n"), Record("d", "")]
    assert "".join(record.line for record in read_records(path)) == path.read_bytes().decode()
    path = write(tmp_path / "in.csv", ["id,text,stars", "1,a,5"])
    assert list(read_records(path)) == [Record("a", "\n")]


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.jsonl.gz", "jsonl"), ("a.TSV", "tsv"), ("a.csv.xz", "csv"), ("a.gz", "lines"), ("-", "lines"),
     ("a.md", "lines"), ("gs://b/a.parquet", "parquet")],
)  # fmt: skip
def test_the_name_tells_the_format(name: str, format: str) -> None:
    assert format_of(name) is FORMATS[format]


# Parquet


def as_parquet(path: Path, columns: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    write_table(table, path, row_group_size=2)
    return path


def test_parquet_reads_as_the_others_do(tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "in.parquet", {"stars": [1, 2, 3], "text": [*TEXTS[:2], None]})
    assert list(read_corpus(path)) == TEXTS[:2]
    assert [record.text for record in read_records(path)] == [*TEXTS[:2], ""]
    only = as_parquet(tmp_path / "only.parquet", {"stars": [1], "review": ["a"]})
    assert list(read_corpus(only)) == ["a"]


def test_parquet_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_parquet(tmp_path / "in.parquet", {"stars": [1], "title": ["a"], "body": ["b"]})
    assert "say `column`; known: title, body" in refusal(path)
    assert "unknown column 'text'; known: stars, title, body" in refusal(path, column="text")
    assert "row 1: column 'stars' holds int, not text" in refusal(path, column="stars")
    assert "No such file" in refusal(tmp_path / "missing.parquet")
    bad = write(tmp_path / "bad.parquet", ["no parquet at all"])
    assert "not a whole Parquet file" in refusal(bad)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    needs = r"a Parquet file needs packages that are not installed; pip install 'masker-nlp\[parquet\]'"
    with pytest.raises(MaskerError, match=needs):
        list(read_corpus(path))


def test_parquet_with_what_python_cannot_hold(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    far = pa.array([10**18], pa.timestamp("us"))
    path = as_parquet(tmp_path / "in.parquet", {"when": far, "text": ["a"], "day": pa.array([2**30], pa.int32()).cast(
        pa.date32()), "zone": pa.array([1], pa.timestamp("us", "No/Where"))})  # fmt: skip
    assert list(read_corpus(path)) == ["a"]
    assert "row 1: column 'when' cannot be read as text (date value out of range)" in refusal(path, column="when")
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    path = as_parquet(tmp_path / "bad.parquet", {"text": bad})
    assert "row 1: column 'text' cannot be read as text ('utf-8' codec" in refusal(path)


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.parquet"])
def test_two_columns_of_one_name(tmp_path: Path, name: str) -> None:
    path, names = tmp_path / name, ["text", "n", "n"]
    if name == "in.parquet":
        pa = pytest.importorskip("pyarrow")
        as_parquet(path, pa.Table.from_arrays([pa.array([value]) for value in "abc"], names=names))
    else:
        part = "," if name == "in.csv" else "\t"
        write(path, [part.join(names), part.join("abc")])
    assert list(read_corpus(path)) == ["a"]
    assert "2 columns are called 'n'; rename them, or choose another `column`" in refusal(path, column="n")


# Writing


def test_results_in_every_format() -> None:
    result = {"source": "a\tb\nc", "text": "é\td\ne", "to": "positive", "edits": []}
    assert list(WRITERS) == ["lines", "tsv", "jsonl", "parquet"]
    assert list(LINE_WRITERS) == ["lines", "tsv", "jsonl"]
    assert LINE_WRITERS["lines"].line(result, "\r\n") == "é\td e\r\n"
    assert LINE_WRITERS["tsv"].line(result, "") == "a b c\té d e"
    line = LINE_WRITERS["jsonl"].line(result, "")
    assert json.loads(line) == result
    assert line.endswith("}\n")
    assert "é" in line
    half = LINE_WRITERS["jsonl"].write([({"text": "é", "id": "\ud800"}, "\n")])
    assert half == '{"text": "é", "id": "\\ud800"}\n'.encode()
    assert LINE_WRITERS["lines"].write([({"text": "a"}, "\n"), ({"text": "\udcff"}, "")]) == b"a\n\xff"


def test_parquet_has_one_schema_whatever_is_in_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow.parquet import read_table

    schemas = []
    for k, more in enumerate(({}, {"reason": "nothing to change"})):
        path = tmp_path / f"{k}.parquet"
        path.write_bytes(WRITERS["parquet"].write([({"n": 1, "source": "a", "text": "b", "edits": [], **more}, "\n")]))
        schemas.append(read_table(path).schema)
        assert [record.text for record in read_records(path, column="text")] == ["b"]
    assert schemas[0] == schemas[1]
    for odd in ("\ud800", 10**30):
        with pytest.raises(MaskerError, match="Parquet cannot hold column 'n'"):
            WRITERS["parquet"].write([({"n": odd, "source": "a", "text": "b", "edits": []}, "\n")])
