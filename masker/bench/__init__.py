"""How fast Masker is here: always as a ratio to a naive loop and to this machine's matmul rate, of the same run."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from masker.bench.texts import RAW, sample
from masker.errors import MaskerError, missing

WAYS = (
    "naive",
    "batched",
    "exhaustive",
    "pruned",
    "int8 exhaustive",
    "int8 pruned",
    "search",
    "auto",
    "fast",
    "student",
)
SLOW = ("naive", "batched")
OTHERS = ("search", "auto", "fast", "student")  # methods of their own: their edits are not those of the paper's
FIRST = ("fast", "auto", "search", "paper")  # methods of masker edit
LENGTHS = (8, 16, 32, 64, 128)  # words a text
SIZES = (8, 32, 128)  # texts a corpus


def bench(
    texts: Sequence[str], *, to: str = "positive", model: str | None = None, student: str | None = None,
    ways: Sequence[str] = WAYS, growth: bool = True, report: Callable[[str], None] = print,
) -> dict[str, Any]:  # fmt: skip
    """Time every way that is possible here on the same texts; and how cost grows with length and number of texts.

    A model that has not been exported is, into a folder that is gone afterwards. `report` is told what goes on.
    """
    if not texts:
        raise MaskerError("there is nothing to time; give a file with a few lines of text")
    if find_spec("torch") is None:
        raise missing("train", "timing")
    from masker.model.folder import exported_folder
    from masker.runtime import cores

    with tempfile.TemporaryDirectory() as folder:
        exported = _exported(model, Path(folder), report)
        usual = {"to": to, "model": model, "student": student, "exported": exported}
        rates = _worker({"way": "matmul", "model": model, "rows": 112, "tokens": 18, "exported": exported}) or {}
        possible = {"int8 exhaustive": exported, "int8 pruned": exported, "student": student}
        rows = _rows(texts, [way for way in ways if possible.get(way, True)], usual, report)
        found = {row["way"]: row for row in rows}
        whole = found.get("exhaustive", {}).get("edited")
        for row in rows:
            row["per_second"] = row["sentences"] / row["seconds"]
            row["ratio"] = row["per_second"] / found["naive"]["per_second"] if "naive" in found else None
            rate = rates.get("int8" if row["way"].startswith("int8") else "float32")
            row["of_matmul"] = row["flops"] / row["seconds"] / rate if row["flops"] and rate else None
            edited, other = row.pop("edited"), row["way"] in OTHERS
            row["same_edits"] = None if other or not whole else sum(map(str.__eq__, edited, whole)) / len(whole)
        result = {"texts": len(texts), "cores": cores(), "matmul": rates, "ways": rows}
        result["first"] = dict(_first(model, to, report)) if exported_folder(model) else {}
        if growth:
            report("how cost grows")
            result["growth"] = list(_growth(texts, usual, "int8 pruned" if exported else "pruned"))
            result["raw"] = _raw(usual, report)
        return result


def _rows(
    texts: Sequence[str], ways: Sequence[str], usual: dict[str, Any], report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """What each way took, in turns: a machine that others use too is now fast, now slow. Slow ways do a part a turn."""
    turns, sums = max(1, min(4, len(texts) // 8)), ("sentences", "seconds", "passes", "flops")
    rows: dict[str, dict[str, Any]] = {}
    for turn in range(turns):
        for way in ways:
            part = slice(turn, None, turns) if way in SLOW else slice(None)
            result = _worker({"way": way, "texts": list(texts[part]), **usual}, may_fail=way in OTHERS)
            if not result:
                continue
            report(f"{turn + 1}/{turns} {way}: {result['sentences'] / result['seconds']:.2f} sentences/s")
            row = rows.setdefault(
                way, {"way": way, **dict.fromkeys(sums, 0), "peak_mb": 0, "edited": [""] * len(texts)}
            )
            row["edited"][part] = result["edited"]
            row["peak_mb"] = max(row["peak_mb"], result["peak_mb"])
            for name in sums:
                row[name] += result[name]
    for row in rows.values():
        row["passes"] = row["passes"] / row["sentences"] or None
    return list(rows.values())


def _exported(model: str | None, folder: Path, report: Callable[[str], None]) -> str | None:
    """A folder of the model with graphs for ONNX Runtime: its own, or one in `folder`, if that can be made."""
    from masker.model.folder import exported_folder

    if own := exported_folder(model):
        return str(own)
    report("exporting")
    command = [sys.executable, "-m", "masker", "export", *([model] if model else []), "--out", str(folder / "exported")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # or its memory would be counted
    if done.returncode:
        report(f"not timed in int8: {_last(done.stderr)}")
        return None
    return str(folder / "exported")


def _growth(texts: Sequence[str], usual: dict[str, Any], way: str) -> Iterator[dict[str, Any]]:
    words = " ".join(text.rstrip(" .!?") for text in [*texts, *sample(64)]).split()
    for length in LENGTHS:
        text = [" ".join([*words[at : at + length - 1], "."]) for at in range(2)]
        result = _worker({"way": way, "texts": text, **usual}) or {}
        yield {"words": length, "texts": 2, "seconds": result["seconds"] / 2, "peak_mb": result["peak_mb"]}
    for size in SIZES:
        many = [texts[k % len(texts)] for k in range(size)]
        result = _worker({"way": way, "texts": many, **usual}) or {}
        yield {"words": None, "texts": size, "seconds": result["seconds"] / size, "peak_mb": result["peak_mb"]}


def _first(model: str | None, to: str, report: Callable[[str], None]) -> Iterator[tuple[str, float]]:
    """Seconds until a fresh process has rewritten ten words, the shortest of three."""
    text = "the food was cold and the staff was rude ."
    for method in FIRST:
        command = [sys.executable, "-m", "masker", "edit", "--to", to, "--method", method]
        command += ["--model", model] if model else []
        times = []
        for _ in range(3):
            start = time.perf_counter()
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            times.append(time.perf_counter() - start)
        if not done.returncode:
            report(f"first rewrite of a fresh process, {method}: {min(times):.2f} s")
            yield method, min(times)


def _raw(usual: dict[str, Any], report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Seconds for texts as people write them, one at a time."""
    rows: list[dict[str, Any]] = [{"words": len(text.split())} for text in RAW]
    for way in ("fast", "auto", "search", "pruned"):
        report(f"raw texts, {way}")
        if result := _worker({"way": way, "texts": RAW, "each": True, **usual}, may_fail=way in OTHERS):
            for row, seconds in zip(rows, result["each"], strict=True):
                row[way] = seconds
    return rows


