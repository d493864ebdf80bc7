"""Unsupervised sentence fusion, the paper's Table 1, on dev: Masker, its ablation, the way back, and copying.

    python experiments/fusion/run.py --data $MASKER_DATA --model MODEL --out experiments/fusion

rewrites DATA/fusion/dev.tsv.gz with a model of the domains `split` and `fused`, keeps the outputs in
OUT/predictions, scores them, and writes OUT/results.json and, from that alone, OUT/RESULTS.md. Without --model it only
scores the predictions that are there. --data may also be a folder of DiscoFuse's release, such as
discofuse_v1/wikipedia, of which dev_balanced.tsv is taken, or a file of its format.
"""

import argparse
import json
import lzma
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

from masker.data.formats.discofuse import is_stand_in, split_file
from masker.data.pairs import AlignedPair, read_pairs
from masker.errors import MaskerError
from masker.evaluation.report import Direction, evaluate

METRICS = ("exact", "sari", "sari_lasertagger", "copied")
SAMPLES, SEED = 8, 0


@dataclass(frozen=True)
class System:
    """A row of the table: from where to where, how, and the Exact score that the paper prints."""

    title: str
    forth: bool  # from split to fused, or back
    printed: float | None = None
    options: Mapping[str, Any] | None = None  # of Masker.edit_stream; None: a copy


SYSTEMS = {
    "copy": System("copy of the input, split → fused", True),
    "paper": System("Masker, split → fused", True, 12.65, {"method": "paper"}),
    "ablation": System("the same without SourceScore", True, 2.14, {"method": "paper", "source_score": False}),
    "search": System("search editor, split → fused", True, options={"method": "search"}),
    "reverse_copy": System("copy of the input, fused → split", False),
    "reverse": System("Masker, fused → split", False, 23.18, {"method": "paper"}),
    "reverse_search": System("search editor, fused → split", False, options={"method": "search"}),
}
SYSTEMS |= {  # with a model of the paper's size
    f"base_{name}": replace(system, title=f"{system.title}, base size")
    for name, system in SYSTEMS.items()
    if system.options is not None
}
OUTPUTS = "outputs.json.xz"  # of all systems together: they have most of their words in common
TABLE_1 = ("paper", "ablation", "reverse")
SHOWN = ("paper", "search")  # some of whose outputs are printed


def predict(masker: Any, pairs: Sequence[AlignedPair], names: Sequence[str], folder: Path, model: str) -> None:
    """Rewrite one side of the pairs with each of the systems; made.json says by which model and in which time."""
    folder.mkdir(parents=True, exist_ok=True)
    made, kept = _read(folder / "made.json"), _read(folder / OUTPUTS)
    for name in names:
        system, began = SYSTEMS[name], time.perf_counter()
        source, target = ("split", "fused") if system.forth else ("fused", "split")
        texts = [pair.source if system.forth else pair.target for pair in pairs]
        outputs = [r.text for r in masker.edit_stream(texts, target, source, **(system.options or {}))]
        seconds = round(time.perf_counter() - began, 1)
        kept[name] = outputs
        (folder / OUTPUTS).write_bytes(lzma.compress(json.dumps(kept, ensure_ascii=False, indent=0).encode(), preset=9))
        made[name] = {"model": model, "lines": len(texts), "seconds": seconds}
        (folder / "made.json").write_text(json.dumps(made, indent=1) + "\n", "utf-8")
        print(f"{name}: {len(texts)} texts in {seconds} s", file=sys.stderr)


def score(pairs: Sequence[AlignedPair], folder: Path) -> dict[str, Any]:
    """The whole of results.json: a row for each system that has predictions, with figures by type and samples."""
    made, kept, rows = _read(folder / "made.json"), _read(folder / OUTPUTS), []
    for name, system in SYSTEMS.items():
        if system.options is not None and name not in kept:
            continue
        sides = [(p.source, p.target) if system.forth else (p.target, p.source) for p in pairs]
        outputs = [source for source, _ in sides] if system.options is None else kept[name]
        if len(outputs) > len(pairs):
            what = f"{folder / OUTPUTS} has {len(outputs)} lines for {len(pairs)} texts"
            raise MaskerError(f"{what} ({name}); make it anew with --model")
        lines = [(source, out, target) for (source, target), out in zip(sides, outputs, strict=False)]  # the first ones
        types = sorted({pair.type for pair in pairs})
        parts = {kind: [line for line, p in zip(lines, pairs, strict=False) if p.type == kind] for kind in types}
        row = {"system": name, "title": system.title, "printed": system.printed, "lines": len(lines), **figures(lines)}
        row["changed"] = figures([line for line in lines if line[0] != line[2]], ["exact"])
        row["types"] = {kind: {"lines": len(part), **figures(part)} for kind, part in parts.items()}
        row["made"] = made.get(name)
        row["samples"] = samples(lines) if name in SHOWN else None
        rows.append(row)
    return {"rows": rows}


