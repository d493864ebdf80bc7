import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import CORPORA

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]


def test_a_fitted_model(masker: Cli, fitted: Path, base: Path) -> None:
    result = masker("info", fitted)
    assert result.code == 0
    facts = [line.split(None, 1) for line in result.text.splitlines()]
    assert ["domains", "negative (from positive), positive (from negative)"] in facts
    assert [
        "data",
        f"negative: 80 texts, {sum(len(t.split()) for t in CORPORA['negative'])} words, not stated",
    ] in facts
    assert any(key == "span_accuracy" and float(value) > 30 for key, value in facts)
    assert f"base: {base}" in result.text
    assert "n_p" in result.text


def test_a_base(masker: Cli, base: Path) -> None:
    assert "none yet" in masker("info", base).text


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(fails: Fails, fitted: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(fitted, tmp_path / "model")
    (folder / name).unlink()
    error = fails("info", folder)
    assert name in error
    assert str(folder) in error


def test_the_embedded_model_has_a_student_and_a_critic(masker: Cli) -> None:
    told = masker("info").out.decode()
    assert "lasertagger" in told
    assert "of rewrites to civil, negative, positive; taught by" in told
