"""The low-resource experiment with made-up students: which cells are run, that a killed run goes on, and the tables."""

import gzip
import importlib.util
import json
import operator
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from masker.errors import MaskerError
from masker.students.base import Pair, StudentSettings

FOLDER = Path(__file__).parents[2] / "experiments" / "low_resource"
TEST = [Pair(f"a{i} . b{i} .", f"a{i} and b{i} .") for i in range(40)] + [Pair("same .", "same .")] * 10
SILVER = [Pair("s . t .", "s and t .")] * 30
GOLD = [Pair("g . h .", "g and h .")] * 16
HOW = {"to": "split", "options": {"method": "paper"}, "made_by": {"model": "m"}}


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))  # as where run.py is the script
    spec = importlib.util.spec_from_file_location("run", FOLDER / "run.py")  # by which name other processes find it
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))
    del sys.modules[spec.name], sys.modules["report"], sys.modules["teacher"]


class Stub:
    """Gets as many of the test texts right as it has seen pairs; untrained it gets none right."""

    log: ClassVar[list[tuple[Any, ...]]] = []
    created: ClassVar[list[tuple[str, int]]] = []

    def __init__(self, kind: str, seen: int = 0) -> None:
        self.kind, self.seen, self.card = (
            kind,
            seen,
            {"made": [{"steps": 1, "lr": 0.1, "scores": {"exact": 0.0}}] * (seen > 0)},
        )

    def create(self, base: str | None, pairs: Sequence[Pair], *, settings: StudentSettings) -> "Stub":
        self.created.append((self.kind, len(pairs)))
        return Stub(self.kind)

    def fit(self, pairs: Sequence[Pair], *, settings: StudentSettings, dev: Sequence[Pair] | None = None) -> None:
        self.log.append((self.kind, self.seen, len(pairs), settings.batch_size, settings.steps, dev is not None))
        self.seen += len(pairs)
        self.card["made"].append({"steps": settings.steps, "lr": settings.lr, "scores": {"exact": settings.lr}})

    def edit(self, texts: Sequence[str]) -> list[str]:
        return [text.replace(" . ", " and ") if i < self.seen else "wrong" for i, text in enumerate(texts)]

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "student.json").write_text(json.dumps([self.kind, self.seen]))

    @staticmethod
    def from_pretrained(folder: Path, device: str | None = None) -> "Stub":
        return Stub(*json.loads((folder / "student.json").read_text()))


