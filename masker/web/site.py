"""`masker page`: the page as static files, with the model, for a browser to run. It needs only the light install."""

import json
import lzma
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import models as tokenizer_models

import masker as package
from masker.api import Masker
from masker.errors import MaskerError
from masker.model.folder import STUDENT, exported_folder, one_line, staged
from masker.model.weights import Weights
from masker.runtime.graphs import INT8, TABLE, Graphs
from masker.students.base import owner
from masker.students.lasertagger.light import BASE, TaggerWeights, mark_of
from masker.web.tasks import domains, tasks

PAGE, LOCAL = Path(__file__).parent / "page", Path(__file__).parent / "local"
# "blob:": the threads that compute are made from one, because this policy then holds in them, too
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src blob:; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'"
)
MODEL = "model.json"  # what a browser has to know of the model
METHODS = ("fast", "paper")  # what is there in JavaScript


def write_site(out: Path, model: str | Path | None = None) -> dict[str, int]:
    """Write the page and the model into a folder; gives the sizes of its files in bytes."""
    folder = exported_folder(model)
    if folder is None:
        raise MaskerError(f"the model '{model}' has no graphs; write them with masker export, in its folder")
    masker = Masker.from_pretrained(folder)
    check(masker)
    if out.exists() and not out.is_dir():
        raise MaskerError(f"{out} is a file; name a folder with `out`")
    with one_line(f"cannot write the page to {out}"), staged(out) as stage:
        _write_page(stage)
        told = _write_model(stage, masker, folder)
        told |= {"version": package.__version__, "name": "embedded" if model is None else folder.resolve().name}
        told["sizes"] = {path.name: path.stat().st_size for path in sorted(stage.iterdir())}
        (stage / MODEL).write_text(json.dumps(told, ensure_ascii=False), "utf-8")
        _check_free(out, stage)
        return {path.name: path.stat().st_size for path in sorted(stage.iterdir())}


def _check_free(out: Path, stage: Path) -> None:
    """A page of before is replaced, a file of the user's is not."""
    theirs = sorted(path.name for path in stage.iterdir() if (out / path.name).exists())
    with suppress(OSError, ValueError, TypeError):
        if {*theirs} >= {"index.html", MODEL} and "vocabulary" in json.loads((out / MODEL).read_text("utf-8")):
            return
    if theirs:
        raise MaskerError(f"{out} has a {theirs[0]} that would be overwritten, and is no page; give another folder")


def check(masker: Masker) -> None:
    """A browser reads WordPiece alone, and only as BERT's uncased models have it."""
    tokenizer, vocabulary = masker.model.vocabulary.tokenizer.backend_tokenizer, masker.model.vocabulary
    if not isinstance(tokenizer.model, tokenizer_models.WordPiece) or vocabulary.cased:
        raise MaskerError("the page runs models with an uncased WordPiece tokenizer alone; use masker serve")
    student = masker.student
    if student is not None and student.rounds != 1:
        raise MaskerError(f"the model's student works in {student.rounds} rounds, the page in one; use masker serve")


def _write_page(stage: Path) -> None:
    """The page of `masker serve`, with another engine."""
    for path in [*PAGE.iterdir(), *LOCAL.iterdir()]:  # the engine of the second is the one that stays
        if path.suffix == ".xz":
            (stage / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        else:
            shutil.copyfile(path, stage / path.name)
    index = stage / "index.html"
    first = '<meta charset="utf-8">'
    html = index.read_text("utf-8")
    assert first in html
    policy = f'{first}\n  <meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    index.write_text(html.replace(first, policy), "utf-8")


def _write_model(stage: Path, masker: Masker, folder: Path) -> dict[str, Any]:
    """Graphs, weights and vocabulary; gives what else a browser has to know."""
    settings, vocabulary, student = masker.model.settings, masker.model.vocabulary, masker.student
    graphs = Graphs(folder)
    sizes = {name: len(table) for name, table in graphs.tables.items()}
    rows = min((name for name in sizes if sizes[name] >= len(vocabulary)), key=sizes.__getitem__)
    columns = graphs.tables[rows].shape[1]
    taught = student and {
        "window": student.window, "phrases": student.tags.phrases, "keepBias": student.keep_bias,
    }  # fmt: skip
    told = {"model": _write_graph(stage / "model.onnx", graphs, rows)}
    if student is not None:
        told["student"] = _write_student(stage / "student.onnx", folder / STUDENT, rows)
    save_file(Weights(folder).parts(rows.removesuffix(TABLE), columns), stage / "embeddings.safetensors")
    tokens = vocabulary.tokens(range(len(vocabulary)))
    (stage / "vocabulary.txt").write_text("\n".join(tokens), "utf-8", newline="\n")
    return {
        "domains": domains(masker), "tasks": _tasks(masker), "n_p": settings.n_p, "window": settings.window,
        "forbid": settings.forbid, "columns": columns, "graphs": told, "vocabulary": _vocabulary(masker),
        "student": taught,
    }  # fmt: skip


def _write_graph(path: Path, graphs: Graphs, rows: str) -> dict[str, Any]:
    graph, lacking = graphs.written(INT8, rows)
    path.write_bytes(graph)
    return {"rows": rows, "elsewhere": lacking}


def _write_student(path: Path, folder: Path, rows: str) -> dict[str, Any]:
    base = owner(folder)
    graphs = Graphs(folder, TaggerWeights(folder, base), mark_of(folder, base))
    if BASE + rows not in graphs.tables:
        raise MaskerError("the model's student has embeddings of its own; teach it again (masker distill)")
    return _write_graph(path, graphs, BASE + rows)


def _tasks(masker: Masker) -> list[dict[str, Any]]:
    found = []
    for task in tasks(masker):
        methods = [method for method in task["methods"] if method in METHODS]
        unit = None
        if "fast" in methods:
            editor: Any = masker.editor(task["to"], task["from"], method="fast")
            unit = {"sentences": editor.unit.sentences, "longest": editor.unit.longest}
        found.append({**task, "methods": methods, "unit": unit})
    return found


def _vocabulary(masker: Masker) -> dict[str, Any]:
    vocabulary, frame = masker.model.vocabulary, masker.model.frame
    tokenizer = vocabulary.tokenizer
    special = {*tokenizer.all_special_ids, *(i for i, t in tokenizer.added_tokens_decoder.items() if t.special)}
    return {
        "special": sorted(special), "never": np.flatnonzero(~vocabulary.infillable).tolist(),
        "unknown": tokenizer.unk_token_id, "pad": vocabulary.pad, "gaps": dict(vocabulary.gaps),
        "names": dict(vocabulary.names),
        "prefix": tokenizer.backend_tokenizer.model.continuing_subword_prefix,
        "frame": {"start": frame.start, "end": frame.end, "mask": frame.mask, "pad": frame.pad},
    }  # fmt: skip
