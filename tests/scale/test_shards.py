"""A run over files before any engine has it: what is left to do, and what a shard holds."""

import json
from collections import Counter
from pathlib import Path

import pytest

from masker.core.edits import Edit, Rewrite
from masker.errors import MaskerError
from masker.scale.job import Job
from masker.scale.outcomes import Failure, Unreadable, no_text
from masker.scale.shards import Run
from masker.scale.silver import SilverSettings
from masker.scale.storage import Files

JOB = Job("positive", options={"method": "fast"})
LINES = "bad one .\nbad two .\nbad three .\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text(LINES)
    return tmp_path / "in.txt"


def begin(file: Path, name: str = "out.jsonl", **rest: object) -> Run:
    return Run.begin(JOB, [str(file)], str(file.with_name(name)), Files(), shards=2, **rest)  # type: ignore[arg-type]


def write(run: Run, number: int) -> Counter[str]:
    block = run.todo[number]
    texts = run.shards.texts(block, run.storage)
    edit = Edit(0, 3, "bad", "good", 0.9)
    done = [Rewrite(t, t.replace("bad", "good"), "negative", "positive", (edit,)) for t in texts]
    failed = Failure((block, 0), texts[0], "it had to")
    return run.shards.write(block, [failed, *done[1:]], run.storage)


def test_a_shard_has_all_lines_and_what_failed_is_beside_it(file: Path) -> None:
    run = begin(file)
    write(run, 0)
    rows = [json.loads(line) for line in Path(run.shards.name(0)).read_text().splitlines()]
    assert [row["text"] for row in rows] == ["bad one .", "good two ."]
    assert rows[0]["reason"] == "failed: it had to"
    failed = json.loads(Path(run.shards.name(0, "-failed")).read_text())
    assert failed == {"key": [str(file), 0, 0], "source": "bad one .", "reason": "it had to"}
    run.end()
    assert not Path(run.shards.scratch).exists()


def test_a_text_that_failed_is_no_pair_and_not_counted_as_one_that_is_too_long(file: Path) -> None:
    run = begin(file, "out.tsv", silver=SilverSettings("positive"), format="tsv")
    assert write(run, 0) == {"silver_kept": 1}
    assert Path(run.shards.name(0)).read_text().count("\n") == 2  # the header, and one of two


def test_only_what_is_missing_is_left_to_do(file: Path) -> None:
    write(begin(file), 1)
    with pytest.raises(MaskerError, match="is there already; go on with `resume`"):
        begin(file)
    assert [block.shard for block in begin(file, resume=True).todo] == [0]
    with pytest.raises(MaskerError, match="a run with other inputs or options"):
        begin(file, resume=True, column="other")
    file.with_name("out.run.json").unlink()
    with pytest.raises(MaskerError, match="it is not known how"):
        begin(file, resume=True)


def test_what_is_wrong_shows_before_any_worker_starts(file: Path) -> None:
    with pytest.raises(MaskerError, match="unknown format"):
        begin(file, "out.doc")
    with pytest.raises(MaskerError, match="no file matches"):
        begin(file.with_name("none"))
    with pytest.raises(MaskerError, match="unknown domain"):
        Run.begin(Job("posative"), [str(file)], str(file.with_name("out.txt")), Files())
    assert sorted(path.name for path in file.parent.iterdir()) == ["in.txt"]


def test_what_is_no_text_is_a_failure() -> None:
    assert no_text(Unreadable(b"x", "bad JSON")).reason == "bad JSON"
    assert no_text(None).reason == "not a text but NoneType"
