"""Whole files through Beam: several worker processes on this machine, by the command line, as a user would."""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("apache_beam")

import pyarrow as pa
from pyarrow.parquet import ParquetFile, read_table, write_table

from masker.api import Masker
from masker.data.pairs import read_pairs
from masker.errors import MaskerError
from masker.scale import blocks as blocks_module
from masker.scale.beam.running import one_line_of_beam
from masker.scale.beam.storage import BeamFiles
from masker.scale.blocks import plan, read
from masker.scale.shards import joined as joined_columns
from masker.scale.storage import Files
from masker.students.base import Student

Cli = Callable[..., Any]
MANY = ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
REVIEWS = ["the food was terrible .", "", "Worst pizza ever!", "i can't believe how rude they were .", "ok"]
VOLUME = 200_000 if os.environ.get("MASKER_SLOW") else 1_500


def start(folder: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "masker", "beam", *map(str, arguments), *MANY]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=3600)
    return process.returncode, err


def joined(folder: Path, pattern: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(pattern)))


# -- several processes -------------------------------------------------------------------------------------------------


def test_the_embedded_model_writes_what_it_writes_locally(tmp_path: Path, masker: Cli) -> None:
    """Line for line, with lines in between that cannot be edited: these come out as they went in, and are listed."""
    good = [text.encode() + end for text, end in zip(REVIEWS, [b"\n", b"\n", b"\r\n", b"\n", b""], strict=True)]
    lines = [*good[:2], b"caf\xe9 .\n", good[2], b"word " * 30 + b"\n", *good[3:]]
    (tmp_path / "in.txt").write_bytes(b"".join(lines))
    options = ["--to", "positive", "--max-words", "20", "--shards", "3", "--exact"]  # int8 rounds by the batch
    code, err = finish(start(tmp_path, "edit", "--input", "in.txt", "--output", "out.txt", *options))
    assert code == 0, err
    rewritten = joined(tmp_path, "out-0*.txt").splitlines(keepends=True)
    local = masker("edit", "--to", "positive", "--exact", stdin=b"".join(good)).out.splitlines(keepends=True)
    assert rewritten == [*local[:2], lines[2], local[2], lines[4], *local[3:]]
    changed = sum(a != b for a, b in zip(rewritten, lines, strict=True))
    assert changed >= 3
    assert f"texts 7, changed {changed}, failed 2, shards 3" in err
    failed = [json.loads(line) for line in joined(tmp_path, "out-failed-*.jsonl").splitlines()]
    assert [f["source"] for f in failed] == ["caf\\xe9 .", "word " * 30]
    assert failed[0]["reason"] == "not UTF-8 text"
    assert "30 words" in failed[1]["reason"]
    assert failed[0]["key"] == [str(tmp_path / "in.txt"), 0, 2]


