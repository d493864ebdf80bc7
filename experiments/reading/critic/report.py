"""What the embedded critic makes of rewrites that were read: `python experiments/reading/critic/report.py FILE...`.

Writes RESULTS.md and reliability.png beside this file: how many rewrites of each confidence were acceptable, and how
many of the surest ones are. A FILE has ratings as `masker critic` reads them, with `chosen_by` for the system.
"""

import json
import lzma
import sys
from pathlib import Path

import matplotlib
import numpy as np

from masker import Masker

matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
BINS = np.array([0, 0.2, 0.4, 0.6, 0.8, 1.0])
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The confidence of the default's rewrites in a file, and whether they were acceptable."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["chosen_by"] == "auto" and row["text"] != row["source"]]
    critic, sure = Masker.from_pretrained().critic, np.zeros(len(rows))
    assert critic
    for to in sorted({row["to"] for row in rows}):
        mine = [k for k, row in enumerate(rows) if row["to"] == to]
        sure[mine] = critic.accepts(to, [rows[k]["source"] for k in mine], [rows[k]["text"] for k in mine])
    return sure, np.array([min(row["style"], row["content"], row["fluency"]) >= 4 for row in rows])


def tables(name: str, sure: np.ndarray, good: np.ndarray) -> str:
    order = np.argsort(-sure)
    best = [good[order[: max(1, round(share * len(order)))]].mean() for share in SHARES]
    bins = np.minimum(np.digitize(sure, BINS) - 1, len(BINS) - 2)
    lines = [f"## {name}: {len(good)} rewrites, {100 * good.mean():.0f} % acceptable\n",
             "| the surest | acceptable |", "|---:|---:|",
             *(f"| {100 * share:.0f} % | {100 * value:.0f} % |" for share, value in zip(SHARES, best, strict=True)),
             "\n| confidence | rewrites | on average | acceptable |", "|---|---:|---:|---:|"]  # fmt: skip
    for k in range(len(BINS) - 1):
        if (mine := bins == k).any():
            said, true = 100 * sure[mine].mean(), 100 * good[mine].mean()
            lines.append(f"| {BINS[k]:.1f} to {BINS[k + 1]:.1f} | {mine.sum()} | {said:.0f} % | {true:.0f} % |")
    return "\n".join(lines) + "\n"


def draw(found: dict[str, tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    axes[0].plot([0, 100], [0, 100], color="0.7", linewidth=1)
    for (name, (sure, good)), colour in zip(found.items(), ("#1f3b73", "#d62728", "#2a9d8f"), strict=False):
        bins = np.minimum(np.digitize(sure, BINS) - 1, len(BINS) - 2)
        there = [k for k in range(len(BINS) - 1) if (bins == k).sum() >= 5]
        said, true = ([100 * what[bins == k].mean() for k in there] for what in (sure, good))
        axes[0].plot(said, true, "o-", color=colour, label=name)
        order, shares = np.argsort(-sure), np.linspace(0.1, 1, 19)
        best = [100 * good[order[: max(1, round(share * len(order)))]].mean() for share in shares]
        axes[1].plot(100 * shares, best, color=colour, label=name)
    axes[0].set(xlabel="confidence, %", ylabel="acceptable, %", title="Is it as sure as it should be?")
    axes[1].set(xlabel="the surest, % of the rewrites", title="How good are the surest?", ylim=(0, 100))
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})


def main() -> None:
    found = {path.name.partition(".")[0]: read(path) for path in map(Path, sys.argv[1:])}
    text = "# Confidence, and what readers said\n\n" + "\n".join(tables(name, *both) for name, both in found.items())
    (HERE / "RESULTS.md").write_text(text + "\n![Reliability](reliability.png)\n", "utf-8")
    draw(found, HERE / "reliability.png")


main()
