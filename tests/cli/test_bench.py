import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import make_model

from masker import bench as b
from masker.bench.flops import Shape
from masker.bench.texts import RAW, sample
from masker.model.folder import exported_folder

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)


@pytest.mark.slow
def test_every_way_is_timed_on_the_same_texts(masker: Cli, fitted: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_text("the food was bad .\nthe staff was rude .\n")
    result = masker("bench", "--model", fitted, "--file", file, "--count", "2", "--format", "json",
                    "--plot", tmp_path / "growth.png")  # fmt: skip
    assert result.code == 0, result.err
    found = json.loads(result.text)
    ways = {row["way"]: row for row in found["ways"]}
    assert set(ways) >= {"naive", "batched", "exhaustive", "pruned", "int8 exhaustive", "int8 pruned", "search"}
    assert result.err.splitlines()[0] == "exporting"
    assert not exported_folder(fitted)
    assert ways["search"]["passes"] > ways["exhaustive"]["passes"]
    assert ways["search"]["same_edits"] is None  # another method
    for name in ("naive", "batched", "pruned"):
        assert ways[name]["same_edits"] == 1
    assert ways["naive"]["passes"] == ways["exhaustive"]["passes"] > ways["pruned"]["passes"]
    assert ways["naive"]["ratio"] == 1
    assert all(row["per_second"] > 0 and row["peak_mb"] > 0 for row in ways.values())
    assert [row["words"] for row in found["growth"] if row["words"]] == list(b.LENGTHS)
    assert [row["words"] for row in found["raw"]] == [len(text.split()) for text in RAW]
    assert all(row["search"] > 0 and "fast" not in row for row in found["raw"])  # it has no student
    assert found["first"] == {}  # it has no graphs of its own
    assert (tmp_path / "growth.png").stat().st_size > 1000
    assert "| pruned |" in b.table(found)


def test_a_model_that_cannot_be_exported_is_not_timed_in_int8(tmp_path: Path) -> None:
    model = make_model()
    model.settings.domain_as = "embedding"
    model.save_pretrained(tmp_path / "model")
    said: list[str] = []
    texts = ["the food was bad ."]
    ways = ("exhaustive", "int8 pruned")
    found = b.bench(texts, model=str(tmp_path / "model"), ways=ways, growth=False, report=said.append)
    assert [row["way"] for row in found["ways"]] == ["exhaustive"]
    assert "not timed in int8" in said[1]
    assert "--domain-as token" in said[1]


def test_nothing_to_time_is_one_line(masker: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    result = masker("bench", "--file", tmp_path / "empty")
    assert result.code == 2
    assert "nothing to time" in result.err


def test_sample_texts_are_short_reviews() -> None:
    texts = sample(20)
    assert texts == sample(20)
    assert len(set(texts)) > 10
    assert all(4 <= len(text.split()) <= 14 for text in texts)


def test_useful_operations_count_the_last_layer_for_the_masks_only() -> None:
    shape = Shape(layers=2, hidden=8, inner=32, pieces=100)
    one = 2 * 10 * (4 * 64 + 2 * 8 * 32)  # a whole layer of ten tokens
    last = 2 * 10 * 2 * 64 + 2 * 4 * (2 * 64 + 2 * 8 * 32)
    head = 2 * 4 * (64 + 8 * 100)
    attention = 4 * 10 * 8 * (10 + 4)
    assert shape.flops(tokens=10, rows=1, slots=4) == pytest.approx(one + last + head + attention)
