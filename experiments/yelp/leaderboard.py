"""Score published output sets on the Yelp test set, a copy of the input, and Masker's own, by one evaluator.

    python experiments/yelp/leaderboard.py --data $MASKER_DATA --judge judges/transformer --judge judges/ngram \
        --fluency-model judges/lm --predictions experiments/yelp/predictions --out experiments/yelp

reads DATA/yelp/peers/NAME.{0,1}.txt and PREDICTIONS/NAME.{0,1}.txt (0: outputs that should be positive, 1: negative),
writes OUT/results.json and, from that alone, OUT/RESULTS.md and OUT/leaderboard.png. A row of an earlier results.json
stays as it is while its files, the judges and the language model are the same; --all scores every row anew. Where
there is OUT/base.json, which base.sh writes, RESULTS.md also tells how the models of base size were made.
"""

import argparse
import hashlib
import json
import math
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from masker.errors import MaskerError
from masker.evaluation.fluency import LanguageModel, load_language_model
from masker.evaluation.judges.base import Judge
from masker.evaluation.paper_bleu import read_dictionary
from masker.evaluation.report import Direction, evaluate

TARGETS = ("positive", "negative")  # what the lines of test files 0 and 1 should become
METRICS = ("joint", "style_accuracy", "bleu", "self_bleu", "paper_bleu", "copied", "length_ratio", "fluency")
HEADS = {
    "joint": "joint",
    "style_accuracy": "style",
    "style_accuracy_ngram": "style, n-grams",
    "bleu": "BLEU",
    "self_bleu": "self-BLEU",
    "fluency": "fluency",
    "paper_bleu": "paper BLEU",
    "copied": "copied",
    "length_ratio": "length",
}
COPY = "copy of the input"
PICKED = "ACMLM_ft_"  # sets that their authors picked on the test set
SAMPLED, SAMPLES, SEED = "masker_paper", 8, 0  # which predictions to show, how many of each kind
PRINTED = {  # the paper's table: method -> our name of the same outputs, BLEU, accuracy
    "DeleteAndRetrieval": ("DeleteRetrieve_Li18", 8.5, 87.9),
    "AC-MLM w/ frequency-ratio": ("ACMLM_epoch9_frequency_ratio", 13.2, 37.9),
    "AC-MLM w/ attention-based": ("ACMLM_epoch9_attention_based", 15.7, 53.4),
    "AC-MLM w/ fusion-method": ("ACMLM_epoch9_fusion_method", 15.3, 40.9),
    "Masker": ("masker_paper", 14.5, 40.9),
    "LaserTagger on Masker's silver data": ("masker_lasertagger_paper", 15.3, 49.6),
}
PAPER_SPANS = 49.15  # the paper's span accuracy, of a model of base size
LABELS = {  # systems to name in the plot
    "DIRR_direct": "Direct Rewards",
    "CWSR": "CWSR",
    "PTO": "PTO",
    "ACMLM_SS_attention_acc92": "AC-MLM-SS",
    "ACMLM_epoch9_attention_based": "AC-MLM, attention",
    "StyleTransformer_multi": "Style Transformer",
    "DualRL": "DualRL",
    "LEWIS": "LEWIS",
    "MixMatch": "Mix and Match",
    "ChatGPT_fewshot": "ChatGPT, few-shot",
    "DeleteRetrieve_Li18": "Delete and Retrieve",
    "CrossAligned_Li18": "Cross-aligned",
    "RetrieveOnly_Li18": "Retrieve only",
}
Row = dict[str, Any]


