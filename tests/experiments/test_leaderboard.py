"""The Yelp leaderboard on a made-up data folder: every set is scored, ranked by joint, and written out for people."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from masker.evaluation.judges.base import Card, Judge


def load_script() -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "yelp" / "leaderboard.py"
    spec = importlib.util.spec_from_file_location("yelp_leaderboard", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()
SOURCES = [["the food here was bad .", "a bad place to eat ."], ["the food here was good .", "a good place to eat ."]]
REFERENCES = [SOURCES[1], SOURCES[0]]
HALF = [[REFERENCES[0][0], SOURCES[0][1]], [REFERENCES[1][0], SOURCES[1][1]]]  # first line right, second one copied


class WordJudge:
    """Positive if the text has the word."""

    domains, dev_accuracy = ("negative", "positive"), 75.0

    def __init__(self, kind: str, word: str) -> None:
        self.kind, self.word = kind, word
        self.card = Card(kind, self.domains, True, train_lines=8, dev_lines=4, dev_accuracy=75.0)

    def predict(self, texts: Sequence[str]) -> list[str]:
        return ["positive" if self.word in text else "negative" for text in texts]


JUDGES = [WordJudge("ngram", "food here was good"), WordJudge("transformer", "good")]


def put(folder: Path, name: str, sides: Sequence[Sequence[str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, lines in enumerate(sides):
        (folder / name.format(number)).write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    yelp = tmp_path / "data" / "yelp"
    put(yelp, "sentiment.test.{}", SOURCES)
    put(yelp, "reference.li.{}", REFERENCES)
    for k in range(4):
        put(yelp, f"reference{k}.{{}}", REFERENCES)
    put(yelp / "peers", "Human0.{}.txt", REFERENCES)
    put(yelp / "peers", "ACMLM_ft_x.{}.txt", [["a really good place ."] * 2, ["a really bad place to eat ."] * 2])
    words = sorted({word for lines in SOURCES for line in lines for word in line.split()})
    (yelp / "li_bleu.dict.tsv").write_text("".join(f"{word}\t{i}\n" for i, word in enumerate(words)))
    return tmp_path / "data"


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    put(tmp_path / "predictions", "masker_paper.{}.txt", HALF)
    return tmp_path / "predictions"


def test_rows_judges_and_samples(data: Path, predictions: Path) -> None:
    results = script.leaderboard(data, predictions, JUDGES)
    rows = {row["system"]: row for row in results["rows"]}
    assert [row["kind"] for row in results["rows"]] == ["human", "masker", "system", "copy"]
    assert rows["Human0"]["joint"] == pytest.approx(100)
    masker = rows["masker_paper"]
    assert masker["style_accuracy"] == masker["copied"] == 50  # by the transformer, although it came second
    assert masker["joint"] == pytest.approx((50 * masker["bleu"]) ** 0.5, abs=0.01)
    assert [part["to"] for part in masker["directions"]] == ["positive", "negative"]
    assert [part["style_accuracy_ngram"] for part in masker["directions"]] == [50, 100]
    assert rows["copy of the input"]["self_bleu"] == pytest.approx(100)
    assert rows["copy of the input"]["style_accuracy"] == 0
    assert rows["ACMLM_ft_x"]["picked_on_test"]
    assert [judge["name"] for judge in results["judges"]] == ["judges/transformer", "judges/ngram"]
    correct = results["samples"]["correct"]
    assert correct["of"] == 2
    assert {line["prediction"] for line in correct["lines"]} == {HALF[0][0], HALF[1][0]}
    assert results == script.leaderboard(data, predictions, JUDGES)


def test_correct_needs_every_judge(data: Path, predictions: Path) -> None:
    stubborn = WordJudge("ngram", "")  # everything is positive
    found = script.leaderboard(data, predictions, [*JUDGES, stubborn])["samples"]
    assert [line["to"] for line in found["correct"]["lines"]] == ["positive"]
    assert found["incorrect"]["of"] == 3


def test_what_is_written(data: Path, predictions: Path, tmp_path: Path) -> None:
    results = script.leaderboard(data, predictions, JUDGES)
    script.write(results, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    text = (tmp_path / "out" / "RESULTS.md").read_text()
    assert "| **1** | **masker_paper** |" in text
    assert "|  | Human0 (human) |" in text
    assert "| 2 | `ACMLM_ft_x` (picked on test) |" in text
    assert "| `judges/transformer` | `style_accuracy` | 8 | 4 | 75.00 |" in text
    assert "| prediction | the food here was good . |" in text
    assert "is above the 40.9 printed" in text
    assert str(tmp_path) not in text
    assert (tmp_path / "out" / "leaderboard.png").read_bytes().startswith(b"\x89PNG")


def test_models_of_base_size_are_told_of_once_they_are_made(data: Path, predictions: Path, tmp_path: Path) -> None:
    put(predictions, "masker_base_ablation.{}.txt", HALF)
    results = script.leaderboard(data, predictions, JUDGES)
    assert "Not run yet" in script.markdown(results, {})
    stage = {"seconds": 7, "steps": 500, "best_step": 400, "device": "H200", "data": [{"lines": 1234}]}
    made = [
        stage | {"scores": {"span_accuracy": score}, "settings": {"lr": 3e-5, "batch_size": 2048}} for score in (31, 42)
    ]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "base.json").write_text(json.dumps({"base": made}))
    script.write(results, tmp_path / "out")
    text = (tmp_path / "out" / "RESULTS.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("| `base` | ablation |")]
    assert line.endswith("| 42.00 | 3e-05 | 2,048 | 400 of 500 | 7 |")
    figures = ("paper_bleu", "style_accuracy", "style_accuracy_ngram")
    row = next(row for row in results["rows"] if row["system"] == "masker_base_ablation")
    assert line.split(" | ")[2:5] == [f"{row[name]:.2f}" for name in figures]
    assert "1,234 lines of plain text, where its span accuracy is 31.00; all on one H200" in text


def test_only_what_has_changed_is_scored_again(
    data: Path, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Model:
        def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
            return [-3.0 * len(text.split()) for text in texts]

    def scored(version: str, earlier: object) -> tuple[dict[str, object], list[str]]:
        found = script.leaderboard(data, predictions, JUDGES, Model(), version=version, earlier=earlier)
        return found, [line.removeprefix("scoring ") for line in capsys.readouterr().err.splitlines()]

    first, names = scored("1", None)
    assert names == ["copy of the input", "ACMLM_ft_x", "Human0", "masker_paper"]
    assert {row["fluency"] for row in first["rows"]} == {-3}
    assert scored("1", first) == (first, [])
    put(predictions, "masker_new.{}.txt", HALF)
    put(predictions, "masker_paper.{}.txt", REFERENCES)
    second, names = scored("1", first)
    assert names == ["masker_new", "masker_paper"]
    assert second["samples"]["correct"]["of"] == 3  # drawn anew: the n-gram judge refuses one line
    assert second["rows"] == scored("1", None)[0]["rows"]
    assert len(scored("2", second)[1]) == 5  # another judge: everything


def test_command_line(data: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpora = {"negative": SOURCES[0] * 20, "positive": SOURCES[1] * 20}
    Judge.fit(corpora, dev=corpora).save_pretrained(tmp_path / "judge")
    arguments = ["--data", data, "--judge", tmp_path / "judge", "--predictions", predictions, "--out", tmp_path / "out"]
    assert script.main([str(argument) for argument in arguments]) == 0
    rows = json.loads((tmp_path / "out" / "results.json").read_text())["rows"]
    assert {row["system"]: row["style_accuracy"] for row in rows}["masker_paper"] == 50

    (predictions / "masker_paper.1.txt").unlink()
    assert script.main([str(argument) for argument in arguments]) == 2
    assert "masker_paper.1.txt" in capsys.readouterr().err.splitlines()[-1]
    (predictions / "masker_paper.0.txt").unlink()
    assert script.main([str(argument) for argument in arguments]) == 2
    assert "no output sets" in capsys.readouterr().err.splitlines()[-1]