@pytest.mark.slow
def test_a_worker_killed_in_the_middle(tmp_path: Path, fitted: Path) -> None:
    """Beam's local runner does not replace it. The run ends at once, and goes on where it was."""
    texts = [f"{word} {k} !" for k in range(VOLUME // 4) for word in ("rude", "good", "great", "terrible")]
    (tmp_path / "in.txt").write_text("".join(text + "\n" for text in texts))
    arguments = ["edit", "--input", "in.txt", "--output", "out.jsonl", "--to", "positive", "--model", fitted]
    arguments += ["--method", "paper", "--shards", "30"]
    process = start(tmp_path, *arguments)
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None and len(list(tmp_path.glob("out-0*"))) < 4:
        time.sleep(0.02)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    code, err = finish(process)
    assert code == 1, err
    assert "masker: a worker died; what is done is kept: go on with --resume" in err
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out-0*")}
    assert 4 <= len(kept) < 30
    code, err = finish(start(tmp_path, *arguments, "--resume"))
    assert code == 0, err
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    assert len(list(tmp_path.glob("out-*"))) == 30
    records = [json.loads(line) for line in joined(tmp_path, "out-*.jsonl").splitlines()]
    assert [record["source"] for record in records] == texts
    local = Masker.from_pretrained(fitted, device="cpu").edit(texts[:200], to="positive", method="paper")
    assert [record["text"] for record in records[:200]] == [rewrite.text for rewrite in local]
    assert not (tmp_path / "out.temp").exists()


def workers_of(pid: int) -> list[int]:
    """Beam starts a shell for each worker, and that the worker."""
    found = []
    for child in children(pid):
        found += [worker for worker in children(child) if b"sdk_worker" in Path(f"/proc/{worker}/cmdline").read_bytes()]
    return found


def children(pid: int) -> list[int]:
    return [int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()]


# -- formats, in this process ------------------------------------------------------------------------------------------


@pytest.fixture
def beam(masker: Cli, fitted: Path, here: Path) -> Cli:
    return lambda verb, *a: masker("beam", verb, "--model", fitted, "--to", "positive", "--runner", "FnApiRunner", *a)


@pytest.fixture
def beam_fails(fails: Cli, fitted: Path, here: Path) -> Cli:
    return lambda *a: fails("beam", "edit", "--model", fitted, "--to", "positive", "--runner", "FnApiRunner", *a)


ROWS = [{"id": 1, "text": "the food was terrible ."}, {"id": 2, "text": None}, {"id": 3, "text": "it was rude !"}]


def test_jsonl_keeps_other_fields(beam: Cli, here: Path) -> None:
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "\n{oops\n")
    assert beam("edit", "--input", "a.jsonl", "--output", "out.jsonl").code == 0
    records = [json.loads(line) for line in joined(here, "out-0*.jsonl").splitlines()]
    assert [r.get("id") for r in records] == [1, 2, 3, None]
    assert "good" in records[0]["text"] or "great" in records[0]["text"]
    assert records[0]["edits"][0]["old"] == "terrible"
    assert (records[1]["text"], records[1]["reason"]) == (None, "failed: no text in column 'text'")
    assert records[3]["reason"].startswith("failed: bad JSON")
    assert len(joined(here, "out-failed-*").splitlines()) == 2


def test_parquet_in_and_out(beam: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "ROWS", 2)
    write_table(pa.Table.from_pylist([{"n": r["id"], "review": r["text"]} for r in ROWS * 3]), here / "a.parquet", 4)
    assert beam("edit", "--input", "*.parquet", "--column", "review", "--output", "out.parquet").code == 0
    shards = sorted(here.glob("out-0*.parquet"))
    assert [ParquetFile(path).metadata.num_rows for path in shards] == [2, 2, 2, 2, 1]
    table = pa.concat_tables([read_table(path) for path in shards]).to_pylist()
    assert [row["n"] for row in table] == [1, 2, 3] * 3
    assert table[0]["edits"][0]["old"] == "terrible"
    assert table[0]["source"] == ROWS[0]["text"]
    assert len({str(ParquetFile(path).schema_arrow) for path in shards}) == 1


def test_tsv_and_packed_text(beam: Cli, here: Path) -> None:
    (here / "a.txt.gz").write_bytes(gzip.compress(b"the food was\tterrible .\nok\n"))
    assert beam("edit", "--input", "a.txt.gz", "--output", "out.tsv").code == 0
    first, second = joined(here, "out-0*.tsv").decode().splitlines()
    assert first.startswith("the food was terrible .\tthe food was ")
    assert second.startswith("ok\t")


def test_silver(beam: Cli, masker: Cli, fitted: Path, here: Path) -> None:
    """The pairs of masker silver, whose column `line` alone differs."""
    options = ["--min-score", "0.1", "--min-similarity", "0.5"]
    (here / "negative.txt").write_text((here / "negative.txt").read_text().replace(" was", "\twas"))
    result = beam("silver", "--input", "negative.txt", "--output", "pairs.tsv", "--shards", "3", *options)
    assert result.code == 0
    assert "kept" in result.err
    assert (
        masker("silver", "negative.txt", "--to", "positive", "--model", fitted, "--out", "one.tsv", *options).code == 0
    )
    (here / "all.tsv").write_bytes(joined(here, "pairs-0*.tsv"))
    assert list(read_pairs(here / "all.tsv")) == list(read_pairs(here / "one.tsv"))
    assert len(list(read_pairs(here / "all.tsv"))) > 10


def test_a_student(beam: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Upper:
        chunk = 256

        def edit(self, texts: list[str], to: str | None = None) -> list[str]:
            return [text.upper() for text in texts]

        rewrites = Student.rewrites

    monkeypatch.setattr("masker.students.base.is_student", lambda folder: True)
    monkeypatch.setattr(
        "masker.students.base.Student.from_pretrained", lambda folder, device=None, exact=False: Upper()
    )
    assert beam("edit", "--input", "negative.txt", "--output", "out.txt").code == 0
    assert joined(here, "out-0*.txt") == (here / "negative.txt").read_bytes().upper()


def test_what_is_refused(beam: Cli, beam_fails: Cli, here: Path) -> None:
    assert "no file matches nothing*" in beam_fails("--input", "nothing*", "--output", "out.txt")
    assert "unknown format '.xml'" in beam_fails("--input", "negative.txt", "--output", "out.xml")
    assert "unknown domain 'happy'" in beam_fails("--input", "negative.txt", "--output", "out.txt", "--to", "happy")
    assert not list(here.glob("out*")), "a failed start leaves nothing behind"
    arguments = ["--input", "negative.txt", "--output", "out.txt", "--shards", "2"]
    assert beam("edit", *arguments).code == 0
    assert "is there already; go on with --resume" in beam_fails(*arguments)
    assert "other inputs or options" in beam_fails(*arguments, "--resume", "--max-edits", "2")
    assert "shards 0" in beam("edit", *arguments, "--resume").err
    (here / "out-00001-of-00002.txt").unlink()
    assert "shards 1" in beam("edit", *arguments, "--resume").err
    (here / "out.run.json").unlink()
    assert "out.run.json is missing" in beam_fails(*arguments, "--resume")


@given(
    st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"")), max_size=30), st.integers(1, 40), st.booleans()
)
def test_blocks_hold_every_line_once(tmp_path_factory: Any, lines: list[bytes], shards: int, final: bool) -> None:
    path = tmp_path_factory.mktemp("blocks") / "in.txt"
    data = b"\n".join(lines) + b"\n" * final
    path.write_bytes(data)
    both = (Files(), BeamFiles())
    found, other = (
        [(text, end) for block in plan([str(path)], shards, s) for text, end, _ in read(block, None, s)] for s in both
    )
    assert found == other
    assert len(found) == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert b"".join(raw(text) + end.encode() for text, end in found) == data.removeprefix(b"\xef\xbb\xbf")