def leaderboard(
    data: Path,
    predictions: Path,
    judges: Sequence[Judge],
    language_model: LanguageModel | None = None,
    *,
    version: str = "",
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole of results.json: rows sorted by joint, the judges, and samples of Masker's predictions.

    Rows of the `earlier` one are taken over if nothing that they were made of has changed; `version` stands for all
    that is not a file of the row itself.
    """
    yelp = data / "yelp"
    known = {row["system"]: row for row in (earlier or {}).get("rows", [])}
    judges = sorted(judges, key=lambda judge: judge.kind != "transformer")  # `joint` takes the first
    systems = {COPY: [yelp / f"sentiment.test.{i}" for i in (0, 1)], **_sets(yelp / "peers"), **_sets(predictions)}
    dictionary = read_dictionary(yelp / "li_bleu.dict.tsv")
    rows, kept = [], set()
    for name, files in systems.items():
        inputs = version + fingerprint(files)
        if known.get(name, {}).get("inputs") == inputs:
            rows.append(known[name])
            kept.add(name)
            continue
        print(f"scoring {name}", file=sys.stderr)
        kind = "masker" if files[0].parent == predictions else "human" if name.startswith("Human") else "system"
        kind = "copy" if name == COPY else kind
        row = {"system": name, "kind": kind, "picked_on_test": name.startswith(PICKED)}
        rows.append(row | score(_directions(yelp, files), judges, dictionary, language_model) | {"inputs": inputs})
    drawn: Any = (earlier or {}).get("samples") if SAMPLED in kept else None
    if not drawn:
        drawn = samples(_directions(yelp, systems[SAMPLED]), judges) if SAMPLED in systems else {}
    return {
        "rows": sorted(rows, key=lambda row: -row["joint"]),
        "judges": [
            {
                "name": f"judges/{judge.kind}",
                "kind": judge.kind,
                "metric": _style(judge, judges),
                "dev_accuracy": round(judge.dev_accuracy, 2),
                "dev_lines": judge.card.dev_lines,
                "train_lines": judge.card.train_lines,
            }
            for judge in judges
        ],
        "samples": drawn,
    }


def fingerprint(paths: Iterable[Path]) -> str:
    """A short hash of what files hold, and of all files of folders."""
    found = hashlib.sha256()
    for path in paths:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:12]


def score(
    directions: Sequence[Direction],
    judges: Sequence[Judge],
    dictionary: Mapping[str, int],
    language_model: LanguageModel | None = None,
) -> Row:
    """The figures of one system: averages over both directions with intervals, then each direction."""
    metrics = [name for name in METRICS if name != "fluency" or language_model is not None]
    report = evaluate(
        directions,
        judges=judges[:1],
        metrics=metrics,
        paper_dictionary=dictionary,
        fluency_model=language_model,
    ).to_dict()
    parts = [{"to": part["to"], **{name: part[name] for name in metrics}} for part in report["directions"]]
    row = {key: report[key] for name in metrics for key in (name, f"{name}_ci")}
    for judge in judges[1:]:
        other = evaluate(directions, judges=[judge], metrics=["style_accuracy"]).to_dict()
        row |= {f"{_style(judge, judges)}{end}": other[f"style_accuracy{end}"] for end in ("", "_ci")}
        for part, found in zip(parts, other["directions"], strict=True):
            part[_style(judge, judges)] = found["style_accuracy"]
    return {**row, "directions": parts}


def samples(directions: Sequence[Direction], judges: Sequence[Judge]) -> dict[str, Any]:
    """Random predictions, the same each time, and of how many: correct if every judge says the target domain."""
    pool: dict[str, list[dict[str, str]]] = {"correct": [], "incorrect": []}
    for direction in directions:
        verdicts = zip(*(judge.predict(direction.outputs) for judge in judges), strict=True)
        targets = direction.paper_reference or direction.sources
        for *texts, found in zip(direction.sources, direction.outputs, targets, verdicts, strict=True):
            entry = {"to": direction.to, **dict(zip(("source", "prediction", "target"), texts, strict=True))}
            pool["correct" if set(found) == {direction.to} else "incorrect"].append(entry)
    draw = random.Random(SEED)
    return {
        name: {"of": len(entries), "lines": draw.sample(entries, min(SAMPLES, len(entries)))}
        for name, entries in pool.items()
    }


def _style(judge: Judge, judges: Sequence[Judge]) -> str:
    return "style_accuracy" if judge is judges[0] else f"style_accuracy_{judge.kind}"


def _sets(folder: Path) -> dict[str, list[Path]]:
    """Output sets of a folder: name -> its two files."""
    names = sorted({path.name[: -len(".0.txt")] for path in folder.glob("*.[01].txt")}, key=str.lower)
    if not names:
        raise MaskerError(f"no output sets in {folder}; it needs NAME.0.txt and NAME.1.txt")
    return {name: [folder / f"{name}.{i}.txt" for i in (0, 1)] for name in names}


def _directions(yelp: Path, files: Sequence[Path]) -> list[Direction]:
    return [
        Direction.from_files(
            to=to,
            source=yelp / f"sentiment.test.{i}",
            output=files[i],
            references=[yelp / f"reference{k}.{i}" for k in range(4)],
            paper_reference=yelp / f"reference.li.{i}",
        )
        for i, to in enumerate(TARGETS)
    ]


def write(results: Mapping[str, Any], out: Path) -> None:
    """results.json with a row a line, RESULTS.md and leaderboard.png."""
    out.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in results["rows"])
    rest = json.dumps({key: value for key, value in results.items() if key != "rows"}, indent=1, ensure_ascii=False)
    (out / "results.json").write_text(f'{{"rows": [\n{rows}\n],{rest[1:]}\n', "utf-8")
    base = out / "base.json"
    made = json.loads(base.read_text("utf-8")) if base.is_file() else {}
    (out / "RESULTS.md").write_text(markdown(results, made), "utf-8")
    plot(results, out / "leaderboard.png")


def markdown(results: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """RESULTS.md, made of nothing but the results, and of how the models of base size were made."""
    rows = results["rows"]
    judges = [
        f"| `{j['name']}` | `{j['metric']}` | {j['train_lines']:,} | {j['dev_lines']:,} | {j['dev_accuracy']:.2f} |"
        for j in results["judges"]
    ]
    return Template(Path(__file__).with_name("RESULTS.template.md").read_text("utf-8")).substitute(
        judges="\n".join(judges),
        masker=_masker_table(rows),
        printed=_printed_table(rows),
        verdict=_verdict(rows),
        scale=_scale_section(rows, base),
        leaderboard=_leaderboard_table(rows),
        peers=sum(row["kind"] in ("system", "human") for row in rows),
        samples=_samples_section(results["samples"]),
    )


def _figures(row: Mapping[str, Any]) -> list[str]:
    found = {name: _number(name, row[name]) for name in HEADS if name in row}
    if row.get("kind") == "human":  # compared with themselves
        found |= {name: f"({found[name]})" for name in ("joint", "bleu")}
    return list(found.values())


def _number(name: str, value: float) -> str:
    return f"{value:.2f}" if name in ("length_ratio", "fluency") else f"{value:.1f}"


def _header(row: Mapping[str, Any], *first: str) -> list[str]:
    heads = [head for name, head in HEADS.items() if name in row]
    return [_line([*first, *heads]), "|" + "---|" * len(first) + "---:|" * len(heads)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _leaderboard_table(rows: Sequence[Row]) -> str:
    lines = _header(rows[0], "#", "system")
    rank = 0
    for row in rows:
        name = f"`{row['system']}`" if row["kind"] == "system" else row["system"]
        note = {"human": " (human)", "copy": " (nothing changed)"}.get(row["kind"], "")
        note += " (picked on test)" if row["picked_on_test"] else ""
        competes = row["kind"] in ("system", "masker")
        rank += competes
        cells = [str(rank) if competes else "", f"{name}{note}", *_figures(row)]
        lines.append(_line([f"**{cell}**" for cell in cells] if row["kind"] == "masker" else cells))
    return "\n".join(lines)


def _masker_table(rows: Sequence[Row]) -> str:
    lines = _header(rows[0], "predictions", "to")
    for row in rows:
        if row["kind"] == "masker":
            lines += [_line([row["system"], part["to"], *_figures(part)]) for part in row["directions"]]
            lines.append(_line([f"**{cell}**" for cell in (row["system"], "average", *_figures(row))]))
            bounds = [" to ".join(_number(name, x) for x in row[f"{name}_ci"]) for name in HEADS if name in row]
            lines.append(_line(["", "95 % interval", *bounds]))
    return "\n".join(lines)


def _printed_table(rows: Sequence[Row]) -> str:
    names = [name for name in HEADS if name.startswith("style") and name in rows[0]]
    ours = ["paper_bleu", *names]
    lines = [_line(["in the paper", "BLEU", "ACC", "here", *(f"our {HEADS[name]}" for name in ours)])]
    lines.append("|---|---:|---:|---|" + "---:|" * len(ours))
    by_name = {row["system"]: row for row in rows}
    for method, (system, bleu, accuracy) in PRINTED.items():
        row = by_name.get(system or "")
        figures = [f"{row[name]:.2f}" for name in ours] if row else [""] * len(ours)
        lines.append(
            _line([method, str(bleu), str(accuracy), f"`{system}`" if row else "outputs unpublished", *figures])
        )
    return "\n".join(lines)


def _verdict(rows: Sequence[Row]) -> str:
    """Whether Masker reaches the paper's figures, said outright."""
    system, *printed = PRINTED["Masker"]
    found = []
    for row in rows:
        for name, figure in zip(("paper_bleu", "style_accuracy"), printed, strict=True):
            if row["system"] == system:
                low, high = row[f"{name}_ci"]
                side = "above" if row[name] > figure else "below" if row[name] < figure else "equal to"
                far = "" if low <= figure <= high else " and outside its interval"
                found.append(
                    f"{HEADS[name]} {row[name]:.2f} ({low:.1f} to {high:.1f}) is {side} the {figure} printed{far}"
                )
    return f"Masker here: {'; '.join(found)}." if found else ""


def _scale_section(rows: Sequence[Row], base: Mapping[str, Any]) -> str:
    """Models of base size beside the paper's; `base` has, by their names, the stages in which they were made."""
    if not base:
        return "Not run yet: `experiments/yelp/base.sh` needs a GPU."
    by_name = {row["system"]: row for row in rows}
    names = ["paper_bleu", *(name for name in HEADS if name.startswith("style") and name in rows[0])]
    about = ["span accuracy", "learning rate", "batch", "steps", "seconds"]
    heads = ["model", "method", *(HEADS[name] for name in names), *about]
    _, *printed = PRINTED["Masker"]
    lines = [_line(heads), "|---|---|" + "---:|" * (len(heads) - 2)]
    figures = [*map(str, printed), *[""] * (len(names) - 2)]
    lines.append(_line(["the paper's", "paper", *figures, str(PAPER_SPANS), "3e-05", "2,048", "", ""]))
    for model, (*_, fit) in base.items():
        chosen, steps = fit["settings"], f"{fit['best_step']:,} of {fit['steps']:,}"
        about = [f"{fit['scores']['span_accuracy']:.2f}", f"{chosen['lr']:g}", f"{chosen['batch_size']:,}", steps]
        for method in ("paper", "ablation", "search"):
            if row := by_name.get(f"masker_{model}_{method}"):
                lines.append(
                    _line([f"`{model}`", method, *(f"{row[x]:.2f}" for x in names), *about, str(fit["seconds"])])
                )
    first = next(iter(base.values()))[0]
    count, score = sum(data["lines"] for data in first["data"]), first["scores"]["span_accuracy"]
    lines += [
        "",
        f"It was fitted from an encoder, pretrained for {first['steps']:,} steps, {first['seconds']} s, on "
        f"{count:,} lines of plain text, where its span accuracy is {score:.2f}; all on one {first['device']}.",
    ]
    lines += [note for *_, fit in base.values() if (note := fit.get("note"))]
    return "\n".join(lines)


def _samples_section(found: Mapping[str, Any]) -> str:
    lines = []
    for name, part in found.items():
        lines += [f"### {name.capitalize()}: {len(part['lines'])} of {part['of']}", "", "| | |", "|---|---|"]
        for entry in part["lines"]:
            shown = ("source", "prediction") if name == "correct" else ("source", "prediction", "target")
            for key in shown:
                label = f"**{key}**, to {entry['to']}" if key == "source" else key
                lines.append(_line([label, entry[key].replace("|", "\\|")]))
        lines.append("")
    return "\n".join(lines).rstrip()


def plot(results: Mapping[str, Any], path: Path) -> None:
    """Style accuracy against BLEU, one dot a system; curves of equal joint; a few names, none over another."""
    from matplotlib.figure import Figure
    from PIL import Image

    rows = results["rows"]
    fig = Figure(figsize=(10.5, 7.5), layout="constrained")
    ax = fig.add_subplot()
    looks: dict[str, dict[str, Any]] = {
        "system": {"s": 26, "color": "#a9b1c0", "label": "published system (dark: named)"},
        "named": {"s": 34, "color": "#1f3b73"},
        "copy": {"s": 80, "color": "black", "marker": "X", "label": "copy of the input"},
        "masker": {"s": 170, "color": "#d62728", "marker": "*", "label": "Masker", "zorder": 4},
    }
    for kind, look in looks.items():
        shown = [row for row in rows if kind == ("named" if row["system"] in LABELS else row["kind"])]
        points = [(row["style_accuracy"], row["bleu"]) for row in shown]
        if points:
            ax.scatter(*zip(*points, strict=True), linewidths=0, **look)
    humans = [row["style_accuracy"] for row in rows if row["kind"] == "human"]
    if humans:  # as references they have a BLEU of 100 against themselves: only their accuracy means something
        span = "human rewrites: style accuracy only"
        ax.axvspan(min(humans), max(humans), color="#2a9d8f", alpha=0.15, linewidth=0, label=span)
    top = max((row["bleu"] for row in rows if row["kind"] != "human"), default=100)
    ax.set(xlim=(0, 100), ylim=(0, 1.12 * top), xlabel="style accuracy, %", ylabel="BLEU, four references")
    for joint in range(10, 100, 10):
        left = joint**2 / (1.12 * top)
        xs = [left + (100 - left) * k / 200 for k in range(201)]
        if left < 100:
            ax.plot(xs, [joint**2 / x for x in xs], color="#cccccc", linewidth=0.8, zorder=0)
            ax.annotate(
                f"{joint}", (100, joint**2 / 100), (4, 0), textcoords="offset points", color="#999999", va="center"
            )
    ax.text(1.045, 0.5, "joint, along the curves", transform=ax.transAxes, rotation=270, va="center", color="#999999")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_title("Yelp test set, both directions: up and to the right is better", loc="left")
    ax.legend(loc="lower left", frameon=False)
    _name(fig, ax, rows)
    fig.savefig(path, dpi=150)
    few = Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE)  # a third of the size
    few.save(path, optimize=True)


