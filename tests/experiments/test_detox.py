"""Rude to civil: what the judges read is not what the editor reads, and the report has a row for everybody."""

import gzip
import importlib.util
import json
import lzma
from pathlib import Path
from types import ModuleType

import pytest

from masker.data.corpora import is_judge_line
from masker.evaluation.fluency_ngram import NgramLM
from masker.evaluation.judges.base import Judge


def load(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "detox" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"detox_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


split, report = load("split"), load("report")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as shared/data, in which a line of the test set has got into the civil comments."""
    detox = tmp_path / "data" / "detox"
    detox.mkdir(parents=True)
    test = [f"you silly person number {k} !" for k in range(8)]
    files = {
        "train.toxic": [f"you fool , edit {k} is bad ." for k in range(60)],
        "train.civil": [f"thank you , edit {k} is fine ." for k in range(60)] + test[:1],
        "dev.toxic": ["you fool ."],
        "dev.civil": ["thank you ."],
        "test.toxic": test,
        "peers.condbert": ["you nice person !"] * 8,
        "peers.paragedi": ["Thank you."] * 8,
    }
    for name, lines in files.items():
        (detox / f"{name}.txt.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return tmp_path / "data"


def test_judges_and_editor_read_other_comments(data: Path, tmp_path: Path) -> None:
    assert split.main([str(data), str(tmp_path / "out")]) == 0
    for domain, count in (("toxic", 60), ("civil", 60)):  # without the line of the test set
        editor, judge = (
            (tmp_path / "out" / f"{domain}.{use}.txt").read_text().splitlines() for use in ("editor", "judge")
        )
        assert len(editor) + len(judge) == count
        assert not any(map(is_judge_line, editor))
        assert all(map(is_judge_line, judge))
    assert split.main([str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 2


def test_a_row_for_everybody(data: Path, tmp_path: Path) -> None:
    corpora = {"toxic": [f"you fool {k} ." for k in range(40)], "civil": [f"thank you {k} ." for k in range(40)]}
    Judge.fit(corpora).save_pretrained(tmp_path / "judge")
    NgramLM.fit(line for lines in corpora.values() for line in lines).save_pretrained(tmp_path / "lm")
    sources = [f"you silly person number {k} !" for k in range(8)]
    edit = {"start": 4, "end": 9, "old": "silly", "new": "nice", "score": 1.0}
    rewrites = [{"source": s, "text": s.replace("silly", "nice"), "edits": [edit]} for s in sources[:5]]
    rewrites += [
        {"source": s, "text": s, "edits": [], "reason": "it reads as civil already (0.95)"} for s in sources[5:]
    ]
    lines = "".join(json.dumps(rewrite) + "\n" for rewrite in rewrites)
    (tmp_path / "masker.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    judges = ["--judge", str(tmp_path / "judge")] * 2
    given = ["--data", str(data), "--predictions", str(tmp_path / "masker.jsonl.xz"), *judges]
    assert report.main([*given, "--fluency-model", str(tmp_path / "lm"), "--out", str(tmp_path / "out")]) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["system"] for row in results["rows"]] == ["Masker", "condBERT", "ParaGeDi", "copy"]
    assert [row["copied"] for row in results["rows"]] == [37.5, 0.0, 0.0, 100.0]
    assert results["left_alone"] == {"it reads as civil already": 3}
    text = (tmp_path / "out" / "RESULTS.md").read_text()
    assert "| Masker | " in text
    assert "you nice person number 0 !" in text
    assert "- 3: it reads as civil already" in text
