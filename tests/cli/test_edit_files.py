"""Tables and documents by masker edit: what comes out is what went in, but for the texts."""

import gzip
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from masker.api import Masker
from masker.data.formats import decoding
from masker.data.resumable import ResumableFile
from masker.errors import MaskerError

TEXTS = ["the food was terrible .", "", "the staff was rude !", "it was terrible here ."]

UNKNOWN = "(as many texts as the input has; with what options it was made is not known)"
FINISHED = f"masker: out.csv is complete {UNKNOWN}, and nothing is left to do; without --resume it is made anew\n"

Cli = Callable[..., Any]
Fails = Callable[..., str]


@pytest.fixture
def edit(masker: Cli, fitted: Path, here: Path) -> Cli:
    return lambda *arguments, **kw: masker("edit", "--model", fitted, *arguments, "--to", "positive", **kw)


@pytest.fixture
def edit_fails(fails: Fails, fitted: Path, here: Path) -> Fails:
    return lambda *arguments, **kw: fails("edit", "--model", fitted, *arguments, "--to", "positive", **kw)


@pytest.fixture(scope="session")
def expected(fitted: Path) -> list[str]:
    rewrites = Masker.from_pretrained(fitted).edit(TEXTS, to="positive")
    assert all(rewrite.edits for rewrite in rewrites if rewrite.source)
    return [rewrite.text for rewrite in rewrites]


def as_csv(texts: list[str]) -> bytes:
    return ('\ufeff"id", text ;,more\r\n' + "".join(f'{k},"{text}",1.0\r\n' for k, text in enumerate(texts))).encode()


def as_tsv(texts: list[str]) -> bytes:
    return ("id\t text ;\n" + "".join(f'"{k}\t{text}\n' for k, text in enumerate(texts))).encode()


def as_jsonl(texts: list[str]) -> bytes:
    rows = [f'{{"id":{k}.0, " text ;": {json.dumps(text or None)}, "é":[]}}\n\n' for k, text in enumerate(texts)]
    return "".join(rows).encode()


FORMS = [(".csv", as_csv), (".tsv", as_tsv), (".jsonl", as_jsonl)]
PACKED = [("", bytes, bytes), (".gz", gzip.compress, gzip.decompress), (".xz", lzma.compress, lzma.decompress)]


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "form"), FORMS)
@pytest.mark.parametrize(("packing", "pack", "unpack"), PACKED)
def test_a_table_comes_out_as_it_went_in(
    edit: Cli, here: Path, expected: list[str], suffix: str, form: Any, packing: str, pack: Any, unpack: Any
) -> None:
    (here / f"in{suffix}{packing}").write_bytes(pack(form(TEXTS)))
    result = edit(f"in{suffix}{packing}", "--column", " text ;")
    assert (result.code, result.err) == (0, "")
    assert result.out == form(expected)  # standard output is never packed
    edit(f"in{suffix}{packing}", "--column", " text ;", "--out", f"out{suffix}{packing}")
    assert unpack((here / f"out{suffix}{packing}").read_bytes()) == form(expected)
    edit(f"in{suffix}{packing}", "--column", " text ;", "--out", f"out{suffix}")
    assert (here / f"out{suffix}").read_bytes() == form(expected)


