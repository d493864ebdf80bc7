"""masker fit --baseline, and the methods that it gives a model."""

from collections.abc import Callable
from pathlib import Path

import pytest
from toy import CORPORA

from masker import Masker
from masker.errors import MaskerError

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
TEXT = "the food was terrible and she was rude ."


@pytest.fixture
def domains(tmp_path: Path) -> list[str]:
    """Texts of two domains, often enough that their adjectives are salient."""
    found = []
    for name, lines in CORPORA.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        found += ["--domain", f"{name}={tmp_path / name}.txt"]
    return found


def test_baselines_are_fitted_into_a_copy_of_the_base(
    masker: Cli, domains: list[str], model_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    names = ("acmlm-frequency", "delete-template")
    named = [part for name in names for part in ("--baseline", name)]
    said = masker("fit", *domains, "--base", model_folder, "--out", out, *named)
    assert "masker edit --method acmlm-frequency" in said.err
    loaded = Masker.from_pretrained(out, device="cpu")
    assert loaded.edit(TEXT, to="positive", method="delete-template").text != TEXT
    explained = loaded.explain(TEXT, to="positive", method="delete-template").rewrite
    assert explained == loaded.edit(TEXT, to="positive", method="delete-template")
    assert loaded.edit(TEXT, to="positive", method="acmlm-frequency").method == "acmlm-frequency"
    edited = masker(
        "edit", "--model", out, "--to", "positive", "--method", "delete-template", stdin=f"{TEXT}\n".encode()
    )
    assert b"terrible" not in edited.out
    with pytest.raises(MaskerError, match="no acmlm-fusion; fit it"):
        loaded.edit(TEXT, to="positive", method="acmlm-fusion")
    with pytest.raises(MaskerError, match="`min_score` belongs to"):
        loaded.edit(TEXT, to="positive", method="delete-template", min_score=0.5)


def test_what_cannot_be_fitted_is_said_before_anything_is_written(
    fails: Fails, domains: list[str], base: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    assert "did you mean 'acmlm-fusion'" in fails("fit", *domains, "--out", out, "--baseline", "acmlm-fuson")
    assert "has no domain" in fails("fit", *domains, "--base", base, "--out", out, "--baseline", "acmlm-frequency")
    assert "two or more" in fails("fit", *domains[:2], "--out", out, "--baseline", "acmlm-frequency")
    assert not out.exists()
