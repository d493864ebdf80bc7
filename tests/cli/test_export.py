import shutil
from collections.abc import Callable
from pathlib import Path

from masker.model.folder import GRAPHS

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)


def test_an_exported_model_is_written_and_used(masker: Cli, fitted: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(fitted, tmp_path / "model")
    result = masker("export", folder)
    assert result.code == 0
    assert GRAPHS in result.err
    assert (folder / GRAPHS).is_file()
    options = ("--to", "positive", "--method", "paper", "--device", "cpu")
    stdin = b"the food was bad .\nwe will not come back .\n"
    ours = masker("edit", "--model", folder, *options, stdin=stdin)
    assert ours.code == 0
    assert len(ours.text.splitlines()) == 2


def test_a_hub_id_needs_a_folder_to_write_to(masker: Cli) -> None:
    result = masker("export", "nobody/nothing")
    assert result.code == 2
    assert "--out" in result.err