def figures(lines: Sequence[tuple[str, str, str]], metrics: Sequence[str] = METRICS) -> dict[str, Any]:
    """The metrics of sources, outputs and targets, each with its interval."""
    if not lines:
        return {}
    sources, outputs, targets = zip(*lines, strict=True)
    report = evaluate([Direction("target", sources, outputs, [targets])], metrics=metrics).to_dict()
    return {key: report[key] for name in metrics for key in (name, f"{name}_ci")}


def samples(lines: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Random outputs, the same each time: right ones that changed something, and wrong ones."""
    changed = [line for line in lines if line[0] != line[2]]
    pools = {"correct": [x for x in changed if x[1] == x[2]], "incorrect": [x for x in changed if x[1] != x[2]]}
    draw = random.Random(SEED)
    return {
        name: {"of": len(pool), "lines": draw.sample(pool, min(SAMPLES, len(pool)))} for name, pool in pools.items()
    }


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    data = path.read_bytes()
    return json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)


# -- for people --------------------------------------------------------------------------------------------------------


def write(results: Mapping[str, Any], out: Path) -> None:
    """results.json with a row a line, and RESULTS.md."""
    out.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in results["rows"])
    corpus = f', "corpus": {json.dumps(name)}' if (name := results.get("corpus")) else ""
    (out / "results.json").write_text(f'{{"rows": [\n{rows}\n]{corpus}}}\n', "utf-8")
    (out / "RESULTS.md").write_text(markdown(results), "utf-8")


def markdown(results: Mapping[str, Any]) -> str:
    """RESULTS.md, made of nothing but the results."""
    rows, corpus = results["rows"], results.get("corpus")
    return TEMPLATE.substitute(
        lines=f"{rows[0]['lines']:,}",
        corpus=f"The corpus is DiscoFuse's `{corpus}`." if corpus else STAND_IN,
        changed=f"{100 - rows[0]['exact']:.1f}",
        table=_table(rows),
        models=_models(rows),
        verdict=_verdict({row["system"]: row for row in rows}),
        types=_types([row for row in rows if not row["system"].startswith("base_")]),
        samples="\n\n".join(_samples(row) for row in rows if row["samples"]),
    )


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _figure(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        return ""
    low, high = row[f"{name}_ci"]
    return f"{row[name]:.2f} ({low:.1f} to {high:.1f})"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ["method", "texts", "Exact in the paper", "Exact", "where the sides differ", "SARI", "SARI, LaserTagger's"]
    lines = [_line([*heads, "copied, %"]), "|---|" + "---:|" * len(heads)]
    for row in rows:
        cells = [row["title"], f"{row['lines']:,}", row["printed"] or ""]
        cells += [_figure(row, "exact"), _figure(row["changed"], "exact")]
        cells += [_figure(row, "sari"), _figure(row, "sari_lasertagger"), f"{row['copied']:.1f}"]
        lines.append(_line(cells))
    return "\n".join(lines)


def _verdict(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The two things that the paper's table says, and whether they are so here; and at base size."""
    found = [_differences(rows, ""), _differences(rows, "base_")]
    return " ".join(f"{'At base size ' if k else ''}{sentence}." for k, sentence in enumerate(found) if sentence)


def _differences(rows: Mapping[str, Mapping[str, Any]], size: str) -> str:
    found = []
    for one, other, what in (
        ("paper", "ablation", "SourceScore"),
        ("reverse", "paper", "the way back"),
        ("search", "paper", "the search editor"),
    ):
        a, b = (rows.get(size + name) for name in (one, other))
        if a and b:
            beside = f" (in the paper {a['printed'] - b['printed']:+.2f})" if a["printed"] and b["printed"] else ""
            found.append(f"{what} makes a difference of {a['exact'] - b['exact']:+.2f} points Exact{beside}")
    sentence = "; ".join(found)
    return sentence if size else sentence[:1].upper() + sentence[1:]


def _models(rows: Sequence[Mapping[str, Any]]) -> str:
    made = {row["system"]: row["made"] for row in rows if row["made"]}
    lines = [_line(["predictions", "model", "texts a second"]), "|---|---|---:|"]
    for name, entry in made.items():
        speed = entry["lines"] / max(entry["seconds"], 0.1)
        lines.append(_line([f"`{name}`", f"`{entry['model']}`", f"{speed:,.1f}"]))
    return "\n".join(lines)


def _types(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [_line(["type", "texts", *(row["title"] for row in rows)]), "|---|---:|" + "---:|" * len(rows)]
    for kind, part in sorted(rows[0]["types"].items(), key=lambda item: -item[1]["lines"]):
        exact = [f"{row['types'][kind]['exact']:.1f}" if row["types"][kind]["lines"] else "" for row in rows]
        lines.append(_line([kind or "(none)", part["lines"], *exact]))
    return "\n".join(lines)


def _samples(row: Mapping[str, Any]) -> str:
    lines = [f"### {row['title']}"]
    for name, part in row["samples"].items():
        lines += ["", f"{name.capitalize()}, {len(part['lines'])} of {part['of']:,}:", "", "| | |", "|---|---|"]
        for source, output, target in part["lines"]:
            shown = {"source": source, "prediction": output} | ({"target": target} if name == "incorrect" else {})
            lines += [_line([head, text.replace("|", "\\|")]) for head, text in shown.items()] + ["| | |"]
    return "\n".join(lines)


STAND_IN = """\
The corpus is DiscoFuse's in
format and in its kinds of fusion, but was rebuilt from Wikipedia: figures are not comparable with the paper's, only
their order and their ratios."""
TEMPLATE = Template("""\
# Unsupervised sentence fusion

The paper's Table 1 on $lines texts of dev; rows with fewer texts have the first of them. $corpus
$changed % of the pairs have two different sides. Made by `run.py` from `results.json`; in
brackets 95 % bootstrap intervals.

$table

$verdict

Exact: outputs equal to the target, lower-cased, in %. SARI: Xu et al. (2016), where who deletes nothing
deletes nothing wrongly, so that a copy does well by it; and with LaserTagger's deletion score, where it does not.
Scored by the functions of `masker evaluate`. Masker makes one edit of at most four pieces, as in the paper; its model
was fitted to unaligned text, split and fused sides of different rows, none of which shares a sentence with dev. At base
size (MPNet, 109M parameters) it was fitted by the paper's settings, 3e-5 and 3,000 steps of 512, to a span accuracy of
43.25 (the paper's: 44.03); the search editor has its defaults there, and what was tuned for these domains with the
embedded model.

## What made them

$models

On a GPU that other work shared, `search` in three processes: not to be compared.

## Exact by discourse type

PAIR_NONE needs no change: there a copy is right. A type of which most edits are wider than one span of four pieces
(SINGLE_CONN_START, SINGLE_CATAPHORA) is out of reach of one edit.

$types

## Samples

Random outputs for pairs with two different sides, as in the paper's appendix.

$samples
""")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder that holds fusion/ or DiscoFuse, or a file of it"
    )
    parser.add_argument("--model", help="model folder; `embedded` is the one in the package; only score without it")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    choices = [name for name, system in SYSTEMS.items() if system.options is not None]
    parser.add_argument("--systems", nargs="+", default=TABLE_1, choices=choices, help="which predictions to make")
    parser.add_argument("--no-score", action="store_true", help="leave scoring for later: it takes minutes and no GPU")
    parser.add_argument("--limit", type=int, help="only so many texts")
    parser.add_argument("--device", help="cpu, cuda, ...")
    options = parser.parse_args(arguments)
    try:
        path = split_file(options.data, "dev")
        pairs = list(read_pairs(path))[: options.limit]
        if options.model:
            from masker.api import Masker

            masker = Masker.from_pretrained(
                None if options.model == "embedded" else options.model, device=options.device
            )
            name = Path(options.model).name
            predict(masker, pairs, options.systems, options.out / "predictions", name)
        if not options.no_score:
            found = score(pairs, options.out / "predictions")
            write(found | {"corpus": None if is_stand_in(path) else path.name}, options.out)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
