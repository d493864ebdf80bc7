"""What a million sentences cost: passes, FLOPs, seconds and money, measured here and checked on other sizes.

    python benchmarks/cost_model.py                            # the embedded model on this machine, exported if it is
    python benchmarks/cost_model.py --student DIR              # and a student beside it
    python benchmarks/cost_model.py --device cuda              # on a machine with a GPU
    python benchmarks/cost_model.py --processes                # also: two workers against two independent runs

The figures of each device go to benchmarks/cost/DEVICE.json, and the table of all of them to benchmarks/COST.md.
"""

import argparse
import gc
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PRICES = {"cpu": 0.04, "cuda": 4.00}  # assumed: US dollars an hour for a core, and for a GPU of the H200's class
FLEETS = {"cpu": 1000, "cuda": 8}  # workers that a billion sentences are shared among
SIZES = (8, 24, 48)  # sentences of the runs that the model is checked on, times `SCALES`
SCALES = {("cpu", False): 1, ("cpu", True): 32, ("cuda", False): 500, ("cuda", True): 1000}  # by device, for a student?
PARTS = "the food|the staff|my steak|this place|our waiter", "was|is|seemed", "terrible|rude|cold|very slow|overpriced"
MORE = "and we will not be back", "when we came in on a busy friday night", "even though nobody else was there"


