"""Spark on this machine against as many independent runs of masker edit: ENGINES.md.

    python benchmarks/engines.py --lines 200000 --processes 2 --out benchmarks/engines.json

The same lines, by the fast student of the embedded model. Independent runs have a share of the lines each and begin
together; the ratio is their seconds by Spark's, all from the start of a process to its end. On a machine that others
use, too, look at the seconds of the processors instead: those of all processes of a run, Java's among them. The outputs
are compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from cost_model import sentences

HERE = Path(__file__).parent
FAST = ["--to", "positive", "--method", "fast"]


Spent = tuple[float, float]  # seconds, and those of the processors


def independent(folder: Path, lines: list[str], processes: int) -> Spent:
    share = -(-len(lines) // processes)
    commands = []
    for k in range(processes):
        (folder / f"part{k}.txt").write_text("".join(lines[k * share : (k + 1) * share]), "utf-8")
        commands.append(["edit", f"part{k}.txt", *FAST, "--out", f"new{k}.txt"])
    return timed(folder, commands)


def timed(folder: Path, commands: list[list[str]]) -> Spent:
    """Until all of some commands that are begun together have ended. Each has one thread of arithmetic."""
    began = time.perf_counter()
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen([sys.executable, "-m", "masker", *c], cwd=folder, env=env, stderr=subprocess.DEVNULL)
        for c in commands
    ]
    seen: dict[int, float] = {}
    while any(process.poll() is None for process in started):
        look(seen)
        time.sleep(0.5)
    if any(process.returncode for process in started):
        raise SystemExit(f"failed: masker {' '.join(commands[0])}")
    return time.perf_counter() - began, sum(seen.values())


def look(seen: dict[int, float]) -> None:
    """Note the seconds of the processors that the processes below this one have had so far."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            times = process.cpu_times()
            seen[process.pid] = times.user + times.system


def measure(count: int, processes: int) -> dict[str, float]:
    lines = [f"{text}\n" for text in sentences(count, seed=0)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.txt").write_text("".join(lines), "utf-8")
        apart, apart_cpu = independent(folder, lines, processes)
        spark = [
            "spark",
            "edit",
            "--input",
            "in.txt",
            "--output",
            "out.txt",
            *FAST,
            "--master",
            f"local[{processes},4]",
        ]
        together, together_cpu = timed(folder, [spark])
        one = "".join((folder / f"new{k}.txt").read_text("utf-8") for k in range(processes)).splitlines()
        two = "".join(path.read_text("utf-8") for path in sorted(folder.glob("out-0*.txt"))).splitlines()
        same = sum(a == b for a, b in zip(one, two, strict=True))
    return {
        "lines": count, "processes": processes, "independent_s": round(apart, 1), "spark_s": round(together, 1),
        "ratio": round(apart / together, 3), "independent_cpu_s": round(apart_cpu, 1),
        "spark_cpu_s": round(together_cpu, 1), "cpu_ratio": round(apart_cpu / together_cpu, 3), "same_lines": same,
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def markdown(runs: list[dict[str, float]]) -> str:
    heads = ("lines", "processes", "independent runs, s", "Spark, s", "ratio", "the same of processors", "ratio",
             "same lines", "load")  # fmt: skip
    rows = [
        f"| {r['lines']:,} | {r['processes']} | {r['independent_s']} | {r['spark_s']} | {r['ratio']:.2f} "
        f"| {r['independent_cpu_s']}, {r['spark_cpu_s']} | {r['cpu_ratio']:.2f} | {r['same_lines']:,} | {r['load']} |"
        for r in runs
    ]
    about = (__doc__ or "").strip().split("\n\n")[-1]
    return "\n".join(["# Engines", "", f"Written by `benchmarks/engines.py`. {about} The load is how many processes "
                      "the machine, of two cores, was busy with at the end; others used it, too.",
                      "", f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads), *rows, ""])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "engines.json")
    options = parser.parse_args()
    runs = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else []
    runs.append(measure(options.lines, options.processes))
    options.out.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    options.out.with_name("ENGINES.md").write_text(markdown(runs), "utf-8")
    print(runs[-1])


if __name__ == "__main__":
    main()