def _name(fig: Any, ax: Any, rows: Sequence[Row]) -> None:
    """Write each name in the free place nearest to its dot; Masker's first."""
    from matplotlib.transforms import Bbox

    fig.draw_without_rendering()  # fixes the layout, so that places can be compared in pixels
    dots = [ax.transData.transform((row["style_accuracy"], row["bleu"])) for row in rows if row["kind"] != "human"]
    taken = [ax.get_legend().get_window_extent(), *(Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in dots)]
    for row in sorted(rows, key=lambda row: row["kind"] != "masker"):
        name = LABELS.get(row["system"], COPY if row["kind"] == "copy" else None)
        look: dict[str, Any] = {"color": "#333333", "fontsize": 9}
        unnamed = ("base_", "lasertagger_search", "felix", "bert2bert")  # there would be no room; tables have them
        if row["kind"] == "masker" and not any(part in row["system"] for part in unnamed):
            name = row["system"].replace("masker_", "Masker: ")
            look = {"color": "#d62728", "fontsize": 11, "weight": "bold", "zorder": 5}
        if name is None:
            continue
        dot = (row["style_accuracy"], row["bleu"])
        text = ax.text(0, 0, name, **look)
        width, height = text.get_window_extent().size
        text.remove()
        for gap, shift in _shifts(width, height):
            x, y = ax.transData.transform(dot) + shift
            box = Bbox.from_bounds(x - width / 2, y - height / 2, width, height)
            inside = ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1 and ax.bbox.y0 < box.y0 and box.y1 < ax.bbox.y1
            if inside and box.count_overlaps(taken) == 0:
                line = {"arrowstyle": "-", "color": "#555555", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
                points = [part * 72 / fig.dpi for part in shift]
                look |= {"ha": "center", "va": "center", "arrowprops": line if gap > 12 else None}
                ax.annotate(name, dot, points, textcoords="offset points", **look)
                taken.append(box.padded(3))
                break


def _shifts(width: float, height: float) -> list[tuple[float, tuple[float, float]]]:
    """Where the middle of a box may lie, seen from its dot in pixels, with the gap between them; the best first.

    Best is near, and straight beside, above or below.
    """
    shifts = [(x, y) for x in range(-200, 201, 4) for y in range(-120, 121, 4)]
    gaps = [(math.hypot(max(0, abs(x) - width / 2), max(0, abs(y) - height / 2)), (x, y)) for x, y in shifts]
    return sorted((entry for entry in gaps if entry[0] >= 8), key=lambda g: (g[0] + 0.4 * min(map(abs, g[1])), g))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds yelp/")
    parser.add_argument("--judge", type=Path, required=True, action="append", help="folder of a judge; may be repeated")
    parser.add_argument("--fluency-model", type=Path, help="folder of a language model, see 'masker judge lm'")
    parser.add_argument("--predictions", type=Path, required=True, help="folder of Masker's output sets")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--all", action="store_true", help="score every row anew, say after a change of the evaluator")
    options = parser.parse_args(arguments)
    try:
        judges = [Judge.from_pretrained(folder) for folder in options.judge]
        lm = load_language_model(options.fluency_model) if options.fluency_model else None
        version = fingerprint([*options.judge, *([options.fluency_model] if lm else [])])
        path = options.out / "results.json"
        earlier = json.loads(path.read_text("utf-8")) if path.is_file() and not options.all else None
        write(leaderboard(options.data, options.predictions, judges, lm, version=version, earlier=earlier), options.out)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