def raw(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else text.source


# -- what is wrong is said in one line, before anything is done ------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--input", "in.jsonl", "--column", "txt"), "in.jsonl: unknown column 'txt'; known: text, to, source"),
        (("--input", "in.txt", "--column", "text"), "which have no column 'text'; drop --column"),
        (("--input", "in.jsonl", "--shards", "-2"), "--shards is -2: need at least 1"),
        (("--input", "in.jsonl", "--protectt", "x"), "did you mean '--protect'?"),
        (("--input", "in.jsonl", "--runer=DirectRunner"), "knows the option --runer; did you mean '--runner'?"),
        (("--input", "folder"), "folder is a folder; give its files"),
        (("--input", "bad.parquet"), "bad.parquet is not a whole Parquet file"),
        (("--input", "in.jsonl", "--runner", "Moon"), "Unexpected pipeline runner: Moon"),
    ],
)
def test_what_is_wrong(beam_fails: Cli, here: Path, arguments: tuple[str, ...], said: str) -> None:
    (here / "in.jsonl").write_text('{"text": "bad", "to": 1, "source": "me"}\n')
    (here / "in.txt").write_text("bad\n")
    (here / "bad.parquet").write_text("junk")
    (here / "folder").mkdir()
    assert said in beam_fails("edit", *arguments, "--output", "out.jsonl", "--to", "positive")


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0.01, 0.99))
def test_half_of_a_packed_file_is_never_taken_for_all_of_it(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes], cut: float
) -> None:
    path = tmp_path / f"in.txt{ending}"
    whole = pack("".join(f"{k} is a number\n" for k in range(200)).encode())
    for storage in (BeamFiles(), Files()):
        path.write_bytes(whole)
        (block,) = plan([str(path)], None, storage)
        assert len(read(block, None, storage)) == 200
        path.write_bytes(whole[: max(1, int(cut * len(whole)))])
        with pytest.raises(MaskerError, match=f"is not a whole {ending} file"):
            read(block, None, storage)


def test_columns_of_the_users_own_stay() -> None:
    fields = {"id": 1, "to": "me", "source": "web", "input_to": 3}
    assert joined_columns(fields, {"source": "a", "text": "b", "to": "positive"}) == {
        "id": 1, "input_to": "me", "input_source": "web", "input_input_to": 3, "source": "a", "text": "b",
        "to": "positive",
    }  # fmt: skip


def test_records_without_a_text(tmp_path: Path) -> None:
    rows = ['{"text": null, "id": 1}', '{"id": 2}', '{"text": 5}', '{"text": "\\ud800 x"}', "[]", '{"text": "ok"}']
    (tmp_path / "in.jsonl").write_text("\n".join(rows))
    (block,) = plan([str(tmp_path / "in.jsonl")], None, Files())
    texts = [text for text, _, _ in read(block, None, Files())]
    assert texts[5] == "ok"
    assert [(text.source, text.reason) for text in texts[:5]] == [
        (None, "no text in column 'text'"),
        (None, "no text in column 'text'"),
        (None, "no text in column 'text'"),
        (b"\\ud800 x", "not valid Unicode (half of a surrogate pair at character 1); mend it"),
        (b"[]", "not a JSON object"),
    ]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MaskerError("a.gz is cut [while running 'ParDo(_Read)']"), "a.gz is cut"),
        (RuntimeError("Traceback\nmasker.errors.MaskerError: a.gz is cut\nmore"), "a.gz is cut; what is done is kept"),
        (ValueError("no\nsuch thing"), "the pipeline failed (ValueError: such thing); mend that, and go on"),
    ],
)
def test_a_pipeline_fails_in_one_line(error: Exception, said: str) -> None:
    with pytest.raises(MaskerError) as found, one_line_of_beam():
        raise error
    assert str(found.value).startswith(said)
    with pytest.raises(KeyboardInterrupt), one_line_of_beam():
        raise RuntimeError("Traceback\nRuntimeError: KeyboardInterrupt [while running 'x']")
