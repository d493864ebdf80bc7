"""`make docs`: built without a warning, a page for every verb and public name, nothing loaded from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import masker

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="THE SITE IS NOT TESTED: pip install 'masker-nlp[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_verb_and_every_public_name_has_its_reference(site: Path) -> None:
    verbs = {path.stem for path in (ROOT / "masker" / "cli").glob("[a-z]*.py")} | {"pretrain"}
    assert verbs <= {path.stem for path in (site / "reference").glob("*.html")}
    edit = (site / "reference" / "edit.html").read_text("utf-8")
    assert "--min-confidence" in edit
    assert "Leave what a reader would accept less probably than this" in edit
    python = (site / "reference" / "python.html").read_text("utf-8")
    missing = [name for name in masker.__all__ if not re.search(rf'id="masker\.[\w.]*\b{name}"', python)]
    assert not missing


@pytest.mark.slow
def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        loaded = re.findall(r'(?:src="|url\(|<link[^>]+href=")(https?://[^")]+)', path.read_text("utf-8"))
        assert not loaded, path


@pytest.mark.slow
def test_every_page_of_the_documents_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    nav = (site / "how-to.html").read_text("utf-8") + home + (site / "how-it-works.html").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f'href="{page.stem}.html"' in nav, page
