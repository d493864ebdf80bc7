"""Speed on one GPU, file to file, in under 90 seconds: `python benchmarks/gpu.py --out benchmarks/gpu.json`.

The embedded model, and a model of MPNet-base's size with random weights; the paper's method, exhaustive and pruned.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from masker import Masker, PaddedMLM
from masker.bench import default_texts, sample
from masker.bench.flops import Shape
from masker.bench.worker import Counting
from masker.settings import Settings


def base_size(small: PaddedMLM) -> PaddedMLM:
    """109M parameters of no use, with the vocabulary and the domains of another model."""
    from transformers import AutoModelForMaskedLM, MPNetConfig

    v = small.vocabulary
    ids = {"pad_token_id": v.pad, "bos_token_id": v.start[0], "eos_token_id": v.end[0]}
    torch.manual_seed(0)
    mlm = AutoModelForMaskedLM.from_config(MPNetConfig(vocab_size=len(v), **ids)).eval()
    model = PaddedMLM(mlm, v, Settings(domains=dict(small.settings.domains)))
    return model


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


def file_to_file(masker: Masker, lines: list[str], to: str, **options: Any) -> dict[str, Any]:
    """Lines of a file in, lines of a file out; the first chunk has been through before."""
    counts = Counting(masker._runtime.runtime if isinstance(masker._runtime, Counting) else masker._runtime)
    counts.shape = Shape.of(masker.model, None)
    list(masker.edit_stream(lines[:1024], to, method="paper", **options))
    torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in", Path(folder) / "out"
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        torch.cuda.synchronize()
        start = time.perf_counter()
        with source.open(encoding="utf-8") as texts, target.open("w", encoding="utf-8") as out:
            for rewrite in masker.edit_stream((text.rstrip("\n") for text in texts), to, method="paper", **options):
                out.write(rewrite.text + "\n")
        seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 2**30
    masker._runtime = masker._source_runtime = counts  # type: ignore[assignment]
    part = lines[:2048]
    list(masker.edit_stream(part, to, method="paper", **options))
    masker._runtime = masker._source_runtime = counts.runtime
    return {
        "lines": len(lines), "seconds": seconds, "per_second": len(lines) / seconds, "peak_gib": peak,
        "passes": counts.rows / len(part), "flops": counts.flops / len(part) * len(lines) / seconds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=24_000)
    options = parser.parse_args()
    texts = default_texts(500)
    lines = [texts[k % len(texts)] for k in range(options.lines)] or sample(options.lines)
    small = PaddedMLM.from_pretrained()
    result: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "matmul_bf16": matmul_rate(), "runs": [],
    }  # fmt: skip
    begun = time.perf_counter()
    for name, model, count in (("embedded", small, len(lines)), ("base", base_size(small), len(lines) // 6)):
        for prune in (False, True):
            masker = Masker(model, device="cuda", prune=prune)
            run = file_to_file(masker, lines[:count], "positive")
            result["runs"].append({"model": name, "method": "pruned" if prune else "exhaustive", **run})
        if time.perf_counter() - begun > 60:
            break
    for attention in ("eager", "sdpa"):  # which is faster here, and how the size of a batch matters
        for tokens in (65_536, 262_144):
            if time.perf_counter() - begun > 75:
                break
            masker = Masker(small, device="cuda", prune=False, batch_tokens=tokens)
            masker._runtime.model.mlm.set_attn_implementation(attention)  # type: ignore[attr-defined]
            run = file_to_file(masker, lines[: len(lines) // 4], "positive")
            result["runs"].append({"model": "embedded", "method": f"exhaustive, {attention}, {tokens} tokens", **run})
    for run in result["runs"]:
        run["of_matmul"] = run["flops"] / result["matmul_bf16"]
    options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    for run in result["runs"]:
        print(f"{run['model']:<9} {run['method']:<32} {run['per_second']:8.0f}/s  {run['of_matmul']:.1%} of matmul")


if __name__ == "__main__":
    main()