def test_a_table_by_several_workers(
    edit: Cli, edit_fails: Fails, here: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed and continued; one of the rows that were done before has failed."""
    (here / "in.csv").write_bytes(as_csv(["word " * 3000, *TEXTS * 10]))
    options = ("in.csv", "--column", " text ;", "--device", "cpu", "--out", "out.csv")
    write, written = ResumableFile.write, []

    def broken(self: ResumableFile, *block: Any) -> None:
        if written:
            raise MaskerError("the power is gone")
        written.append(write(self, *block))

    with monkeypatch.context() as patched:
        patched.setattr(ResumableFile, "write", broken)
        assert "the power is gone" in edit_fails(*options, "--workers", "1")
    assert "is of an unfinished run; continue it with --resume" in edit_fails(*options, "--workers", "1")
    result = edit(*options, "--resume")
    assert result.code == 3
    assert result.err.startswith("masker: row 1: it has 3,000 words")
    assert (here / "out.csv").read_bytes() == as_csv(["word " * 3000, *expected * 10])
    assert {path.name for path in here.iterdir()} == {"in.csv", "out.csv", "negative.txt", "positive.txt"}
    before = (here / "out.csv").stat().st_mtime_ns
    result = edit(*options, "--resume")
    assert (result.code, result.err) == (0, FINISHED)
    assert (here / "out.csv").stat().st_mtime_ns == before
    (here / "in.csv").write_bytes(as_csv(TEXTS))
    error = edit_fails(*options, "--resume")
    assert error == "out.csv is there already, and not made of in.csv (texts: 41 and 4); remove it to start anew"


def test_texts_that_are_the_users_own_stay(edit_fails: Fails, here: Path) -> None:
    (here / "in.csv").write_bytes(as_csv(TEXTS))
    (here / "out.csv.texts").write_text("mine")
    error = edit_fails("in.csv", "--column", " text ;", "--workers", "1", "--out", "out.csv")
    assert "out.csv.texts would be overwritten" in error
    assert (here / "out.csv.texts").read_text() == "mine"


def test_parquet(
    edit: Cli, edit_fails: Fails, here: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import BufferReader
    from pyarrow.parquet import read_table, write_table

    table = pa.table({"id": pa.array(range(4), pa.int8()), "text": [text or None for text in TEXTS]})
    write_table(table, here / "in.parquet")
    wanted = table.set_column(1, "text", pa.array([text or None for text in expected]))
    assert read_table(BufferReader(edit("in.parquet").out)).equals(wanted)
    edit("in.parquet", "--out", "out.parquet", "--workers", "1", "--device", "cpu")
    assert read_table(here / "out.parquet").equals(wanted)


def test_what_comes_out_is_what_went_in(edit: Cli, edit_fails: Fails, here: Path) -> None:
    (here / "in.csv").write_bytes(b"text\nit was terrible .\n")
    error = edit_fails("in.csv", "--out", "out.jsonl")
    assert "in.csv comes out as the csv table that it is, but --out out.jsonl is none; end its name in .csv" in error
    assert "or choose what comes out with --format" in error
    assert "out.txt is none" in edit_fails("in.csv", "--out", "out.txt")
    assert edit("in.csv", "--out", "out").code == 0
    assert (here / "out").read_bytes().startswith(b"text\n")
    assert edit("in.csv", "--format", "jsonl", "--out", "out.jsonl").code == 0
    assert json.loads((here / "out.jsonl").read_text())["source"] == "it was terrible ."
    assert "--out" in edit_fails("in.csv", "--workers", "1")
    assert "did you mean 'text'?" in edit_fails("in.csv", "--column", "txt")


def test_a_row_that_fails_comes_out_as_it_was(edit: Cli, here: Path) -> None:
    (here / "in.csv").write_text(f"text,n\nit was terrible .,1\n{'word ' * 3000},2\n")
    result = edit("in.csv", "--out", "out.csv")
    assert result.code == 3
    assert result.err.startswith("masker: row 2: it has 3,000 words")
    assert "1 text could not be edited" in result.err
    first, long = (here / "out.csv").read_text().splitlines()[1:]
    assert "terrible" not in first
    assert long == f"{'word ' * 3000},2"


def test_a_rewrite_that_the_encoding_lacks(edit: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from masker.scale.job import LoadedJob

    load = LoadedJob.__init__

    def loaded(self: LoadedJob, *arguments: Any, **options: Any) -> None:
        load(self, *arguments, **options)
        stream = self.stream
        self.stream = lambda texts: (replace(rewrite, text=f"☕ {rewrite.text}") for rewrite in stream(texts))

    monkeypatch.setattr(LoadedJob, "__init__", loaded)
    (here / "in.csv").write_bytes("text\ncafé .\n".encode("latin-1"))
    result = edit("in.csv", "--encoding", "latin-1")
    assert (result.code, result.out) == (3, "text\ncafé .\n".encode("latin-1"))
    assert "row 1: latin-1 has no '☕', which its rewrite has" in result.err


# -- documents ---------------------------------------------------------------------------------------------------------

MARKDOWN = """\
---
title: terrible
---
# It was terrible .

* the **food was
  terrible .** `terrible` [the staff was rude !](terrible)
"""


def test_a_document(edit: Cli, here: Path) -> None:
    (here / "in.md").write_bytes(MARKDOWN.replace("\n", "\r\n").encode())
    result = edit("in.md", "--document")
    assert (result.code, result.err) == (0, "")
    assert edit("in.md", "--document", "--out", "out.md").code == 0
    assert (here / "out.md").read_bytes() == result.out
    lines = result.out.decode().split("\r\n")
    assert lines[:3] == ["---", "title: terrible", "---"]
    assert lines[3].startswith("# It was ")
    assert "terrible" not in lines[3]
    assert len(lines) == 8
    assert " `terrible` [" in lines[6]
    assert lines[6].endswith("](terrible)")


def test_a_document_as_jsonl(edit: Cli, here: Path) -> None:
    (here / "in.md").write_text(MARKDOWN)
    records = [json.loads(line) for line in edit("in.md", "--document", "--format", "jsonl").text.splitlines()]
    assert [(record["kind"], record["line"]) for record in records] == [("heading", 4), ("paragraph", 6)]
    made = MARKDOWN
    for change in reversed([change for record in records for change in record["edits"]]):
        assert MARKDOWN[change["start"] : change["end"]] == change["old"]
        assert MARKDOWN.splitlines()[change["line"] - 1][change["column"] - 1 :].startswith(change["old"][:3])
        made = made[: change["start"]] + change["new"] + made[change["end"] :]
    assert made == edit("in.md", "--document").text


def test_html_and_standard_input(edit: Cli, here: Path) -> None:
    (here / "in.html").write_bytes("<p title='terrible'>it&#32;was <b>terrible</b> . é".encode("latin-1"))
    out = edit("in.html", "--document", "--encoding", "latin-1").out.decode("latin-1")
    assert out.startswith("<p title='terrible'>")
    assert "<b>terrible" not in out
    assert edit("--document", stdin=b"it was\nterrible .\n\n * 12 %").text.endswith(" .\n\n * 12 %")
    assert edit("--document", stdin=b"").out == b""


def test_a_paragraph_that_fails_comes_out_as_it_was(edit: Cli, here: Path) -> None:
    (here / "in.md").write_text(f"# It was terrible .\n\n{'word ' * 3000}")
    result = edit("in.md", "--document")
    assert result.code == 3
    assert result.err.startswith("masker: line 3: it has 3,000 words")
    assert result.text.endswith("word " * 3000)
    assert "terrible" not in result.text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--column", "text"), "a document has no --column"),
        (("--workers", "0", "--out", "x"), "a document has no --workers"),
        (("--resume", "--out", "x"), "a document has no --resume"),
        (("--top", "3"), "a document has no --top"),
        (("--format", "tsv"), "a document comes out whole, or as jsonl"),
    ],
)
def test_what_documents_have_not(edit_fails: Fails, here: Path, arguments: tuple[str, ...], named: str) -> None:
    assert named in edit_fails("negative.txt", "--document", *arguments)


def test_parquet_is_nothing_for_a_terminal(edit_fails: Fails, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "name a file with --out" in edit_fails("in.parquet")


def test_a_byte_order_mark_stays_where_it_was(masker: Callable[..., Any], here: Path) -> None:
    (here / "in.txt").write_bytes(b"\xef\xbb\xbfthe food was terrible .\n\xef\xbb\xbfthe food\n")
    plain = ("edit", "in.txt", "--to", "positive", "--method", "fast")
    lines = masker(*plain).out.splitlines()
    assert lines[0].startswith(b"\xef\xbb\xbfthe food was ")
    assert not lines[0].endswith(b"terrible .")
    assert json.loads(masker(*plain, "--format", "jsonl").out.splitlines()[0])["source"] == "the food was terrible ."


def test_tabs_in_tsv_are_told_of(masker: Callable[..., Any], here: Path) -> None:
    (here / "in.txt").write_bytes(b"the food\twas terrible .\nfine\n")
    run = masker("edit", "in.txt", "--to", "positive", "--method", "fast", "--format", "tsv")
    assert run.out.startswith(b"the food was terrible .\tthe food was ")
    assert run.err == "masker: warning: 1 text has tabs, which are spaces in tsv; --format jsonl keeps them\n"


def test_alternatives_need_a_place(fails: Callable[..., str], here: Path) -> None:
    assert "only jsonl has room for" in fails("edit", "negative.txt", "--to", "positive", "--top", "3")


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2"])
def test_gigabytes_in_one_line_are_not_read(
    fails: Callable[..., str], here: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(decoding, "LINE", 2**12)
    with decoding.open_packed(here / f"in.txt{ending}", "wb") as file:
        file.write(b"fine\n" + b"a" * 2**22)
    assert "line 2: it " in fails("edit", f"in.txt{ending}", "--to", "positive", "--method", "fast")
