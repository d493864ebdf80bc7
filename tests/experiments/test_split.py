"""The Yelp split: nothing the judges learn from is seen by the editor, and neither sees dev or test."""

import gzip
import importlib.util
import os
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from masker.data.corpora import is_judge_line

needs_data = pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="set MASKER_DATA to the data folder")
if not os.environ.get("MASKER_DATA"):  # louder than an "s" among the dots
    warnings.warn(
        "MASKER_DATA is unset, so the tests on real data are skipped: set it to the data folder", stacklevel=1
    )
NAMES = ["negative.editor.txt", "negative.judge.txt", "positive.editor.txt", "positive.judge.txt"]


def load_script() -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "yelp" / "split.py"
    spec = importlib.util.spec_from_file_location("yelp_split", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


split = load_script()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as shared/data, with 50 training lines and 5 of dev and test for each domain."""
    yelp = tmp_path / "data" / "yelp"
    yelp.mkdir(parents=True)
    for number, word in enumerate(["bad", "good"]):
        train = "".join(f"{word} food {index} .\n" for index in range(50))
        (yelp / f"sentiment.train.{number}.gz").write_bytes(gzip.compress(train.encode()))
        for part in ("dev", "test"):
            lines = "".join(f"{word} {part} {index} .\n" for index in range(5))
            (yelp / f"sentiment.{part}.{number}").write_text(lines)
    return tmp_path / "data"


def test_every_line_goes_where_its_hash_says(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    assert split.main([str(data), str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == NAMES
    for word, domain in [("bad", "negative"), ("good", "positive")]:
        lines = [f"{word} food {index} ." for index in range(50)]
        judge = (out / f"{domain}.judge.txt").read_text().splitlines()
        assert judge == [line for line in lines if is_judge_line(line)]
        assert (out / f"{domain}.editor.txt").read_text().splitlines() == [line for line in lines if line not in judge]


def test_counts_are_printed_to_stderr(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split.main([str(data), str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert printed.out == ""
    counts = dict(line.split("\t") for line in printed.err.splitlines())
    assert sorted(counts) == NAMES
    for name in NAMES:
        assert int(counts[name]) == len((tmp_path / "out" / name).read_text().splitlines())


@pytest.mark.parametrize("held", ["sentiment.dev.0", "sentiment.dev.1", "sentiment.test.0", "sentiment.test.1"])
def test_a_leaked_line_is_refused_and_nothing_written(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], held: str
) -> None:
    with open(data / "yelp" / held, "a") as file:
        file.write("Bad food  7 .\n")  # differs from the training line in case and spacing only
    assert split.main([str(data), str(tmp_path / "out")]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert f"sentiment.train.0.gz holds a line of {held}: 'bad food 7 .'" in error
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_one_line(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "yelp" / "sentiment.test.1").unlink()
    assert split.main([str(data), str(tmp_path / "out")]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "sentiment.test.1: No such file" in error


def test_a_folder_that_cannot_be_written_is_one_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("a file")
    assert split.main([str(data), str(tmp_path / "out")]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "cannot write to" in error


def test_a_failed_write_leaves_nothing_half_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text = Path.write_text

    def full(self: Path, *args: str, **kwargs: str) -> int:
        if "positive.judge" in self.name:
            write_text(self, "half")
            raise OSError(28, "No space left on device")
        return write_text(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)
    assert split.main([str(data), str(tmp_path / "out")]) == 2
    assert list((tmp_path / "out").iterdir()) == []


@needs_data
def test_the_real_data_splits_three_to_one(tmp_path: Path) -> None:
    counts = split.split(Path(os.environ["MASKER_DATA"]), tmp_path)
    assert counts["negative.editor.txt"] + counts["negative.judge.txt"] == 143_631
    assert counts["positive.editor.txt"] + counts["positive.judge.txt"] == 206_010
    assert counts["negative.judge.txt"] / 143_631 == pytest.approx(0.25, abs=0.01)
    assert counts["positive.judge.txt"] / 206_010 == pytest.approx(0.25, abs=0.01)