def sentences(count: int, seed: int, clauses: int | None = None) -> list[str]:
    """Reviews of 5 to 30 words; `clauses` fixes their length."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        words = [rng.choice(part.split("|")) for part in PARTS]
        words += rng.sample(MORE, rng.randint(0, 3) if clauses is None else clauses)
        texts.append(" ".join([*words, "."]))
    return texts


class Meter:
    """Counts what goes through the word embeddings of any torch model: of its embeddings, the largest."""

    def __init__(self) -> None:
        self.seen: dict[Any, list[int]] = {}

    def __call__(self, module: Any, inputs: Any) -> None:
        import torch

        if isinstance(module, torch.nn.Embedding) and inputs and inputs[0].dim() == 2:
            counts = self.seen.setdefault(module, [0, 0])
            counts[0] += inputs[0].shape[0]
            counts[1] += inputs[0].numel()

    def counts(self) -> list[int]:
        return self.seen[max(self.seen, key=lambda module: module.num_embeddings)]


class Editor:
    """A model at work, and how much work it is: of a teacher what is useful, of a student also padding."""

    def __init__(self, model: str | None, device: str, *, exported: bool = False) -> None:
        from masker import Masker, PaddedMLM
        from masker.scale.job import Job
        from masker.students.base import is_student

        self.model, self.device, self.student = model, device, model is not None and is_student(model)
        if self.student:
            self.edit: Callable[[list[str]], Any] = Job("positive", model=model).load(device).edit
            return
        if exported:
            self.masker = Masker.from_pretrained(model, device="cpu")
        else:
            self.masker = Masker(PaddedMLM.from_pretrained(model), device=device)
        self.edit = lambda texts: self.masker.edit(texts, "positive", method="paper")

    def count(self, texts: list[str]) -> tuple[int, int, float]:
        """Passes, tokens and FLOPs of editing texts."""
        if self.student:
            return self._hooked(texts)
        from masker.bench.flops import Shape
        from masker.bench.worker import counted

        runtime = self.masker._runtime
        counts = counted(self.masker, Shape.of(self.masker.model, self.model))
        self.edit(texts)
        self.masker._runtime = self.masker._source_runtime = runtime
        return sum(c.rows for c in counts), sum(c.tokens for c in counts), sum(c.flops for c in counts)

    def _hooked(self, texts: list[str]) -> tuple[int, int, float]:
        from torch.nn.modules.module import register_module_forward_pre_hook
        from torch.utils.flop_counter import FlopCounterMode

        meter = Meter()
        hook = register_module_forward_pre_hook(meter)
        try:
            with FlopCounterMode(display=False) as flops:
                self.edit(texts)
        finally:
            hook.remove()
        return *meter.counts(), float(flops.get_total_flops())

    def time(self, texts: list[str]) -> float:
        """Seconds, block after block as in a long run; on a CPU those of this process, whoever else is at work."""
        clock = time.process_time if self.device == "cpu" else time.perf_counter
        began = clock()
        for at in range(0, len(texts), 4096):
            self.edit(texts[at : at + 4096])
        return clock() - began


def line(a: dict[str, float], b: dict[str, float], y: Callable[[dict[str, float]], float]) -> tuple[float, float]:
    """What y is at a text of no words, and what it grows with every word, through two points."""
    slope = (y(b) - y(a)) / (b["words"] - a["words"])
    return y(a) - slope * a["words"], slope


def measure(editor: Editor, repeats: int) -> dict[str, Any]:
    """The model of the cost: passes, tokens a pass and FLOPs a token by the words of a text, and FLOPs a second."""
    scale = SCALES["cpu" if editor.device == "cpu" else "cuda", editor.student]  # batches as full as in a long run
    editor.edit(sentences(4 * scale, 0))  # warm
    gc.freeze()  # as `masker edit` does
    points = []
    for clauses in (0, 3):
        texts = sentences(16 * scale, 1, clauses)
        passes, tokens, flops = (count / len(texts) for count in editor.count(texts))
        seconds = min(editor.time(texts) for _ in range(repeats)) / len(texts)
        words = sum(len(text.split()) for text in texts) / len(texts)
        points.append({"words": words, "passes": passes, "tokens": tokens, "flops": flops, "seconds": seconds})
    a, b = points
    rate = (b["flops"] - a["flops"]) / max(b["seconds"] - a["seconds"], 1e-9)
    figures: dict[str, Any] = {
        "passes": line(a, b, lambda p: p["passes"]),
        "tokens_a_pass": line(a, b, lambda p: p["tokens"] / p["passes"]),
        "flops_a_token": line(a, b, lambda p: p["flops"] / p["tokens"]),
        "flops_a_second": rate,
        "seconds_a_sentence": max(0.0, a["seconds"] - a["flops"] / rate),
        "mixed": {"flops": 1.0, "seconds": 1.0},
        "checks": [],
    }
    texts = sentences(16 * scale, 2)  # of all lengths, which padding makes equal
    expected = predict(figures, texts)
    seconds = min(editor.time(texts) for _ in range(repeats))
    figures["mixed"] = {"flops": editor.count(texts)[2] / expected["flops"], "seconds": seconds / expected["seconds"]}
    for size in SIZES:
        texts = sentences(size * scale, size)
        passes, _, flops = editor.count(texts)
        seconds = min(editor.time(texts) for _ in range(repeats))
        measured = {"passes": passes, "flops": flops, "seconds": seconds}
        check = {"sentences": len(texts), "predicted": predict(figures, texts), "measured": measured}
        figures["checks"].append(check)
    return figures


def predict(figures: dict[str, Any], texts: list[str]) -> dict[str, float]:
    sums = {"passes": 0.0, "flops": 0.0}
    for text in texts:
        words = len(text.split())
        names = ("passes", "tokens_a_pass", "flops_a_token")
        passes, tokens, flops = (figures[name][0] + figures[name][1] * words for name in names)
        sums["passes"] += passes
        sums["flops"] += passes * tokens * flops
    sums["seconds"] = sums["flops"] / figures["flops_a_second"] + figures["seconds_a_sentence"] * len(texts)
    return {key: value * figures["mixed"].get(key, 1.0) for key, value in sums.items()}


# -- processes ---------------------------------------------------------------------------------------------------------


def peak(pids: list[int], seen: dict[int, int]) -> None:
    """Note the most memory, in MiB, that each process and all under it have had."""
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            seen[pid] = max(seen.get(pid, 0), int(status.split("VmHWM:")[1].split()[0]) // 1024)
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            peak([int(c) for task in tasks for c in (task / "children").read_text().split()], seen)
        except (OSError, IndexError):
            pass


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def commands(*argvs: list[str]) -> dict[str, float]:
    """Run commands at the same time: seconds for all, those of the CPU, and the memory of the largest process."""
    began, before, seen = time.perf_counter(), spent(), dict[int, int]()
    running = [subprocess.Popen(argv, stderr=subprocess.DEVNULL) for argv in argvs]
    while any(process.poll() is None for process in running):
        peak([process.pid for process in running], seen)
        time.sleep(0.1)
    assert not any(process.returncode for process in running)
    return {"seconds": time.perf_counter() - began, "cpu": spent() - before, "memory": max(seen.values())}


def processes(model: str | None, lines: int) -> dict[str, Any]:
    """Two workers against two independent runs of half the lines each; and Beam's overhead for a text."""
    from masker.model.folder import exported_folder

    masker = [sys.executable, "-m", "masker"]
    options = ["--to", "positive", "--method", "paper", *(["--model", model] if model else [])]
    with tempfile.TemporaryDirectory() as folder:
        texts = sentences(lines, 3)
        for name, part in (("all", texts), ("a", texts[::2]), ("b", texts[1::2])):
            Path(folder, f"{name}.txt").write_text("".join(text + "\n" for text in part))
        at = [str(Path(folder, name)) for name in ("all.txt", "a.txt", "b.txt")]
        halves = [[*masker, "edit", path, *options, "--out", path + ".out"] for path in at[1:]]
        two = commands(*halves)
        out = ["--out", at[0] + ".out", "--workers", "2"]
        workers = commands([*masker, "edit", at[0], *options, *out])
        beam = ["--input", at[0], "--output", str(Path(folder, "beam.txt")), "--shards", "8"]
        beam += ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
        beamed = commands([*masker, "beam", "edit", *options, *beam])
    made = {"two_runs": two, "workers": workers, "beam": beamed, "overhead_us": overhead()}
    return {"lines": lines, "exported": exported_folder(model) is not None, **made}