@pytest.fixture
def lab(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr(script, "student_class", Stub)
    monkeypatch.setattr(script, "Student", Stub)
    monkeypatch.setattr(Stub, "log", [])
    monkeypatch.setattr(Stub, "created", [])
    return script.Lab(script.Plan(gold=(0, 4, 8, 16)), None, GOLD, TEST[:3], TEST, tmp_path)


def exact(cells: list[dict[str, Any]]) -> dict[tuple[str, int, bool], float]:
    return {(cell["student"], cell["gold"], cell["silver"]): cell["exact"] for cell in cells}


def test_every_cell_once_and_silver_learnt_once_a_kind(script: ModuleType, lab: Any) -> None:
    lab.run(SILVER)
    found = exact(script.read_cells(lab.out))
    assert len(found) == 24
    assert [cell[:2] for cell in lab.cells()[:3]] == [("bert2bert", 0), ("felix", 0), ("lasertagger", 0)]
    assert [found["felix", n, False] for n in (0, 4, 8, 16)] == [0, 8, 16, 32]
    assert [found["felix", n, True] for n in (0, 4, 8, 16)] == [60, 68, 76, 92]
    felix = [entry[1:3] for entry in Stub.log if entry[0] == "felix"]
    assert sorted(felix) == [(0, 4), (0, 8), (0, 16), (0, 30), (30, 4), (30, 8), (30, 16)]
    assert all(
        entry[-1] == (entry[2] != 30) for entry in Stub.log
    )  # no gold pair has a say in what is learnt of silver
    phrases = [pairs for kind, pairs in Stub.created if kind == "lasertagger" and pairs >= 30]
    assert sorted(phrases) == [30, 34, 38, 46]  # it knows the phrases of all pairs that it is to learn
    assert len(list((lab.out / "predictions").iterdir())) == 24
    results = script.summarise(lab.out, TEST)
    assert exact(results["cells"]) == found
    shutil.rmtree(lab.out / "predictions")
    (lab.out / "results.json").write_text(json.dumps(results))
    again = script.summarise(lab.out, TEST)  # out of predictions.tsv.xz, and results.json where nothing was right
    assert json.dumps(again) == json.dumps(results)
    with pytest.raises(MaskerError, match="50 outputs for 3 texts"):
        script.summarise(lab.out, TEST[:3])


def test_batch_sizes_are_the_papers(script: ModuleType) -> None:
    plan = script.Plan()
    sizes = [plan.settings("felix", stage).batch_size for stage in ("silver", "450", "4500", "45000")]
    assert sizes == [256, 32, 64, 128]
    assert [script._stage(n) for n in (10, 450, 4_500, 45_000)] == ["450", "450", "4500", "45000"]
    assert plan.settings("bert2bert", "450").lr != 3e-5
    assert script.Plan(steps=0.5).settings("felix", "450").steps * 2 == plan.settings("felix", "450").steps


def test_a_killed_run_goes_on(script: ModuleType, lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    edit, left = Stub.edit, 10

    def dies(self: Stub, texts: Sequence[str]) -> list[str]:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return edit(self, texts)

    monkeypatch.setattr(Stub, "edit", dies)
    with pytest.raises(KeyboardInterrupt):
        lab.run(SILVER)
    path = lab.out / "cells.jsonl"
    before = path.read_text()
    assert before.count("\n") == 10
    path.write_text(before + '{"student": "fel')  # killed while it wrote
    left = 99
    lab.run(SILVER)
    assert left == 99 - 14
    assert path.read_text().startswith(before)
    assert len(exact(script.read_cells(lab.out))) == 24
    assert sum(entry[2] == 30 for entry in Stub.log) == 6  # felix, bert2bert, four of lasertagger


def test_tables_and_plot(script: ModuleType, lab: Any, tmp_path: Path) -> None:
    lab.run(SILVER)
    results = script.summarise(tmp_path, TEST)
    assert results["copy"]["exact"] == 20
    gains = {(gain["student"], gain["gold"]): gain for gain in results["gains"]}
    assert gains["felix", 4]["exact"] == pytest.approx(60)
    assert gains["average", 0]["exact"] == pytest.approx(60)
    low, high = gains["felix", 4]["exact_ci"]
    assert low < 60 < high
    script.report.write(results, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["gains"] == results["gains"]
    text = (tmp_path / "RESULTS.md").read_text()
    assert "| LaserTagger | 0.00 (0.0 to 0.0) | 0.00 | 8.00 (" in text
    assert "| + silver pairs | 60.00 (" in text
    assert ") | 19.61 | 68.00 (" in text
    assert "| **average**, paper | +16.96 |" in text
    assert "Exact is higher beyond the interval at 0 gold pairs for 3 of 3 students, at 4 gold pairs for 3 of 3" in text
    assert "| FelixInsert, paper | +18.22 |" in text
    assert "forget" not in text
    results["cells"][-1]["exact"] = 1.5  # Bert2Bert with all gold and silver pairs
    assert "forget: Bert2Bert falls from 60.00 to 1.50 with 16 gold pairs." in script.report.markdown(results)
    assert "| Bert2Bert | 16 | yes | 1 + " in text
    assert str(tmp_path) not in text
    assert (tmp_path / "exact.png").read_bytes().startswith(b"\x89PNG")


def test_unfinished_results_say_so(script: ModuleType, lab: Any, tmp_path: Path) -> None:
    lab._run("felix", 0, False, SILVER)
    lab._run("felix", 4, True, SILVER)
    script.report.write(script.summarise(tmp_path, TEST), tmp_path)
    assert "not run" in (tmp_path / "RESULTS.md").read_text()


def test_command_line(
    script: ModuleType, lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fusion = tmp_path / "data" / "fusion"
    fusion.mkdir(parents=True)
    table = "source\ttarget\n" + "".join(f"{pair.source}\t{pair.target}\n" for pair in TEST)
    for name in ("dev", "test"):
        (fusion / f"{name}.tsv.gz").write_bytes(gzip.compress(table.encode()))
    (tmp_path / "gold.45000.tsv").write_text(table)
    monkeypatch.setattr(script, "write_pairs", lambda *_, **how: SILVER)
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path / "data"), "--parts", str(tmp_path), "--out", str(out), "--students", "felix"]
    assert script.main([*arguments, "--tiny", "--no-report"]) == 0
    assert len(script.read_cells(out)) == 8
    assert not (out / "RESULTS.md").exists()
    assert script.main([*arguments, "--tiny", "--report"]) == 0
    assert (out / "RESULTS.md").is_file()
    capsys.readouterr()
    assert script.main(["--data", "nowhere", "--parts", "x", "--out", str(out)]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_silver_in_pieces(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def write(path: Path, *how: Any) -> dict[str, Any]:
        lines = path.with_suffix(".txt").read_text().splitlines()
        asked.append(how)
        path.write_text("source\ttarget\n" + "".join(f"split {line}\t{line}\n" for line in lines[1:]))
        return {"settings": HOW, "lines": len(lines), "kept": len(lines) - 1, "dropped": {"unchanged": 1}}

    monkeypatch.setattr(sys.modules["teacher"], "_write_piece", write)
    (tmp_path / "texts").write_text("".join(f"text {k}\n" for k in range(40)))
    for _ in range(2):  # the second time they are there
        pairs = script.write_pairs("m", tmp_path / "texts", tmp_path, method="paper", limit=32, device=None, workers=1)
        assert pairs == [Pair(f"split text {k}", f"text {k}") for k in range(32) if k % 4]
    assert asked == [("m", None, "paper")] * 8
    assert (tmp_path / "silver.tsv").read_text().count("source\ttarget\n") == 1
    with pytest.raises(MaskerError, match="another model or method"):
        script.write_pairs("m", tmp_path / "texts", tmp_path, method="search", limit=32, device=None, workers=1)
    state = json.loads((tmp_path / "silver.tsv.json").read_text())
    assert state == {"settings": HOW, "texts": 40, "lines": 32, "kept": 24, "dropped": {"unchanged": 8}}
    said = script.report._silver(state)
    assert "24 pairs out of 32 fused texts; the others gave none (8 unchanged). The 8 other texts" in said


def test_processes_share_the_items(script: ModuleType) -> None:
    for workers in (1, 2):
        assert script.share(operator.sub, [5, 6, 7], workers, 1) == [4, 5, 6]
