"""Documents by the embedded model: their prose is edited, and nothing else."""

import re
from pathlib import Path

import pytest

from masker.api import Masker
from masker.data.documents import Document, kind_of

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden" / "documents"


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.from_pretrained(device="cpu")


@pytest.mark.parametrize("path", [GOLDEN / "readme.md", GOLDEN / "page.html", GOLDEN / "mail.txt", ROOT / "README.md"])
def test_structure_stays(masker: Masker, path: Path) -> None:
    source, kind = path.read_bytes().decode(), kind_of(path)
    done = masker.edit_document(source, "positive", kind=kind, method="fast", keep="Masker")
    assert len(done.edits) > 3
    before, after = Document.read(source, kind), Document.read(done.text, kind)
    assert [block.shape() for block in after.blocks] == [block.shape() for block in before.blocks]
    assert source.count("Masker") == done.text.count("Masker")
    for line in re.findall(r"^(?:```|\[\w+\]: |---|<!--|title: |    this is|print).*$", source, re.MULTILINE):
        assert line in done.text


def test_the_example_of_the_docs(masker: Masker) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "documents.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    done = masker.edit_document("# Soup\n\nIt was *bland* and\ncold.\n", to="positive", kind="markdown")
    assert str(names["done"]) == done.text
    assert re.fullmatch(r"# Soup\n\nIt was [\w *]+\n?[\w *]+\.\n", done.text)
    assert done.document.position(done.edits[0].start)[0] == 3


@pytest.mark.parametrize("method", ["fast", "paper"])
def test_code_is_never_touched(masker: Masker, method: str) -> None:
    """Nor by a method that protects nothing by itself."""
    source = "The `terrible` food was `so bad` that `rm -rf` was the <code>worst</code> of it.\n"
    done = masker.edit_document(source, "positive", kind="markdown", method=method, protect="none")
    for thing in ("`terrible`", "`so bad`", "`rm -rf`", "<code>worst</code>"):
        assert thing in done.text
