"""examples/your-own-styles.ipynb: it runs from top to bottom, and its first outputs are what they were."""

import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NAME = "your-own-styles.ipynb"


def printed(cell: Any) -> str:
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


def test_it_is_kept_with_its_outputs_and_without_paths() -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / NAME, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.get("name") == "stderr" for cell in code for output in cell.outputs)


@pytest.mark.slow
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    shutil.copytree(EXAMPLES / "styles", tmp_path / "styles")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    kept = nbformat.read(EXAMPLES / NAME, 4)
    notebook = nbformat.read(EXAMPLES / NAME, 4)
    nbclient.NotebookClient(notebook, timeout=1800, kernel_name="python3").execute(cwd=str(tmp_path))
    code = [k for k, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    for k in code[:2]:  # what follows is trained, and may differ a little
        assert printed(notebook.cells[k]) == printed(kept.cells[k])
    assert "% before" in printed(notebook.cells[code[-1]])
