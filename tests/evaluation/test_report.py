import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from masker.errors import MaskerError
from masker.evaluation.report import METRICS, Direction, evaluate


class WordJudge:
    """Positive if the text says 'good'."""

    kind, domains, dev_accuracy = "word", ("negative", "positive"), 75.0

    def predict(self, texts: Sequence[str]) -> list[str]:
        return ["positive" if "good" in text.lower() else "negative" for text in texts]


POSITIVE = Direction(
    "positive",
    ["the food was bad .", "it 's awful , really ."],
    ["The food was GOOD.", "It's awful, really."],
    [["the food was good .", "it 's great , really ."], ["the meal was good .", "it 's nice , really ."]],
)
NEGATIVE = Direction(
    "negative", ["good food here ."], ["good food here ."], [["bad food here ."], ["awful food here ."]]
)


def test_one_direction() -> None:
    report = evaluate([POSITIVE], judges=[WordJudge()]).to_dict()
    assert report["exact"] == 50
    assert report["copied"] == 50
    assert report["style_accuracy"] == 50
    assert report["length_ratio"] == 1
    assert report["joint"] == pytest.approx((report["bleu"] * 50) ** 0.5, abs=1e-3)
    assert report["judges"][0]["dev_accuracy"] == 75
    assert "nrefs:2" in report["bleu_signature"]
    for name in set(METRICS) - {"paper_bleu", "fluency", "acceptability"}:
        low, high = report[f"{name}_ci"]
        assert low <= report[name] <= high


def test_two_directions_are_averaged_and_joint_combines_the_averages() -> None:
    report = evaluate([POSITIVE, NEGATIVE], judges=[WordJudge()]).to_dict()
    first, second = report["directions"]
    assert (first["to"], second["to"]) == ("positive", "negative")
    assert second["style_accuracy"] == 0
    for name in ("exact", "sari", "bleu", "self_bleu", "style_accuracy", "copied", "length_ratio"):
        assert report[name] == pytest.approx((first[name] + second[name]) / 2, abs=1e-3)
    assert report["joint"] == pytest.approx((report["bleu"] * report["style_accuracy"]) ** 0.5, abs=1e-3)


def test_without_normalisation_case_and_tokens_count_but_exact_stays_lower_cased() -> None:
    report = evaluate([POSITIVE], normalised=False).to_dict()
    assert report["copied"] == 0
    assert report["normalised"] is False
    same = Direction("positive", ["a"], ["Good food"], [["good Food"]])
    assert evaluate([same], metrics=["exact"], normalised=False).average["exact"].value == 100


def test_what_cannot_be_computed_is_left_out_or_refused() -> None:
    bare = Direction("positive", ["a b"], ["a c"])
    assert set(evaluate([bare]).average) == {"self_bleu", "copied", "length_ratio"}
    for name in ("bleu", "exact", "sari", "paper_bleu", "style_accuracy", "joint"):
        with pytest.raises(MaskerError, match=f"'{name}' needs .*`"):
            evaluate([bare], metrics=[name])
    with pytest.raises(MaskerError, match="unknown metric 'blue'; known: exact"):
        evaluate([bare], metrics=["blue"])


def test_paper_bleu_takes_raw_lines_and_its_own_reference() -> None:
    direction = Direction("positive", ["x"], ["Good food"], [["something else"]], ["Good food"])
    dictionary = {"Good": 0, "food": 1}
    assert evaluate([direction], metrics=["paper_bleu"], paper_dictionary=dictionary).average["paper_bleu"].value == 100


def test_fluency_sees_the_normalised_output() -> None:
    class Model:
        def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
            assert list(texts) == ["the food was good .", "it 's awful , really ."]
            return [-10.0, -12.0]

    assert evaluate([POSITIVE], fluency_model=Model()).average["fluency"].value == pytest.approx(-2)


def test_fluency_is_by_the_embedded_model_if_asked_for_without_another(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
            return [-4.0 * len(text.split()) for text in texts]

    loaded = []
    monkeypatch.setattr("masker.evaluation.report.load_language_model", lambda folder: loaded.append(folder) or Model())
    assert "fluency" not in evaluate([POSITIVE]).average
    report = evaluate([POSITIVE, NEGATIVE], metrics=["fluency", "copied"]).to_dict()
    assert report["fluency"] == -4
    assert report["fluency_model"] == "embedded"
    assert evaluate([POSITIVE], fluency_model="folder").to_dict()["fluency_model"] == "folder"
    assert loaded == [None, "folder"]


def test_lines_must_agree_and_there_must_be_some() -> None:
    with pytest.raises(MaskerError, match="output has 1 lines but the source has 2"):
        Direction("positive", ["a", "b"], ["a"])
    with pytest.raises(MaskerError, match="reference 2 has 2 lines but the source has 1"):
        Direction("positive", ["a"], ["a"], [["a"], ["a", "b"]])
    with pytest.raises(MaskerError, match="empty"):
        Direction("positive", [], [])


def test_a_judge_that_does_not_know_the_domain() -> None:
    with pytest.raises(MaskerError, match="unknown domain 'formal'; known: negative, positive"):
        evaluate([Direction("formal", ["a"], ["b"])], judges=[WordJudge()])


def test_masker_s_own_jsonl_is_read_and_not_scored_as_text(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("bad food\nrude staff\n")
    rows = [{"source": "bad food", "text": "good food"}, {"source": "rude staff", "text": "kind staff"}]
    written = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("out.jsonl", "out.txt"):
        (tmp_path / name).write_text(written)
    (tmp_path / "out.tsv").write_text("".join(f"{row['source']}\t{row['text']}\n" for row in rows))
    files = {"to": "positive", "source": tmp_path / "in.txt"}
    assert Direction.from_files(**files, output=tmp_path / "out.jsonl").outputs == ["good food", "kind staff"]
    with pytest.raises(MaskerError, match=r"has JSON in its lines.*name it \.jsonl"):
        Direction.from_files(**files, output=tmp_path / "out.txt")
    with pytest.raises(MaskerError, match="has two columns"):
        Direction.from_files(**files, output=tmp_path / "out.tsv")
