"""The ablations on a made-up data folder: fits that are finished are kept, and a threshold stops edits as it should."""

import gzip
import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import make_vocabulary
from toy import CORPORA, make_base

from masker.evaluation.fluency import NgramLM
from masker.evaluation.judges.base import Judge


def load_script() -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "yelp" / "ablations.py"
    spec = importlib.util.spec_from_file_location("yelp_ablations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = load_script()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """data, base, judge and lm: 8 lines of dev and test in each direction, all rewritten by the references."""
    folder = tmp_path_factory.mktemp("ablations")
    yelp = folder / "data" / "yelp"
    yelp.mkdir(parents=True)
    sides = [CORPORA["negative"], CORPORA["positive"]]
    for i, lines in enumerate(sides):
        (yelp / f"sentiment.train.{i}.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        for name in ("sentiment.dev", "sentiment.test"):
            (yelp / f"{name}.{i}").write_text("\n".join(lines[:8]) + "\n")
        for name in ("reference0", "reference1", "reference2", "reference3", "reference.li"):
            (yelp / f"{name}.{i}").write_text("\n".join(sides[1 - i][:8]) + "\n")
    (yelp / "li_bleu.dict.tsv").write_text("the\t0\nfood\t1\nwas\t2\n")
    make_base(folder / "base", make_vocabulary("bert"))
    Judge.fit(CORPORA, dev=CORPORA).save_pretrained(folder / "judge")
    NgramLM.fit([line for lines in sides for line in lines]).save_pretrained(folder / "lm")
    return folder


def fit(folder: Path, *options: str) -> int:
    where = ["--base", str(folder / "base"), "--data", str(folder / "data"), "--out", str(folder / "out")]
    return script.main(["fit-and-edit", *where, "--steps", "2", "--batch-size", "8", *options])


def test_every_kind_of_fit_edits_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(folder, "--only", "separate", "--only", "embedding") == 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if line.startswith("fitting")] == [
        "fitting positive", "fitting negative", "fitting embedding",
    ]  # fmt: skip
    fits = json.loads((folder / "out" / "fits.json").read_text())
    assert {name: made["steps"] for name, made in fits.items()} == {"positive": 1, "negative": 1, "embedding": 2}
    saved = json.loads((folder / "out" / "models" / "embedding" / "masker.json").read_text())
    assert saved["domain_as"] == "embedding"
    for name in ("separate", "embedding"):
        for part in ("dev", "test"):
            assert len((folder / "out" / f"{name}.{part}.1.jsonl").read_text().splitlines()) == 8
    (folder / "out" / "embedding.dev.0.jsonl").unlink()
    assert fit(folder, "--only", "separate", "--only", "embedding") == 0
    assert capsys.readouterr().err.splitlines() == ["editing embedding.dev.0.jsonl"]
    assert fit(folder, "--only", "sparate") == 2
    assert "unknown variant 'sparate'; known: conditional" in capsys.readouterr().err


def test_a_threshold_stops_the_edits_one_after_the_other() -> None:
    turns = [{"text": text, "score": score} for text, score in (("one", 0.5), ("two", 0.7), ("three", 1.3))]
    for threshold, text in ((0.0, "three"), (0.3, "one"), (0.5, "none")):
        assert script._stopped("none", turns, threshold) == text
    assert script._stopped("none", [{"text": "worse", "score": -0.1}], 0.0) == "none"


def test_the_table(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    made = {"steps": 2, "seconds": 1, "device": "CPU", "span_accuracy": 12.5, "batch_size": 8}
    (out / "fits.json").write_text(json.dumps({"conditional": made}))
    for part in ("dev", "test"):
        for i, domain in enumerate(("positive", "negative")):  # all right, half of them with a high score
            edits = [{"text": text, "score": 0.75 if k % 2 else 0.25} for k, text in enumerate(CORPORA[domain][:8])]
            if part == "dev":  # the unsure ones are wrong
                edits[::2] = [{"text": "it was paris here", "score": 0.25}] * 4
            (out / f"conditional.{part}.{i}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in edits))
    arguments = ["score", "--data", folder / "data", "--out", out, "--judge", folder / "judge", "--fluency-model",
                 folder / "lm", "--report", tmp_path]  # fmt: skip
    assert script.main([str(argument) for argument in arguments]) == 0
    results = json.loads((tmp_path / "ablations.json").read_text())
    rows = {row["system"]: row for row in results["rows"]}
    assert list(rows) == ["conditional", "threshold"]
    assert "n_p_8 is not finished" in capsys.readouterr().err
    assert rows["conditional"]["test_style_accuracy"] == rows["conditional"]["test_bleu"] == pytest.approx(100)
    assert rows["threshold"]["threshold"] == 0.26  # the lowest that leaves the unsure ones out
    assert rows["threshold"]["test_copied"] == 50
    best = max(results["thresholds"]["threshold"], key=lambda trial: trial["mean"])
    assert best["mean"] == pytest.approx(math.sqrt(best["style_accuracy"] * best["self_bleu"]), abs=0.01)
    text = (tmp_path / "ABLATIONS.md").read_text()
    assert "| one edit, if its Score is above a threshold tuned on dev (0.26) | 12.5 |" in text
    assert "| conditional | 2 | 1 |" in text
