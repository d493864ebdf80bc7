import json
import shutil
from collections.abc import Callable
from pathlib import Path


def test_knobs_are_found_and_saved(masker: Callable, fails: Callable, fitted: Path, here: Path) -> None:
    shutil.copytree(fitted, here / "model")
    arguments = ("--model", "model", "--domain", "negative=negative.txt", "--domain", "positive=positive.txt")
    result = masker("tune", *arguments, "--lines", "16")
    assert result.code == 0, result.err
    assert result.err.count("before: to ") == result.err.count("best: ") == 2
    assert "left alone" in result.err
    saved = json.loads((here / "model" / "masker.json").read_text())["search"]
    changed = result.err.count("best:   to ")
    assert len(saved) == changed
    assert ("wrote model" in result.err) == bool(changed)
    assert all(set(knobs) == {"strength", "max_edits", "min_score"} for knobs in saved.values())
    assert masker("edit", "negative.txt", "--to", "positive", "--model", "model").code == 0
    assert "make one with 'masker fit'" in fails("tune", "--model", "nowhere", *arguments[2:])
    assert "NAME=VALUE" in fails("tune", "--model", "model", "--domain", "negative")
