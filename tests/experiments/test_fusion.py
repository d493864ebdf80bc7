"""The fusion experiment on a made-up corpus: disjoint parts, and a table whose figures are those of the outputs."""

import gzip
import importlib.util
import json
import lzma
import os
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from masker.core.edits import Rewrite
from masker.data.pairs import AlignedPair, read_pairs
from masker.errors import MaskerError

HEADER = (
    "coherent_first_sentence\tcoherent_second_sentence\tincoherent_first_sentence\tincoherent_second_sentence\t"
    "discourse_type\tconnective_string\thas_coref_type_pronoun\thas_coref_type_nominal\n"
)


def load_script(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "fusion" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"fusion_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prepare, run = load_script("prepare"), load_script("run")


def rows(n: int, word: str = "w") -> str:
    """Fused pairs; every tenth has the second sentence of the row before."""
    lines = []
    for i in range(n):
        a, b = f"{word}{i} came", f"{word}{i - (i % 10 == 9)} went"
        lines.append(f"{a} and {b} .\t\t{a} .\t{b} .\tSINGLE_S_COORD\tand\t0.0\t0.0\n")
    return HEADER + "".join(lines)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "fusion"
    folder.mkdir(parents=True)
    (folder / "train.tsv.xz").write_bytes(lzma.compress(rows(100).encode()))
    same = "d came .\td went .\td came .\td went .\tPAIR_NONE\t\t0.0\t0.0\n"
    (folder / "dev.tsv.gz").write_bytes(gzip.compress((rows(9, "d") + same).encode()))
    leaked = rows(9, "t") + "x and w5 came .\t\tx .\tw5 came .\tSINGLE_S_COORD\tand\t0.0\t0.0\n"
    (folder / "test.tsv.gz").write_bytes(gzip.compress(leaked.encode()))
    return tmp_path / "data"


def words(path: Path) -> set[str]:
    """Those that tell sentences apart: w0, w1 ..."""
    return {word for word in path.read_text().split() if word[1:].isdigit()}


def test_the_parts_share_no_sentence(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert prepare.main([str(data), str(out), "--silver", "20", "--gold", "5", "30"]) == 0
    counts = {path.name: len(path.read_text().splitlines()) for path in out.iterdir()}
    assert counts["gold.5.tsv"] == 6
    assert counts["gold.30.tsv"] == 31
    assert counts["silver.fused.txt"] == 20
    assert abs(counts["fit.split.txt"] - counts["fit.fused.txt"]) <= 2
    assert counts["fit.split.txt"] + counts["fit.fused.txt"] == 100 - 50 - 1  # w5 is in test
    parts = [out / name for name in ("gold.30.tsv", "silver.fused.txt", "fit.split.txt", "fit.fused.txt")]
    found = [words(path) for path in parts]
    for one, other in combinations(found, 2):
        assert not one & other
    assert not any("w5" in part for part in found)
    assert (out / "gold.30.tsv").read_text().startswith((out / "gold.5.tsv").read_text())
    assert all(" and " in line for line in (out / "fit.fused.txt").read_text().splitlines())
    assert not any(" and " in line for line in (out / "fit.split.txt").read_text().splitlines())
    assert all(pair.type for pair in read_pairs(out / "gold.5.tsv"))


def test_the_same_parts_each_time_and_too_few_rows(data: Path, tmp_path: Path, capsys: Any) -> None:
    for name in ("a", "b"):
        assert prepare.main([str(data), str(tmp_path / name), "--silver", "20", "--gold", "30"]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    capsys.readouterr()
    assert prepare.main([str(data), str(tmp_path / "c"), "--silver", "80", "--gold", "30"]) == 2
    assert capsys.readouterr().err == "error: 100 rows are too few for 30 gold and 80 silver ones and the rest\n"


# -- Table 1 -----------------------------------------------------------------------------------------------------------


class Stub:
    """Fuses with `and`; without SourceScore it changes nothing; on the way back it always errs."""

    def edit_stream(
        self, texts: Iterable[str], to: str, from_: str, method: str, source_score: bool = True
    ) -> Iterator[Rewrite]:
        assert {to, from_} == {"split", "fused"}
        assert method == "paper"
        for text in texts:
            fused = text.replace(" . ", " and ") if source_score else text
            yield Rewrite(text, fused if to == "fused" else "wrong", from_, to)


@pytest.fixture
def pairs(data: Path) -> list[AlignedPair]:
    return list(read_pairs(data / "fusion" / "dev.tsv.gz"))


def test_rows_and_figures(pairs: list[AlignedPair], tmp_path: Path) -> None:
    run.predict(Stub(), pairs, run.TABLE_1, tmp_path / "predictions", "stub")
    results = run.score(pairs, tmp_path / "predictions")
    exact = {row["system"]: row["exact"] for row in results["rows"]}
    assert exact == {"copy": 10, "paper": 90, "ablation": 10, "reverse_copy": 10, "reverse": 0}
    (paper,) = (row for row in results["rows"] if row["system"] == "paper")
    assert paper["changed"]["exact"] == 100
    assert {kind: part["exact"] for kind, part in paper["types"].items()} == {"PAIR_NONE": 0, "SINGLE_S_COORD": 100}
    assert paper["exact_ci"][0] < 90 < paper["exact_ci"][1]
    assert paper["samples"]["correct"]["of"] == 9
    assert paper["samples"]["incorrect"]["of"] == 0
    assert paper["made"]["model"] == "stub"

    run.write(results, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["rows"] == json.loads(json.dumps(results))["rows"]
    text = (tmp_path / "RESULTS.md").read_text()
    assert "| Masker, split → fused | 10 | 12.65 | 90.00 (" in text
    assert "| Masker, fused → split | 10 | 23.18 | 0.00 (" in text
    assert "SourceScore makes a difference of +80.00 points Exact (in the paper +10.51)" in text
    assert "| SINGLE_S_COORD | 9 | 0.0 | 100.0 |" in text
    assert "| prediction | d0 came and d0 went . |" in text
    assert str(tmp_path) not in text


def test_only_scoring_and_what_can_go_wrong(data: Path, pairs: list[AlignedPair], tmp_path: Path, capsys: Any) -> None:
    run.predict(Stub(), pairs, ["paper"], tmp_path / "predictions", "stub")
    arguments = ["--data", str(data), "--out", str(tmp_path)]
    assert run.main(arguments) == 0
    assert len(json.loads((tmp_path / "results.json").read_text())["rows"]) == 3
    capsys.readouterr()
    assert run.main([*arguments, "--limit", "4"]) == 2
    assert "10 lines for 4 texts" in capsys.readouterr().err
    with pytest.raises(MaskerError, match="10 lines for 3"):
        run.score(pairs[:3], tmp_path / "predictions")


def test_predictions_may_cover_only_the_first_texts(pairs: list[AlignedPair], tmp_path: Path) -> None:
    run.predict(Stub(), pairs[:4], ["paper"], tmp_path / "predictions", "stub")
    results = run.score(pairs, tmp_path / "predictions")
    assert {row["system"]: row["lines"] for row in results["rows"]} == {"copy": 10, "paper": 4, "reverse_copy": 10}
    run.write(results, tmp_path)
    assert "| Masker, split → fused | 4 |" in (tmp_path / "RESULTS.md").read_text()


@pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="set MASKER_DATA to the data folder")
def test_the_real_corpus(tmp_path: Path) -> None:
    assert prepare.main([os.environ["MASKER_DATA"], str(tmp_path)]) == 0
    fused = set((tmp_path / "silver.fused.txt").read_text("utf-8").split("\n"))
    gold = list(read_pairs(tmp_path / "gold.45000.tsv"))
    assert len(fused) == 46_001
    assert len(gold) == 45_000
    assert not fused & {pair.target for pair in gold}
