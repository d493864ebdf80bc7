"""Speed on one GPU, file to file, in about a minute: `python benchmarks/gpu.py --out benchmarks/gpu.json`.

The embedded model, and a model of MPNet-base's size with random weights; the paper's method, exhaustive and pruned.
With `--pretraining FOLDER`, which `masker pretrain` has written on this machine, also how fast that training was.
"""

import argparse
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from masker import Masker, PaddedMLM
from masker.bench.flops import Shape
from masker.bench.texts import default_texts
from masker.bench.worker import counted
from masker.model.folder import SETTINGS, read_settings
from masker.model.settings import Settings
from masker.training.examples import segment


def base_size(small: PaddedMLM) -> PaddedMLM:
    """109M parameters of no use, with the vocabulary and the domains of another model."""
    from transformers import AutoModelForMaskedLM, MPNetConfig

    v = small.vocabulary
    ids = {"pad_token_id": v.pad, "bos_token_id": v.start[0], "eos_token_id": v.end[0]}
    torch.manual_seed(0)
    mlm = AutoModelForMaskedLM.from_config(MPNetConfig(vocab_size=len(v), **ids)).eval()
    return PaddedMLM(mlm, v, Settings(domains=dict(small.settings.domains)))


def matmul_rate(size: int = 8192) -> float:
    """bfloat16 operations a second of one large product."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * size**3 / (time.perf_counter() - start)


def file_to_file(masker: Masker, lines: list[str], to: str) -> dict[str, Any]:
    """Lines of a file in, lines of a file out; the first chunks have been through before."""
    list(masker.edit_stream(lines[:8192], to, method="paper"))  # memory is set aside as it is needed
    gc.freeze()  # as `masker edit` does
    torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in", Path(folder) / "out"
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        torch.cuda.synchronize()
        start = time.perf_counter()
        with source.open(encoding="utf-8") as texts, target.open("w", encoding="utf-8") as out:
            for rewrite in masker.edit_stream((text.rstrip("\n") for text in texts), to, method="paper"):
                out.write(rewrite.text + "\n")
        seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 2**30
    (counts,) = counted(masker, Shape.of(masker.model, None))
    part = lines[:1024]
    list(masker.edit_stream(part, to, method="paper"))
    return {
        "lines": len(lines), "seconds": seconds, "per_second": len(lines) / seconds, "peak_gib": peak,
        "passes": counts.rows / len(part), "flops": counts.flops / len(part) * len(lines) / seconds,
    }  # fmt: skip


def methods(texts: list[str], to: str) -> dict[str, float]:
    """Texts a second by each method of `masker edit`, in one process that has edited some before."""
    masker, rates = Masker.from_pretrained(device="cuda"), {}
    for method, times in (("paper", 2), ("fast", 4), ("search", 1), ("auto", 1)):
        masker.edit(texts[:1024], to=to, method=method)
        start = time.perf_counter()
        masker.edit(texts * times, to=to, method=method)
        rates[method] = times * len(texts) / (time.perf_counter() - start)
        print(f"{method:<9} {rates[method]:8.0f}/s")
    return rates


def training(folder: Path) -> dict[str, Any]:
    """How fast a pretraining went, from its metrics: between the first evaluation, which may have waited for a
    compiler, and the last. Tokens are those drawn, without what they are filled up with."""
    made = read_settings(folder / SETTINGS)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    first, last = rows[0], rows[-1]
    waits = [row["step"] / row["tokens_per_second"] for row in (first, last)]  # in proportion to the seconds trained
    per_second = (last["step"] - first["step"]) / (waits[1] - waits[0])
    shape, n_p, window = Shape.read(str(folder)), made.n_p, made.window
    pieces = segment(n_p)
    tokens = pieces + n_p / 2  # what a segment becomes: about n_p / 2 of its pieces are replaced by n_p masks
    length = window / pieces * tokens
    h = shape.hidden
    encoder = shape.layers * (4 * h * h + 2 * h * shape.inner + 2 * length * h)  # multiplications a token
    head = n_p / tokens * (h * h + h * shape.pieces)
    return {
        "tokens_per_second": per_second, "batch": made.made[-1]["settings"]["batch_size"], "window": window,
        "flops": 6.0 * (encoder + head) * per_second,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=24_000)
    parser.add_argument("--texts", type=Path, help="so many lines, each different; else 500 again and again")
    parser.add_argument("--pretraining", type=Path, help="folder that masker pretrain has written here")
    options = parser.parse_args()
    texts = options.texts.read_text("utf-8").splitlines() if options.texts else default_texts(500)
    lines = [texts[k % len(texts)] for k in range(options.lines)]
    small = PaddedMLM.from_pretrained()
    words = sum(len(line.split()) for line in lines) / len(lines)
    result: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "matmul_bf16": matmul_rate(), "words": words,
        "different": len(set(lines)), "runs": [],
    }  # fmt: skip
    for name, model, count in (("embedded", small, len(lines)), ("base", base_size(small), len(lines) // 2)):
        for prune in (False, True):
            masker = Masker(model, device="cuda", prune=prune)
            run = {"model": name, "method": "pruned" if prune else "exhaustive"}
            run |= file_to_file(masker, lines[:count], "positive")
            run["of_matmul"] = run["flops"] / result["matmul_bf16"]
            result["runs"].append(run)
            print(f"{name:<9} {run['method']:<11} {run['per_second']:8.0f}/s  {run['of_matmul']:.1%} of matmul")
    result["methods"] = methods(lines[:4096], "positive")
    if options.pretraining:
        run = training(options.pretraining)
        result["training"] = {**run, "of_matmul": run["flops"] / result["matmul_bf16"]}
        print(f"training  {run['tokens_per_second']:,.0f} tokens/s  {result['training']['of_matmul']:.1%} of matmul")
    options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
