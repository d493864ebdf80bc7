"""`masker page`: the files that it writes, and that its JavaScript does what the package does."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE

from masker.api import Masker
from masker.core.candidates import placed
from masker.core.segments import passages
from masker.core.spans import enumerate_spans, protected_words
from masker.errors import MaskerError
from masker.model.folder import EMBEDDED
from masker.runtime.graphs import Graphs
from masker.web.site import POLICY, check, write_site

HERE = Path(__file__).parent


# what the light install has not
ABSENT = ("torch", "transformers", "sklearn", "onnx", "fastapi", "uvicorn", "prometheus_client")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by the command line, which needs the light install alone."""
    folder = tmp_path_factory.mktemp("page") / "site"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({ABSENT})); from masker.cli import main; "
        f"sys.argv = ['masker', 'page', '--out', {str(folder)!r}]; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"wrote \d+ files, \d+ MB; try it: python -m http.server --directory \S+\n", ran.stderr)
    return folder


def test_all_is_there_and_small(site: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in site.iterdir()}
    told = json.loads((site / "model.json").read_text("utf-8"))
    assert told["sizes"].items() <= sizes.items()
    weights = sum(sizes[name] for name in ("embeddings.safetensors", "model.onnx", "student.onnx", "vocabulary.txt"))
    assert weights < 36_000_000
    assert sum(sizes.values()) < 50_000_000
    assert (site / "ort.wasm").read_bytes()[:4] == b"\0asm"
    assert not [path for path in site.iterdir() if path.is_dir() or path.suffix == ".xz"]
    assert "Permission is hereby granted" in (site / "ort.LICENSE.txt").read_text("utf-8")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in page
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert "unsafe-inline" not in POLICY
    assert not re.findall(r"<script(?![^>]*src=)|\sstyle=|\son\w+=", page)
    modules = {path.name for path in site.glob("*.js")}
    for path in site.glob("*.js"):
        if not path.name.startswith("ort"):
            source = path.read_text("utf-8")
            assert "http" not in re.sub(r"https\?://|`https", "", source), path.name
            assert set(re.findall(r'from "\./([^"]+)"', source)) <= modules, path.name


def test_tasks_are_those_of_the_model(site: Path) -> None:
    told = json.loads((site / "model.json").read_text("utf-8"))
    ways = {(task["from"], task["to"]): task["methods"] for task in told["tasks"]}
    assert ways["negative", "positive"] == ways["positive", "negative"] == ways["toxic", "civil"] == ["fast", "paper"]
    assert not any(to == "toxic" for _, to in ways)
    assert "great" in told["forbid"]["civil"]


@pytest.mark.slow
def test_it_is_written_again_over_itself(site: Path) -> None:
    before = (site / "model.json").read_bytes()
    write_site(site)
    assert (site / "model.json").read_bytes() == before


def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MaskerError, match="is a file; name a folder with `out`"):
        write_site(tmp_path / "file")
    with pytest.raises(MaskerError, match="no model folder"):
        write_site(tmp_path / "site", tmp_path / "nothing")
    assert not (tmp_path / "site").exists()
    for name in ("index.html", "model.json"):
        (tmp_path / name).write_text("[]")
        with pytest.raises(MaskerError, match=r"has a index.html that would be overwritten, and is no page"):
            write_site(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "index.html", "model.json"]
    assert (tmp_path / "index.html").read_text() == "[]"


def test_tokenizers_that_javascript_cannot_read_are_refused() -> None:
    other = SimpleNamespace(backend_tokenizer=Tokenizer(BPE()))
    masker: Any = SimpleNamespace(model=SimpleNamespace(vocabulary=SimpleNamespace(tokenizer=other, cased=True)))
    with pytest.raises(MaskerError, match="uncased WordPiece tokenizer alone; use masker serve"):
        check(masker)


# -- the same as the package -------------------------------------------------------------------------------------------

