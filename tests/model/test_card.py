from pathlib import Path
from typing import Any

import pytest
from conftest import make_model

from masker.errors import MaskerError
from masker.model.card import facts, model_card
from masker.model.padded_mlm import PaddedMLM


def stage(**changes: Any) -> dict[str, Any]:
    return {
        "stage": "fit", "command": "masker fit --domain 'negative=neg.txt'", "base": "plain", "steps": 1200,
        "best_step": 1000, "seconds": 77, "device": "CPU", "date": "2026-11-15",
        "data": [{"name": "negative", "lines": 12_345, "words": 67_890, "licence": "CC BY 4.0"}],
        "settings": {"lr": 0.0002, "steps": None, "seed": 3}, "scores": {"span_accuracy": 61.25},
        "versions": {"torch": "2", "transformers": "5"}, **changes,
    }  # fmt: skip


@pytest.fixture
def model() -> PaddedMLM:
    model = make_model("bert")
    model.settings.made = [stage(stage="pretrain", base="none", command=None), stage()]
    return model


def test_the_card_says_how_it_was_made(model: PaddedMLM) -> None:
    card = model_card(model)
    header = card.split("---\n")[1]
    assert "library_name: masker" in header
    assert "pipeline_tag: fill-mask" in header
    assert "Domains: `negative`, `positive`." in card
    assert "n_p = 4" in card
    assert "### 1. pretrain, 2026-11-15" in card
    assert "### 2. fit, 2026-11-15" in card
    assert "```\nmasker fit --domain 'negative=neg.txt'\n```" in card
    assert "| negative | 12,345 | 67,890 | CC BY 4.0 |" in card
    assert "| span_accuracy | 61.25 |" in card
    assert "1200 steps in 77 s on CPU, best checkpoint at step 1000" in card
    assert "Settings: lr 0.0002, seed 3." in card
    assert "None" not in card
    assert "## Limits" in card


def test_what_people_write_does_not_break_the_table(model: PaddedMLM) -> None:
    name, licence = "a|b.txt", "two\nlines | and a bar"
    model.settings.made = [stage(data=[{"name": name, "lines": 1, "words": 2, "licence": licence}])]
    (row,) = [line for line in model_card(model).splitlines() if line.startswith("| a")]
    assert row.replace(r"\|", "").count("|") == 5
    assert row.endswith("|")


def test_a_model_without_a_past(model: PaddedMLM, tmp_path: Path) -> None:
    model.settings.made.clear()
    model.settings.domains.clear()
    assert "none yet" in model_card(model)
    assert ("domains", "none yet") in list(facts(model, "x"))


def test_the_card_is_saved_with_the_model(model: PaddedMLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text("utf-8") == model_card(model)


def test_facts(model: PaddedMLM) -> None:
    found = list(facts(model, "my model"))
    assert found[0] == ("model", "my model")
    assert ("domains", "negative (from positive), positive (from negative)") in found
    assert ("window", "48 pieces") in found
    assert ("  data", "negative: 12,345 texts, 67,890 words, CC BY 4.0") in found
    assert ("  command", "masker fit --domain 'negative=neg.txt'") in found
    assert ("  command", "Python") in found
    assert ("  span_accuracy", "61.25") in found


@pytest.mark.parametrize("wrong", ["gone", None, 5, "x", [5], {"x": []}])
def test_a_past_that_is_damaged_is_told_in_one_line(model: PaddedMLM, wrong: Any) -> None:
    said = list[str]()
    report = {"judge_lines": 1, "judge_accuracy": 2, "directions": [], "rewrites": []}
    for at in (*[("stage", key) for key in stage()], *[("data", key) for key in stage()["data"][0]], ("report", "x")):
        made = stage(report=dict(report))
        part = {"stage": made, "data": made["data"][0], "report": made["report"]}[at[0]]
        for key in report if at[0] == "report" else [at[1]]:
            part.update({key: wrong}) if wrong != "gone" else part.pop(key)
        model.settings.made = [made]
        for tell in (model_card, lambda model: list(facts(model, "x"))):
            try:
                tell(model)
            except MaskerError as error:
                said.append(str(error))
    assert all("masker.json" in line and "\n" not in line for line in said)
    assert len(said) > 10
    model.settings.made = [{"stage": "fit"}]
    with pytest.raises(MaskerError, match=r"masker\.json: made\[0\] has no 'command'; copy or make it again"):
        model_card(model)


def test_small_models_are_not_of_size_zero(model: PaddedMLM) -> None:
    (size,) = [value for name, value in facts(model, "x") if name == "architecture"]
    assert "0.0M" not in size
    assert "0.0M" not in model_card(model)
