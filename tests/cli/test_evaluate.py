import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from masker.cli import app, evaluate, judge  # noqa: F401  (registers the verbs)
from masker.evaluation.judges.base import Judge

FILES = {
    "neg": "the food was bad .\nit 's awful .\n",
    "neg.out": "The food was good.\nIt's awful.\n",
    "neg.ref0": "the food was good .\nit 's great .\n",
    "neg.ref1": "the food was nice .\nit 's good .\n",
    "pos": "good food .\n",
    "pos.out": "bad food .\n",
    "pos.ref0": "bad food .\n",
    "pos.ref1": "awful food .\n",
    "words.tsv": "the\t0\nfood\t1\nwas\t2\nbad\t3\ngood\t4\n.\t5\n",
}
ONE = ["--source", "neg", "--output", "neg.out", "--to", "positive"]
TWO = [*ONE, "--source", "pos", "--output", "pos.out", "--to", "negative"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MASKER_DATA", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", *arguments])


@pytest.fixture
def error(fails: Callable[..., str]) -> Callable[..., str]:
    return partial(fails, "evaluate")


def test_json_of_one_direction(folder: Path) -> None:
    corpora = {"negative": ["bad food", "awful"] * 10, "positive": ["good food", "great"] * 10}
    Judge.fit(corpora, dev={"negative": ["bad"], "positive": ["good"]}).save_pretrained(folder / "judge")
    result = run(*ONE, "--reference", "neg.ref0", "--reference", "neg.ref1", "--judge", "judge", "--judge", "judge",
                 "--paper-bleu-dict", "words.tsv", "--format", "json")  # fmt: skip
    report = json.loads(result.stdout)
    for name in (
        "exact",
        "sari",
        "bleu",
        "self_bleu",
        "paper_bleu",
        "style_accuracy",
        "copied",
        "length_ratio",
        "joint",
    ):
        assert isinstance(report[name], float)
        assert len(report[f"{name}_ci"]) == 2
    assert "fluency" not in report
    assert report["exact"] == report["style_accuracy"] == 50
    assert "tok:none" in report["bleu_signature"]
    assert [entry["style_accuracy"] for entry in report["judges"]] == [50, 50]
    assert report["judges"][0]["path"] == "judge"
    assert report["judges"][0]["dev_accuracy"] == 100
    assert report["directions"][0]["files"]["references"] == ["neg.ref0", "neg.ref1"]


@pytest.mark.parametrize("references", [["neg.ref0", "neg.ref1", "pos.ref0", "pos.ref1"], ["neg.ref?", "pos.ref?"]])
def test_two_directions_share_the_references_out_in_order(references: list[str]) -> None:
    options = [value for name in references for value in ("--reference", name)]
    report = json.loads(run(*TWO, *options, "--metric", "exact", "--format", "json").stdout)
    assert report["exact"] == 75
    assert "bleu" not in report
    files = [entry["files"]["references"] for entry in report["directions"]]
    assert files == [["neg.ref0", "neg.ref1"], ["pos.ref0", "pos.ref1"]]
    assert [entry["exact"] for entry in report["directions"]] == [50, 100]


def test_table_shows_directions_average_and_what_was_compared() -> None:
    output = run(*TWO, "--reference", "neg.ref0", "--reference", "pos.ref0").stdout
    for text in ("to positive", "to negative", "average", "self_bleu", "length_ratio", "neg -> neg.out", "nrefs:1"):
        assert text in output
    assert "average" not in run(*ONE).stdout


def test_paper_reference_and_the_dictionary_of_masker_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[..., str]
) -> None:
    assert "--paper-bleu-dict" in error(*ONE, "--reference", "neg.ref0", "--metric", "paper_bleu")
    (folder / "yelp").mkdir()
    (folder / "words.tsv").rename(folder / "yelp" / "li_bleu.dict.tsv")
    monkeypatch.setenv("MASKER_DATA", str(folder))
    figures = [
        json.loads(run(*ONE, *options, "--metric", "paper_bleu", "--format", "json").stdout)["paper_bleu"]
        for options in (["--reference", "neg.out"], ["--reference", "neg", "--paper-reference", "neg.out"])
    ]
    assert figures[0] == figures[1] > 0