TEXTS = [
    "the food was n't good , and i 'm not coming back !",
    "Our waitress was slow; the soup (really) was bland... Never again! I'd say 2.5 stars.",
    'He said: "The worst pizza." Then Mr. Smith left. OK?',
    "THE STAFF WAS RUDE!!",
    "Zoë's café — naïve, but crème brûlée was déjà vu 😀.",
    "  two   spaces\nand a line\n\nThen another paragraph.  ",
    "See https://example.com/a?b=c or mail a.b@c.org; #tag @you costs $ 3.50, `x = 1` at 10:30.",
    "C'est nul ! Ça va ? « Oui » dit-il.",
    "_num_ stars for the so-so fish & chips, it's 'em or me [MASK] ##ing.",
    "the soup，bad。 Awful！",
    "I think NASA's Dr. Who (a U.S. show) isn't bad. iPhone users agree... But i do n't .",
    "„Gut“ sagte er, »so la la« nicht.",
    "",
    "...",
    "\u0130stanbul ıs çok kötü.",
    "a" * 120 + " supercalifragilisticexpialidocious \x07 control\u200bzero",
]
INFILLS = [
    "", " great", " don ' t", " so - so", " . . .", " 2 . 5 stars", " not the best", " ,", " _ num _", " i ' m", " !",
    " ( very )", " good . the", " o ' clock", " was amazing", " great",
]  # fmt: skip


@pytest.mark.parametrize("names", [{}, {name.lower(): name for name in ("Great", "The", "STARS", "It", "Constructor")}])
def test_the_javascript_agrees(
    site: Path, tmp_path: Path, embedded: Masker, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words, pieces, protection, sentences, spans and how infills are written; and the weights.

    Scripts without spaces are cut here, if what cuts them is installed, but never on the page.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("THE PAGE'S JAVASCRIPT IS NOT COMPARED: no Node found")
    copy = tmp_path / "site"
    shutil.copytree(site, copy, ignore=shutil.ignore_patterns("*.onnx", "*.wasm", "ort.js"))
    (copy / "package.json").write_text('{"type": "module"}')
    told = json.loads((copy / "model.json").read_text("utf-8"))
    told["vocabulary"]["names"] = names
    (copy / "model.json").write_text(json.dumps(told), "utf-8")
    monkeypatch.setattr(embedded.model.vocabulary, "names", names)
    asked = {"texts": TEXTS, "infills": INFILLS, "keep": ["soup", "Mr."], "to": "positive", "from": "negative"}
    command = [node, str(HERE / "agreement.mjs"), str(copy)]
    ran = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    task = embedded.task("positive", keep=["soup", "Mr."], standard=True)
    editor: Any = embedded.editor("positive", method="fast")
    for source, answer in zip(TEXTS, told["answers"], strict=True):
        assert answer == _python(task, source, editor.unit), source
    assert told["never"] == np.flatnonzero(~task.allowed()).tolist()
    _check_weights(told)


def _python(task: Any, source: str, unit: Any) -> dict[str, Any]:
    text, kept = task.vocabulary.read(source), task.kept_in(source)
    spans, fixed = enumerate_spans(text, task.frame.n_p, kept), protected_words(text, kept)
    results = []
    for k, span in enumerate(spans):
        made = placed(task, text, span, INFILLS[k % len(INFILLS)], fixed)
        results.append(made and source[: made.start] + made.new + source[made.end :])
    return {
        "words": [text.word(i) for i in range(len(text.words))],
        "pieces": [list(word.pieces) for word in text.words],
        "kept": [source[start:end] for start, end in kept],
        "spans": [list(span) for span in spans],
        "parts": [[part.text.source, *part.words] for part in passages(task, source, unit)],
        "results": results,
    }


def _check_weights(told: dict[str, Any]) -> None:
    graphs = Graphs(EMBEDDED)
    (name,) = [name for name in graphs.tables if "word_embeddings" in name]
    for row, values in told["rows"]:
        assert np.array_equal(graphs.tables[name][row], np.array(values, np.float32))
    weight = name.removesuffix("|table")
    made = graphs.constants("int8")
    codes = made[f"{weight}|T|int8"].ravel().astype(np.int64)
    assert told["codes"] == int((codes * (np.arange(len(codes)) % 1009 + 1)).sum())
    scale = made[f"{weight}|T|scale"]
    assert np.array_equal(np.array(told["scales"], np.float32), np.concatenate([scale[:5], scale[-5:]]))
