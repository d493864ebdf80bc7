"""Write RESULTS.md from what was measured: cpu.json, gpu.json, figure1.json and memory.json beside this file.

masker bench --format json --plot benchmarks/growth.png > benchmarks/cpu.json
masker pretrain TEXT --size base --window 128 --batch-size 512 --dropout 0 --compile --steps 240 --out runs/pre  # GPU
MASKER_DATA=DATA python benchmarks/gpu.py --pretraining runs/pre --out benchmarks/gpu.json
python benchmarks/figure1.py --out benchmarks/figure1.json
python benchmarks/memory.py MODEL --out benchmarks/memory.json
python benchmarks/results.py
"""

import json
from pathlib import Path
from typing import Any

from masker.bench import table

HERE = Path(__file__).parent


def read(name: str) -> Any:
    path = HERE / name
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def main() -> None:
    parts = [
        "# Speed",
        "",
        "Every figure is to be read against the others of its run. Written by `benchmarks/results.py`.",
    ]
    if cpu := read("cpu.json"):
        parts += ["", f"## CPU, {cpu['cores']} cores, the embedded model", "", table(cpu), ""]
        parts += [
            "Taken in turns, since a machine may be shared. Exhaustive and pruned are in float32, search and auto in "
            "int8 with float32 as their referee, fast in int8, all by ONNX Runtime; the matmul rate is the higher one "
            "of PyTorch's and ONNX Runtime's."
        ]
        if (HERE / "growth.png").is_file():
            parts += ["", "![How cost grows](growth.png)"]
    if figure := read("figure1.json"):
        parts += ["", "## The Figure 1 sentence, a model of BERT-base's size", ""]
        parts += [
            f"Naive loop {figure['naive']:.1f} s; Masker {figure['pruned']:.2f} s, exported {figure['int8']:.2f} s. "
            "The weights are random, so that pruning saves nothing."
        ]
    if gpu := read("gpu.json"):
        parts += ["", f"## One GPU: {gpu['gpu']}, file to file", ""]
        parts += [
            f"{gpu['different']:,} Yelp sentences of {gpu['words']:.1f} words on average, in bfloat16.",
            "",
        ]
        parts += ["| model | method | sentences/s | passes | peak GiB | of matmul rate |", "|---|---|---|---|---|---|"]
        for run in gpu["runs"]:
            cells = [run["model"], run["method"], f"{run['per_second']:.0f}", f"{run['passes']:.1f}",
                     f"{run['peak_gib']:.1f}", f"{run['of_matmul']:.1%}"]  # fmt: skip
            parts.append("| " + " | ".join(cells) + " |")
        parts += ["", f"Matmul rate: {gpu['matmul_bf16'] / 1e12:.0f} T/s in bfloat16. Both ways make the same edits; "
                  "pruning asks few questions at a time, which a GPU has no use for, so it is off there."]  # fmt: skip
        if rates := gpu.get("methods"):
            said = ", ".join(f"{method} {rate:,.0f}" for method, rate in rates.items())
            parts += ["", f"Sentences a second by the methods of `masker edit`, in one process that is warm: {said}. "
                      "All but the first wait for Python; processes that share a GPU add up."]  # fmt: skip
        if run := gpu.get("training"):
            parts += ["", f"Training (`masker pretrain --size base --compile`, {run['batch']} rows of {run['window']} "
                      f"pieces): {run['tokens_per_second']:,.0f} tokens/s, {run['of_matmul']:.1%} of the matmul rate. "
                      "Tokens are those of the texts and their masks, not what rows are filled up with."]  # fmt: skip
    if memory := read("memory.json"):
        parts += ["", "## Memory", "", "| lines | peak MB |", "|---|---|"]
        parts += [f"| {row['lines']:,} | {row['peak_mb']:.0f} |" for row in memory]
    (HERE / "RESULTS.md").write_text("\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
