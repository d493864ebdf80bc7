"""One way of editing, timed in a process of its own, so that its memory is its own: `python -m masker.bench.worker`."""

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from masker.api import Masker
from masker.bench.flops import Shape, matmul_rate, onnx_rate
from masker.core.runtime import Array, Runtime, SlotScores


@dataclass
class Counting:
    """A runtime that counts what goes through it."""

    runtime: Any
    rows: int = 0
    tokens: int = 0  # without padding
    flops: float = 0.0
    shape: Shape | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)

    def __call__(self, ids: Array, attention: Array, slots: Array, *rest: Any, **more: Any) -> SlotScores:
        self._count(attention, slots.shape[1])
        return self.runtime(ids, attention, slots, *rest, **more)

    def styles(self, ids: Array, attention: Array) -> Array:
        self._count(attention, 0)
        return self.runtime.styles(ids, attention)

    def _count(self, attention: Array, slots: int) -> None:
        rows, tokens = len(attention), int(attention.sum())
        self.rows += rows
        self.tokens += tokens
        self.flops += self.shape.flops(tokens, rows, slots) if self.shape else 0.0


def counted(masker: Masker, shape: Shape) -> list[Counting]:
    """Have what goes through the runtimes of `masker` counted from now on."""
    counts = list[Counting]()

    def counting(runtime: Runtime) -> Counting:
        one = Counting(runtime, shape=shape)
        counts.append(one)
        one.exact = counting(runtime.exact) if runtime.exact else None  # type: ignore[attr-defined]
        one.narrowed = lambda pieces: counting(runtime.narrowed(pieces))  # type: ignore[attr-defined]
        return one

    masker._runtime = masker._source_runtime = counting(masker._runtime)  # type: ignore[assignment]
    return counts


def run(way: str, texts: list[str], *, each: bool = False, **options: Any) -> dict[str, Any]:
    """Edit `texts` in one way; a student is so fast that it does them many times over, to fill its batches.

    With `each`, also one text at a time.
    """
    edit, counts = _prepared(way, **options)
    edit(texts[:1])  # whatever is made on first use
    alone = [_seconds(edit, [text]) for text in texts] if each else []
    for count in counts:
        count.rows, count.tokens, count.flops = 0, 0, 0.0
    times = 64 if way in ("student", "fast") else 1
    start = time.perf_counter()
    edited = edit(texts * times)[: len(texts)]
    return {
        "way": way, "sentences": len(texts) * times, "seconds": time.perf_counter() - start,
        "passes": sum(count.rows for count in counts), "flops": sum(count.flops for count in counts),
        "each": alone, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "edited": edited,
    }  # fmt: skip


def _seconds(edit: Callable[[list[str]], list[str]], texts: list[str]) -> float:
    start = time.perf_counter()
    edit(texts)
    return time.perf_counter() - start


def _prepared(
    way: str, *, to: str, model: str | None, student: str | None = None, exported: str | None = None
) -> tuple[Callable[[list[str]], list[str]], list[Counting]]:
    if way == "student":
        from masker.students.base import Student

        return Student.from_pretrained(str(student)).edit, []
    if way in ("naive", "batched"):
        from masker.bench.naive import Naive

        naive = Naive(model, to, batch=1 if way == "naive" else 64)
        return naive.edit, [naive.count]
    exact = way in ("exhaustive", "pruned")  # the search editor runs as it does in `masker edit`
    masker = Masker.from_pretrained(exported or model, device="cpu", exact=exact, prune="exhaustive" not in way)
    counts = counted(masker, Shape.of(masker.model, model))
    method = way if way in ("search", "auto", "fast") else "paper"
    return lambda texts: [r.text for r in masker.edit(texts, to=to, method=method)], counts


def main() -> None:
    spec = json.loads(sys.stdin.read())
    if spec["way"] == "matmul":
        size = Shape.read(spec["model"]), spec["rows"], spec["tokens"]
        rates = {"float32": matmul_rate(*size)}
        if spec["exported"]:
            rates["float32"] = max(rates["float32"], onnx_rate(*size, int8=False))  # the machine's is the faster one
            rates["int8"] = onnx_rate(*size, int8=True)
        print(json.dumps(rates))
        return
    print(json.dumps(run(**spec)))


if __name__ == "__main__":
    main()