def overhead(count: int = 20_000) -> dict[str, float]:
    """Microseconds a text that Beam itself takes, in one process, where editing takes no time."""
    import apache_beam as beam

    from masker.core.edits import Rewrite
    from masker.scale.beam import EditHandler, EditTexts

    class Nothing:
        def edit(self, texts: list[str]) -> list[Rewrite]:
            return [Rewrite(text, text, None, "positive") for text in texts]

    EditHandler.load_model = lambda self: Nothing()  # type: ignore[assignment]
    texts = sentences(count, 4)
    found = {}
    for name, elements in (("text", list(enumerate(texts))), ("of a block", [(0, texts[:2000])] * (count // 2000))):
        for size in (len(elements) // 10 or 1, len(elements)):
            began = time.perf_counter()
            pipeline = beam.Pipeline(runner="FnApiRunner")
            pipeline | beam.Create(elements[:size]) | EditTexts(to="positive")
            pipeline.run().wait_until_finish()
            found[name, size] = time.perf_counter() - began
        (_, few), (_, many) = [(k, v) for k, v in found.items() if k[0] == name]
        found[name] = (many - few) / (count * 0.9) * 1e6
    return {"text": found["text"], "block": found["of a block"]}


# -- tables ------------------------------------------------------------------------------------------------------------


def table(all_figures: dict[str, dict[str, Any]]) -> str:
    prices = f"${PRICES['cpu']:.2f} an hour for a core, ${PRICES['cuda']:.2f} for a GPU"
    lines = ["# What it costs", ""]
    lines.append(f"Written by `benchmarks/cost_model.py`; sentences of 5 to 30 words. Assumed prices: {prices}.")
    head = "passes a sentence | GFLOPs a sentence | sentences a second | $ for a million | a billion"
    lines += ["", f"| | device | {head} |", "|---|---|---:|---:|---:|---:|---|"]
    for device, of_device in all_figures.items():
        kind = "cpu" if device == "cpu" else "cuda"
        for name, figures in of_device["models"].items():
            expected = predict(figures, texts := sentences(1000, 9))
            seconds = expected["seconds"] / len(texts)
            money = seconds * 1e6 / 3600 * PRICES[kind]
            hours = seconds * 1e9 / 3600 / FLEETS[kind]
            unit = "cores" if kind == "cpu" else "GPUs"
            where = of_device["name"]
            lines.append(f"| {name} | {where} | {expected['passes'] / 1000:.1f} | {expected['flops'] / 1e12:.1f} | "
                         f"{1 / seconds:,.1f} | {money:,.2f} | {hours:,.1f} h on {FLEETS[kind]:,} {unit}, "
                         f"${money * 1000:,.0f} |")  # fmt: skip
    lines += ["", "How well the model predicts runs of other sizes (predicted / measured):", "",
              "| | device | sentences | passes | FLOPs | seconds |", "|---|---|---:|---:|---:|---:|"]  # fmt: skip
    for of_device in all_figures.values():
        for name, figures in of_device["models"].items():
            for check in figures["checks"]:
                ratios = [check["predicted"][k] / check["measured"][k] for k in ("passes", "flops", "seconds")]
                lines.append(f"| {name} | {of_device['name']} | {check['sentences']} | "
                             + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")  # fmt: skip
    for of_device in all_figures.values():
        if p := of_device.get("processes"):
            beam, base = p["overhead_us"], p["two_runs"]
            lines += ["", "Two processes, start-up included:", ""]
            lines += ["| | seconds | CPU seconds | throughput | MiB a process |", "|---|---:|---:|---:|---:|"]
            kinds = {
                "two independent runs, half each": "two_runs",
                "`--workers 2`": "workers",
                "Beam, 2 workers": "beam",
            }
            for label, kind in kinds.items():
                run, ratio = p[kind], base["seconds"] / p[kind]["seconds"]
                lines.append(
                    f"| {label} | {run['seconds']:.1f} | {run['cpu']:.1f} | {ratio:.2f} | {run['memory']:.0f} |"
                )
            kind = "sentences, an exported model" if p["exported"] else "sentences"
            lines += ["", f"{p['lines']} {kind}. Beam itself takes {beam['text']:.0f} µs a text in `EditTexts`, "
                      f"{beam['block']:.1f} µs a line of a file."]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="Masker's model folder [default: the embedded one]")
    parser.add_argument("--student", action="append", default=[], help="folder of a student")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=2, help="runs, of which the fastest counts")
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--lines", type=int, default=320, help="sentences for --processes")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # so that a second is that of one core
    import torch

    from masker.model.folder import exported_folder

    torch.set_num_threads(1)
    editors = {"teacher": lambda: Editor(given.model, given.device)}
    if given.device == "cpu" and exported_folder(given.model):
        editors["teacher, exported"] = lambda: Editor(given.model, "cpu", exported=True)
    for student in given.student:
        editors[f"student {Path(student).name}"] = lambda student=student: Editor(student, given.device)
    name = torch.cuda.get_device_name() if given.device != "cpu" else "one core"
    folder = given.out / "cost"
    path = folder / f"{given.device.replace(':', '')}.json"
    figures: dict[str, Any] = {**(json.loads(path.read_text()) if path.exists() else {}), "name": name}
    figures["models"] = {kind: measure(load(), given.repeats) for kind, load in editors.items()}
    if given.processes:
        figures["processes"] = processes(given.model, given.lines)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1) + "\n")
    text = table({path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))})
    (given.out / "COST.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