def _worker(spec: dict[str, Any], *, may_fail: bool = False) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "masker.bench.worker"]
    done = subprocess.run(command, input=json.dumps(spec), capture_output=True, text=True, check=False)
    if done.returncode:
        last = _last(done.stderr)
        if may_fail and ("style classifier" in last or "student" in last):  # the model has none
            return None
        raise MaskerError(f"timing '{spec['way']}' failed: {last}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _last(message: str) -> str:
    return (message.strip().splitlines() or ["no message"])[-1]


def table(result: dict[str, Any]) -> str:
    """The ways as a Markdown table."""
    lines = [
        "| way | sentences/s | x naive | passes | peak MB | of matmul rate | same edits |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["ways"]:
        cells = [
            row["way"], f"{row['per_second']:.2f}", _cell(row["ratio"], ".1f"), _cell(row["passes"], ".1f"),
            f"{row['peak_mb']:.0f}", _cell(row["of_matmul"], ".0%"),
            _cell(row["same_edits"], ".1%"),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    rates = ", ".join(f"{kind} {rate / 1e9:.0f} G/s" for kind, rate in result["matmul"].items())
    lines += ["", f"{result['texts']} texts, {result['cores']} cores, matmul rate: {rates}"]
    if "growth" in result:
        lines += ["", "| words a text | texts | s a text | peak MB |", "|---|---|---|---|"]
        for row in result["growth"]:
            words = row["words"] or "as they are"
            lines.append(f"| {words} | {row['texts']} | {row['seconds']:.3f} | {row['peak_mb']:.0f} |")
        ways = [name for name in result["raw"][0] if name != "words"]
        lines += [
            "",
            f"| words of a raw text | {' | '.join(f'{way}, s' for way in ways)} |",
            "|---" * (len(ways) + 1) + "|",
        ]
        lines += [f"| {row['words']} | {' | '.join(f'{row[way]:.3f}' for way in ways)} |" for row in result["raw"]]
    if result["first"]:
        first = ", ".join(f"{method} {seconds:.2f} s" for method, seconds in result["first"].items())
        lines += ["", f"first rewrite of a fresh process, ten words: {first}"]
    return "\n".join(lines)


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def plot(result: dict[str, Any], path: Path) -> None:
    """How cost grows, as a picture."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator
    except ImportError as error:
        raise missing("plot", "a picture") from error
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    by_length = [row for row in result["growth"] if row["words"]]
    by_size = [row for row in result["growth"] if not row["words"]]
    left.plot([r["words"] for r in by_length], [r["seconds"] for r in by_length], "o-")
    left.set(xlabel="words a text", ylabel="seconds a text", xscale="log", yscale="log")
    right.plot([r["texts"] for r in by_size], [r["texts"] * r["seconds"] for r in by_size], "o-")
    right.set(xlabel="texts", ylabel="seconds", xscale="log", yscale="log")
    for axes in (left, right):
        axes.set_xticks(axes.lines[0].get_xdata(), labels=[f"{x:g}" for x in axes.lines[0].get_xdata()])
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
