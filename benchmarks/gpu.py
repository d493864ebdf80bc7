"""Speed on one GPU, in a few minutes: `python benchmarks/gpu.py --out benchmarks/gpu.json`.

First the methods of `masker edit` with the embedded model. Then the paper's, exhaustive and pruned, file to file, with
that and a model of MPNet-base's size with random weights. With `--pretraining FOLDER`, which `masker pretrain` has
written on this machine, also how fast that training was. What is known is written at once, lest a time limit lose it.

`--device cpu --lines 100` tries the methods where there is no GPU.
"""

import argparse
import gc
import gzip
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from masker import Masker, PaddedMLM
from masker.bench.flops import Shape
from masker.bench.texts import sample
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
    """Lines of a file in, lines of a file out; the first chunks have been through before, and are forgotten."""
    list(masker.edit_stream(lines[:8192], to, method="paper"))  # memory is set aside as it is needed
    masker.model.vocabulary.forget()
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


def methods(lines: list[str], to: str, device: str) -> Iterator[tuple[str, float]]:
    """Lines a second by each method of `masker edit`, in one process that is warm. Each has a fifth of the lines, and
    the last is to get warm: what is remembered of a line would flatter whoever sees it again.
    """
    masker, size, paper = Masker.from_pretrained(device=device), len(lines) // 5, 0.0
    for k, method in enumerate(("paper", "fast", "search", "auto")):
        masker.edit(lines[4 * size :], to=to, method=method)
        start = time.perf_counter()
        masker.edit(lines[k * size : (k + 1) * size], to=to, method=method)
        rate = size / (time.perf_counter() - start)
        paper = paper or rate
        print(f"{method:<9} {rate:8.0f}/s  {rate / paper:.2f} of the paper's", flush=True)
        yield method, rate


def different_lines(path: Path | None, count: int) -> list[str]:
    """So many lines of a file, or else of Yelp's negative training lines, if MASKER_DATA says where they are, or else
    made-up ones: none of them twice, in an order that says nothing, and fewer if there are no more.
    """
    data = os.environ.get("MASKER_DATA")
    path = path or (Path(data) / "yelp" / "sentiment.train.0.gz" if data else None)
    if path is None:
        lines = sample(4 * count)
    else:
        raw = path.read_bytes()
        lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines()
    lines = list(dict.fromkeys(lines))
    return random.Random(0).sample(lines, min(count, len(lines)))


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
    parser.add_argument("--texts", type=Path, help="a file with that many different lines; else Yelp's of MASKER_DATA")
    parser.add_argument("--pretraining", type=Path, help="folder that masker pretrain has written here")
    parser.add_argument("--device", default="cuda", help="cpu tries the methods alone")
    options = parser.parse_args()
    lines, on_gpu = different_lines(options.texts, options.lines), options.device != "cpu"
    result: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name() if on_gpu else "none", "torch": torch.__version__,
        "words": sum(len(line.split()) for line in lines) / len(lines), "different": len(lines), "methods": {},
        "runs": [],
    }  # fmt: skip

    def save() -> None:
        options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")

    for method, rate in methods(lines, "positive", options.device):
        result["methods"][method] = rate
        save()
    if not on_gpu:
        return
    result["matmul_bf16"], small = matmul_rate(), PaddedMLM.from_pretrained()
    for name, model, count in (("embedded", small, len(lines)), ("base", base_size(small), len(lines) // 2)):
        for prune in (False, True):
            masker = Masker(model, device="cuda", prune=prune)
            run = {"model": name, "method": "pruned" if prune else "exhaustive"}
            run |= file_to_file(masker, lines[:count], "positive")
            run["of_matmul"] = run["flops"] / result["matmul_bf16"]
            result["runs"].append(run)
            save()
            print(f"{name:<9} {run['method']:<11} {run['per_second']:8.0f}/s  {run['of_matmul']:.1%} of matmul")
    if options.pretraining:
        run = training(options.pretraining)
        result["training"] = {**run, "of_matmul": run["flops"] / result["matmul_bf16"]}
        save()
        print(f"training  {run['tokens_per_second']:,.0f} tokens/s  {result['training']['of_matmul']:.1%} of matmul")


if __name__ == "__main__":
    main()