def test_fluency_under_a_model_that_judge_lm_counts(error: Callable[..., str]) -> None:
    counted = CliRunner().invoke(app, ["judge", "lm", "neg", "pos", "neg.ref0", "--out", "lm"])
    assert counted.exit_code == 0, counted.output
    report = json.loads(run(*ONE, "--fluency-model", "lm", "--format", "json").stdout)
    assert report["fluency_model"] == "lm"
    assert -5 < report["fluency"] < 0
    assert "self_bleu" in report
    assert "no language model at neg" in error(*ONE, "--fluency-model", "neg")


def test_no_normalise() -> None:
    report = json.loads(run(*ONE, "--no-normalise", "--format", "json").stdout)
    assert report["normalised"] is False
    assert report["copied"] == 0


def test_mistakes_are_named(error: Callable[..., str]) -> None:
    assert "1 --source, 1 --output and 2 --to" in error(*ONE, "--to", "negative")
    assert "1 --reference" in error(*TWO, "--reference", "neg.ref0")
    assert "no file matches" in error(*ONE, "--reference", "nothing*")
    assert "known: table, json" in error(*ONE, "--format", "yaml")
    assert "unknown metric 'rouge'" in error(*ONE, "--metric", "rouge")
    assert error(*ONE, "--metric", "style_accuracy").endswith("a judge (--judge)")
    assert error(*ONE, "--metric", "bleu").endswith("a reference (--reference) for every direction")
    assert "1 lines but the source has 2" in error("--source", "neg", "--output", "pos", "--to", "positive")


def test_aligned_pairs_are_sources_and_references(folder: Path) -> None:
    columns = "coherent_first_sentence\tcoherent_second_sentence\tincoherent_first_sentence\tincoherent_second_sentence"
    header = f"{columns}\tdiscourse_type\tconnective_string\thas_coref_type_pronoun\thas_coref_type_nominal\n"
    rows = "A , but b .\t\tA .\tB .\tSINGLE_S_COORD\t, but\t0.0\t0.0\nC .\tD .\tC .\tD .\tPAIR_NONE\t\t0.0\t0.0\n"
    (folder / "dev_balanced.tsv").write_text(header + rows)
    (folder / "out.txt").write_text("a , but b .\nc . e .\n")
    shared = ("--pairs", "dev_balanced.tsv", "--output", "out.txt", "--metric", "exact", "--format", "json")
    assert json.loads(run(*shared, "--to", "fused").stdout)["exact"] == 50
    rewrites = [{"source": "A . B .", "text": "a , but b ."}, {"source": "C . D .", "text": "c . d ."}]
    (folder / "out.jsonl").write_text("".join(json.dumps(rewrite) + "\n" for rewrite in rewrites))
    as_jsonl = [word.replace(".txt", ".jsonl") for word in shared]
    assert json.loads(run(*as_jsonl, "--to", "fused").stdout)["exact"] == 100
    (folder / "out.txt").write_text("A . B .\ta , but b .\nC . D .\tc . d .\n")
    assert "has two columns" in str(run(*shared, "--to", "fused").exception)
    (folder / "out.txt").write_text("a . b .\nc . d .\n")
    assert json.loads(run(*shared, "--to", "split", "--reverse").stdout)["exact"] == 100


def test_pairs_stand_for_sources_and_references() -> None:
    for wrong in (["--output", "neg.out", "--to", "x"], [*ONE, "--pairs", "neg"]):
        assert "or --pairs alone" in str(run(*wrong).exception)
    assert "--reverse turns" in str(run(*ONE, "--reverse").exception)
    several = run("--pairs", "neg", "--output", "neg.out", "--output", "neg.out", "--to", "x")
    assert "1 --pairs, 2 --output" in str(several.exception)
