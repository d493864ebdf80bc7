"""What run.py found, for people: results.json, and from that alone RESULTS.md and exact.png."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from masker.evaluation.tally import Figure, mean, resampling

TITLES = {"lasertagger": "LaserTagger", "felix": "FelixInsert", "bert2bert": "Bert2Bert"}
AVERAGE = "average"
PRINTED = {  # Exact in the paper's Table 2, by student and silver
    ("lasertagger", False): {0: 0.00, 450: 12.32, 4_500: 25.74, 45_000: 38.46},
    ("lasertagger", True): {0: 19.61, 450: 25.97, 4_500: 34.20, 45_000: 42.41},
    ("felix", False): {0: 0.00, 450: 15.34, 4_500: 34.11, 45_000: 46.09},
    ("felix", True): {0: 18.22, 450: 25.23, 4_500: 38.43, 45_000: 47.21},
    ("bert2bert", False): {0: 0.00, 450: 0.00, 4_500: 3.35, 45_000: 42.07},
    ("bert2bert", True): {0: 13.05, 450: 16.57, 4_500: 30.14, 45_000: 43.03},
}
PRINTED_GAIN = {0: 16.96, 450: 13.37, 4_500: 13.19, 45_000: 2.01}  # on average
Hits = Mapping[tuple[str, int, bool], Sequence[bool]]  # student, gold pairs, silver -> which outputs are right


def gains(hits: Hits) -> list[dict[str, Any]]:
    """What silver pairs add to Exact: for every student and on average, with paired 95 % intervals."""
    differences: dict[tuple[str, int], np.ndarray] = {}
    for student, gold, silver in hits:
        if silver and (student, gold, False) in hits:
            pair = [np.asarray(hits[student, gold, s], dtype=float) for s in (True, False)]
            differences[student, gold] = pair[0] - pair[1]
    students = list(dict.fromkeys(student for student, _ in differences))
    for gold in dict.fromkeys(gold for _, gold in differences):
        if all((student, gold) in differences for student in students):
            differences[AVERAGE, gold] = np.mean([differences[student, gold] for student in students], axis=0)
    found = []
    for (student, gold), values in differences.items():
        figure = Figure.of(mean(values).figures(resampling(len(values))))
        bounds = [round(figure.low, 4), round(figure.high, 4)]
        found.append({"student": student, "gold": gold, "exact": round(figure.value, 4), "exact_ci": bounds})
    return found


def write(results: Mapping[str, Any], out: Path) -> None:
    """results.json with a cell a line, RESULTS.md and exact.png."""
    cells = ",\n".join(json.dumps(cell) for cell in results["cells"])
    rest = json.dumps({key: value for key, value in results.items() if key != "cells"}, indent=1)
    (out / "results.json").write_text(f'{{"cells": [\n{cells}\n],{rest[1:]}\n', "utf-8")
    (out / "RESULTS.md").write_text(markdown(results), "utf-8")
    if results["cells"]:
        plot(results, out / "exact.png")


def markdown(results: Mapping[str, Any]) -> str:
    """RESULTS.md, made of nothing but the results."""
    copy = results["copy"]
    return TEMPLATE.substitute(
        test=f"{results['test']:,}",
        corpus=f"The corpus is DiscoFuse's `{results['corpus']}`." if results.get("corpus") else STAND_IN,
        copy=f"Exact {_figure(copy, 'exact')}, SARI {_figure(copy, 'sari')}",
        exact=_table(results["cells"], "exact", printed=True),
        gains=_gains(results["gains"]),
        verdict=_verdict(results["gains"]),
        losses=_losses(results["cells"]),
        lasertagger=_table(results["cells"], "sari_lasertagger"),
        sari=_table(results["cells"], "sari"),
        silver=_silver(results["silver"]),
        runs=_runs(results["cells"]),
    )


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _figure(row: Mapping[str, Any], name: str, sign: str = "") -> str:
    low, high = row[f"{name}_ci"]
    return f"{row[name]:{sign}.2f} ({low:{sign}.1f} to {high:{sign}.1f})"


def _sizes(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted({row["gold"] for row in rows})


def _table(cells: Sequence[Mapping[str, Any]], name: str, *, printed: bool = False) -> str:
    sizes = _sizes(cells)
    heads = [f"{size:,}" + (", paper" if theirs else "") for size in sizes for theirs in ((False, True)[: 1 + printed])]
    lines = [_line(["student", *heads]), "|---|" + "---:|" * len(heads)]
    found = {(cell["student"], cell["silver"], cell["gold"]): cell for cell in cells}
    for (student, silver), figures in PRINTED.items():
        if not any(key[:2] == (student, silver) for key in found):
            continue
        row = []
        for size in sizes:
            cell = found.get((student, silver, size))
            row.append(_figure(cell, name) if cell else "not run")
            row += [f"{figures[size]:.2f}" if size in figures else ""] * printed
        lines.append(_line(["+ silver pairs" if silver else TITLES[student], *row]))
    return "\n".join(lines)


def _gains(found: Sequence[Mapping[str, Any]]) -> str:
    sizes = _sizes(found)
    lines = [_line(["gain by silver pairs", *(f"{size:,}" for size in sizes)]), "|---|" + "---:|" * len(sizes)]
    cells = {(gain["student"], gain["gold"]): gain for gain in found}
    for student in dict.fromkeys(gain["student"] for gain in found):
        row = [_figure(cells[student, s], "exact", "+") if (student, s) in cells else "not run" for s in sizes]
        title = TITLES.get(student, "**average**")
        lines.append(_line([title, *row]))
        theirs = [_printed_gain(student, size) for size in sizes]
        lines.append(_line([f"{title}, paper", *(f"{gain:+.2f}" if gain is not None else "" for gain in theirs)]))
    return "\n".join(lines)


def _verdict(found: Sequence[Mapping[str, Any]]) -> str:
    """For how many students the gain is beyond its interval, said outright."""
    said = []
    for size in _sizes(found):
        rows = [gain for gain in found if gain["gold"] == size and gain["student"] != AVERAGE]
        up, down = (sum(side * gain["exact_ci"][0 if side > 0 else 1] > 0 for gain in rows) for side in (1, -1))
        worse = f" and worse for {down}" if down else ""
        said.append(f"at {size:,} gold pairs for {up} of {len(rows)} students{worse}")
    return f"Exact is higher beyond the interval {', '.join(said)}." if said else ""


def _losses(cells: Sequence[Mapping[str, Any]]) -> str:
    """Where a student that knows the silver pairs is worse after gold pairs than before."""
    exact = {(cell["student"], cell["gold"]): cell["exact"] for cell in cells if cell["silver"]}
    found = [
        f"{TITLES[student]} falls from {exact[student, 0]:.2f} to {value:.2f} with {gold:,} gold pairs"
        for (student, gold), value in exact.items()
        if value < exact.get((student, 0), 0)
    ]
    said = "Gold pairs after silver ones, at the learning rate of gold pairs alone, can make a student forget: "
    return f"{said}{', '.join(found)}." if found else ""


def _printed_gain(student: str, size: int) -> float | None:
    if student == AVERAGE:
        return PRINTED_GAIN.get(size)
    with_, without = (PRINTED[student, silver].get(size) for silver in (True, False))
    return None if with_ is None or without is None else with_ - without


def _silver(state: Mapping[str, Any] | None) -> str:
    if state is None:
        return "No silver pairs were written."
    dropped = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in state["dropped"].items() if count)
    search = state["settings"]["options"].get("method") == "search"
    method = "the search editor" if search else "the paper's method"
    none = f"; the others gave none ({dropped})" if dropped else ""
    rest = state["texts"] - state["lines"]
    cut = f" The {rest:,} other texts that were set aside were not rewritten." if rest else ""
    return f"By {method}, {state['kept']:,} pairs out of {state['lines']:,} fused texts{none}.{cut}"


def _runs(cells: Sequence[Mapping[str, Any]]) -> str:
    heads = ["student", "gold pairs", "silver", "steps", "lr", "copied, %", "training, s", "test, s"]
    lines = [_line(heads), "|---|---:|---|---|---:|---:|---:|---:|"]
    for cell in cells:
        steps = " + ".join(str(made.get("steps", "?")) for made in cell["made"]) or "none"
        lr = cell["made"][-1].get("lr", "") if cell["made"] else ""
        row = [TITLES[cell["student"]], f"{cell['gold']:,}", "yes" if cell["silver"] else "no", steps, lr]
        lines.append(_line([*row, f"{cell['copied']:.1f}", cell["seconds"]["training"], cell["seconds"]["editing"]]))
    return "\n".join(lines)


def plot(results: Mapping[str, Any], path: Path) -> None:
    """Exact against gold pairs, a panel a student: solid with silver pairs, dashed without."""
    from matplotlib.figure import Figure as Picture

    students = [student for student in TITLES if any(cell["student"] == student for cell in results["cells"])]
    sizes = _sizes(results["cells"])
    fig = Picture(figsize=(1 + 3.6 * len(students), 4.2), layout="constrained")
    panels = fig.subplots(1, len(students), sharey=True, squeeze=False)[0]
    for ax, student in zip(panels, students, strict=True):
        for silver, style, colour in ((True, "-", "#d62728"), (False, "--", "#1f77b4")):
            row = sorted(
                (c for c in results["cells"] if c["student"] == student and c["silver"] == silver),
                key=lambda cell: cell["gold"],
            )
            label = "with silver pairs" if silver else "without"
            x, y = [sizes.index(cell["gold"]) for cell in row], [cell["exact"] for cell in row]
            bounds = [[abs(cell["exact"] - cell["exact_ci"][side]) for cell in row] for side in (0, 1)]
            ax.errorbar(x, y, yerr=bounds, fmt=f"o{style}", color=colour, capsize=3, label=label)
            for place, value in zip(x, y, strict=True):
                shift = (-4, 9) if silver else (10, -15)
                ax.annotate(f"{value:.1f}", (place, value), shift, textcoords="offset points", ha="center",
                            color=colour, fontsize=8)  # fmt: skip
        ax.axhline(results["copy"]["exact"], color="#888888", linewidth=0.8, linestyle=":", label="copy of the input")
        ax.set_title(TITLES[student])
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.set_xlabel("gold pairs")
        ax.margins(x=0.12, y=0.12)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    panels[0].set_ylabel("Exact on test, %")
    panels[0].legend(loc="upper left", frameon=False)
    fig.savefig(path, dpi=150)


STAND_IN = """\
The corpus is DiscoFuse's in format and in its kinds of fusion, but was rebuilt from Wikipedia, with more pairs that one
small edit solves: compare the order of the figures and the gains with the paper's, not the figures."""
TEMPLATE = Template("""\
# Low-resource sentence fusion

The paper's Table 2 on $test texts of test: students trained on gold pairs alone, and on Masker's silver pairs first.
$corpus Made by `run.py`
from `results.json`; in brackets 95 % bootstrap intervals.

## Exact

$exact

A copy of the input: $copy.

With 0 gold pairs and no silver ones a student is untrained: new layers with random weights on a pretrained encoder. An
untrained Bert2Bert writes nothing, and a text of which nothing would be left stays as it is.

![Exact against gold pairs](exact.png)

$gains

$verdict The interval of a gain is over the same texts with and without silver pairs.
$losses

## SARI

With LaserTagger's deletion score, and below as Xu et al. (2016) define it, where who deletes nothing deletes nothing
wrongly: a copy does well by it.

$lasertagger

$sari

## Silver pairs

$silver

The fused text is the target, the text that Masker split is the input. They were drawn from the training rows by a fixed
seed; gold pairs and the text that Masker was fitted to come from other rows, and no sentence is in two of the parts,
nor in dev or test.

## Runs

Batch sizes are the paper's (silver 256; 450: 32; 4,500: 64; 45,000: 128). Its learning rate is for BERT-base; the
encoders here are smaller, so it is higher. The paper trained until convergence; here the number of steps is fixed,
which is what was cut for time. As in the paper the best checkpoint on validation pairs is kept: of three, on silver
pairs that were held out, or on a few hundred pairs of dev for gold. All students of a kind that start from silver pairs
share one pretraining, whose steps stand first; its time is in the first of them. A LaserTagger has one for every number
of gold pairs, because the phrases that it can insert are counted in silver and gold pairs. Several were trained at a
time on one GPU, so that the times overlap and are longer than they would be alone.

$runs
""")
