"""Whole files and frames through Spark, on this machine; skipped where it or Java is not installed."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

INSTALL = "pip install 'masker-nlp[spark]' and a JRE of version 17 or newer to run these"
pytest.importorskip("pyspark", reason=f"no Spark here: {INSTALL}")
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip(f"no Java here: {INSTALL}", allow_module_level=True)

from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

import masker.scale.spark as engine  # noqa: E402
from masker import Masker  # noqa: E402
from masker.data.pairs import read_pairs  # noqa: E402
from masker.errors import MaskerError  # noqa: E402
from masker.scale.job import Job  # noqa: E402
from masker.scale.silver import SilverSettings  # noqa: E402
from masker.scale.storage import Files  # noqa: E402

FAST = Job("positive", options={"method": "fast"}, max_words=20)
REVIEWS = ["the food was terrible .", "", "Worst pizza ever!", "i can't believe how rude they were .", "ok"]


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    spark = engine._session(engine._settings(["--master", "local[2,4]", "--conf=spark.ui.enabled=false"]))
    yield spark
    spark.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Lines that can be edited, and some that cannot."""
    ends = [b"\n", b"\n", b"\r\n", b"\n", b""]
    good = [text.encode() + end for text, end in zip(REVIEWS, ends, strict=True)]
    (tmp_path / "in.txt").write_bytes(b"".join([*good[:2], b"caf\xe9 .\n", good[2], b"word " * 30 + b"\n", *good[3:]]))
    return tmp_path / "in.txt"


def joined(folder: Path, pattern: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(pattern)))


def test_files_come_out_as_on_one_machine_and_what_failed_is_listed(session: SparkSession, file: Path) -> None:
    counts = engine.run(FAST, [str(file)], str(file.with_name("out.txt")), shards=3, session=session)
    assert {name: counts[name] for name in ("texts", "failed", "shards")} == {"texts": 7, "failed": 2, "shards": 3}
    lines = joined(file.parent, "out-0*.txt").splitlines(keepends=True)
    new = [rewrite.text for rewrite in Masker.from_pretrained(device="cpu").edit(REVIEWS, "positive", method="fast")]
    expected = [f"{new[0]}\n", f"{new[1]}\n", "", f"{new[2]}\r\n", "", f"{new[3]}\n", new[4]]
    for line, text in zip(lines, expected, strict=True):
        assert not text or line == text.encode()
    assert lines[2] == b"caf\xe9 .\n"  # as they went in
    assert lines[4] == b"word " * 30 + b"\n"
    failed = [json.loads(line) for line in joined(file.parent, "out-failed-*.jsonl").splitlines()]
    assert [(entry["reason"][:14], entry["key"][0]) for entry in failed] == [
        ("not UTF-8 text", str(file)), ("it has 30 word", str(file)),
    ]  # fmt: skip
    assert not file.with_name("out.temp").exists()


@pytest.mark.slow
def test_spark_and_beam_write_the_same(session: SparkSession, file: Path) -> None:
    pytest.importorskip("apache_beam")
    from masker.scale.beam.files import run

    for name, start in (("spark", engine.run), ("beam", run)):
        more: dict[str, Any] = {"session": session} if name == "spark" else {}
        start(FAST, [str(file)], str(file.with_name(f"{name}.jsonl")), shards=3, **more)

    def rows(name: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in joined(file.parent, f"{name}-0*.jsonl").splitlines()]
        return [{key: row[key] for key in ("source", "text", "to")} for row in found]

    def dead(name: str) -> list[tuple[Any, ...]]:
        lines = joined(file.parent, f"{name}-failed-*.jsonl").splitlines()
        return [(entry["key"], entry["source"]) for entry in map(json.loads, lines)]

    assert rows("spark") == rows("beam")
    assert dead("spark") == dead("beam") != []
    assert [p.name[5:] for p in sorted(file.parent.glob("spark-*"))] == [
        p.name[4:] for p in sorted(file.parent.glob("beam-*"))
    ]


@pytest.mark.slow
def test_a_run_is_continued_where_files_are_missing(session: SparkSession, file: Path) -> None:
    out = str(file.with_name("out.txt"))
    engine.run(FAST, [str(file)], out, shards=3, session=session)
    whole = joined(file.parent, "out-0*.txt")
    with pytest.raises(MaskerError, match="is there already"):
        engine.run(FAST, [str(file)], out, shards=3, session=session)
    file.with_name("out-00001-of-00003.txt").unlink()
    assert engine.run(FAST, [str(file)], out, shards=3, session=session, resume=True)["shards"] == 1
    assert joined(file.parent, "out-0*.txt") == whole
    assert engine.run(FAST, [str(file)], out, shards=3, session=session, resume=True) == {"shards": 0}


class Deadly(Files):
    """The first worker that reads the input dies, as if it had been killed."""

    def __init__(self, marker: Path) -> None:
        self.marker, self.driver = marker, os.getpid()

    def open(self, path: str) -> IO[bytes]:
        if os.getpid() != self.driver and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open(path)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_line(
    session: SparkSession, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = file.with_name("died")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    monkeypatch.setattr(engine, "Files", lambda: Deadly(marker))
    counts = engine.run(FAST, [str(file)], str(file.with_name("out.txt")), shards=3, session=session)
    assert marker.exists()
    assert counts["texts"] == 7
    assert len(joined(file.parent, "out-0*.txt").splitlines()) == 7


@pytest.mark.slow
def test_silver_pairs(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in REVIEWS))
    settings = SilverSettings("positive", None, "target", 0.0)
    counts = engine.run(
        FAST, [str(tmp_path / "in.txt")], str(tmp_path / "pairs.tsv"), shards=2, session=session, silver=settings,
        format="tsv",
    )  # fmt: skip
    (tmp_path / "all.tsv").write_bytes(joined(tmp_path, "pairs-0*.tsv"))
    pairs = list(read_pairs(tmp_path / "all.tsv"))
    assert len(pairs) == counts["silver_kept"] >= 2
    assert pairs[0].source == REVIEWS[0]


def test_a_column_of_a_frame_is_rewritten(session: SparkSession) -> None:
    frame = session.createDataFrame([(1, REVIEWS[0]), (2, None), (3, "word " * 30)], "id long, review string")
    rows = engine.edit_column(frame, "review", "positive", method="fast", max_words=20).orderBy("id").collect()
    assert rows[0]["review"] != REVIEWS[0]
    assert json.loads(rows[0]["masker_edits"])[0]["old"]
    assert [row["masker_error"] for row in rows] == [None, "not a text but NoneType", rows[2]["masker_error"]]
    assert rows[1]["review"] is None
    assert "30 words" in rows[2]["masker_error"]
    assert [row["id"] for row in rows] == [1, 2, 3]
    with pytest.raises(MaskerError, match="no column 'text'; it has id, review"):
        engine.edit_column(frame, "text", "positive")
    with pytest.raises(MaskerError, match="choose another `prefix`"):
        engine.edit_column(frame.withColumnRenamed("id", "masker_edits"), "review", "positive")


def test_the_options_of_spark() -> None:
    assert engine._settings(["--master", "yarn", "--conf=a.b=c=d", "--conf", "e=f"]) == {
        "spark.master": "yarn", "a.b": "c=d", "e": "f",
    }  # fmt: skip
    assert engine._settings([])["spark.master"] == "local[*,4]"
    for wrong in (["--runner", "x"], ["--master"], ["--conf", "x"]):
        with pytest.raises(MaskerError, match="--master URL and --conf KEY=VALUE"):
            engine._settings(wrong)
