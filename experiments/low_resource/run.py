"""Low-resource sentence fusion, the paper's Table 2, on test: three students, few gold pairs, with and without silver.

    python experiments/low_resource/run.py --data $MASKER_DATA --model MODEL --parts runs/fusion --out runs/low_resource

PARTS is what experiments/fusion/prepare.py wrote. Masker (MODEL, with the domains `split` and `fused`) writes silver
pairs for PARTS/silver.fused.txt, and 24 students are trained, as many at a time as there are --workers. Every finished
one is a line of OUT/cells.jsonl: killed, the same command goes on. At the end, or later on another machine with
--report alone (scoring needs no GPU), the predictions are scored and OUT/results.json, RESULTS.md and exact.png are
written.
"""

import argparse
import fcntl
import gzip
import itertools
import json
import lzma
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import report
from teacher import pairs_of, share, write_pairs

from masker.data.formats.discofuse import is_stand_in, split_file
from masker.errors import MaskerError
from masker.evaluation.normalise import normalise
from masker.evaluation.report import Direction, evaluate
from masker.students.base import Pair, Student, StudentSettings, is_student, student_class

KINDS = ("lasertagger", "felix", "bert2bert")
GOLD = (0, 450, 4_500, 45_000)
METRICS = ("exact", "sari", "sari_lasertagger", "copied")
KEPT = "predictions.tsv.xz"
EVALUATIONS = 3  # on held-out pairs in a training run; the best of them is kept


@dataclass(frozen=True)
class Stage:
    """One training run. Batch sizes are those of the paper's appendix."""

    batch_size: int
    steps: int


# The paper's learning rate, 3e-5, is for BERT-base trained to convergence; encoders of a fifth of its size and runs of
# seconds want more. For a LaserTagger 1e-4 (with edit weight 1) was behind on dev; the others were not compared.
LR = {"lasertagger": 3e-4, "felix": 2e-4, "bert2bert": 5e-4}
# Times the learning rate for gold pairs where silver ones have been learnt before: the best of them on dev. A Bert2Bert
# forgets at its full rate what it has learnt (Exact 20.8 without gold pairs, 16.9 with 450).
FINE = {"bert2bert": (1.0, 0.3, 0.1)}
STAGES = {"silver": Stage(256, 500), "450": Stage(32, 150), "4500": Stage(64, 300), "45000": Stage(128, 700)}
STEPS = {"bert2bert": 1.5}  # times as many: a decoder learns from further off


@dataclass(frozen=True)
class Plan:
    """What to run and for how long."""

    kinds: Sequence[str] = KINDS
    gold: Sequence[int] = GOLD
    silver: int | None = None  # texts to write silver pairs for; None: all
    test: int | None = None
    dev: int = 500  # gold pairs of dev that choose among the evaluations of a fine-tuning run
    steps: float = 1.0  # times the steps of STAGES
    device: str | None = None

    def settings(self, kind: str, stage: str, fine: float = 1.0) -> StudentSettings:
        size, steps = STAGES[stage].batch_size, STAGES[stage].steps * STEPS.get(kind, 1) * self.steps
        steps = max(1, round(steps))
        return StudentSettings(
            steps=steps, batch_size=size, lr=LR[kind] * fine, held_out=0.01, eval_every=math.ceil(steps / EVALUATIONS),
            device=self.device,
        )  # fmt: skip


TINY = Plan(gold=(0, 10, 20, 40), silver=12, test=6, dev=4, steps=0.004)


@dataclass(frozen=True)
class Lab:
    """The data, and where things go."""

    plan: Plan
    base: str | None
    gold: Sequence[Pair]
    dev: Sequence[Pair]
    test: Sequence[Pair]
    out: Path

    def cells(self) -> list[tuple[str, int, bool]]:
        """Kind, gold pairs, whether with silver: those first that others wait for, and those that take long."""
        found = itertools.product(reversed(self.plan.kinds), sorted(self.plan.gold, reverse=True), (False, True))
        return sorted(found, key=lambda cell: 2 * (cell[1] > min(self.plan.gold)) if cell[2] else 1)

    def run(self, silver: Sequence[Pair], workers: int = 1) -> None:
        """Train and score what is not in cells.jsonl yet."""
        done = {(cell["student"], cell["gold"], cell["silver"]) for cell in read_cells(self.out)}
        share(_run_cell, [cell for cell in self.cells() if cell not in done], workers, self, silver)

    def _run(self, kind: str, size: int, with_silver: bool, silver: Sequence[Pair]) -> None:
        began = time.perf_counter()
        rates = FINE.get(kind, (1.0,)) if size and with_silver else (1.0,)
        taught = [self._taught(kind, size, silver if with_silver else (), rate) for rate in rates]
        student = max(taught, key=lambda one: one.card["made"][-1]["scores"]["exact"]) if len(taught) > 1 else taught[0]
        trained = time.perf_counter()
        outputs = student.edit([pair.source for pair in self.test])
        seconds = {"training": trained - began, "editing": time.perf_counter() - trained}
        name = cell_name(kind, size, with_silver)
        write_lines(self.out / "predictions" / f"{name}.txt.gz", outputs)
        record = {
            "student": kind, "gold": size, "silver": with_silver, "silver_pairs": len(silver) if with_silver else 0,
            "exact": exact(self.test, outputs), "made": student.card["made"],
            "seconds": {key: round(value, 1) for key, value in seconds.items()},
        }  # fmt: skip
        with open(self.out / "cells.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{name}: Exact {record['exact']:.2f}, {sum(seconds.values()):.1f} s", file=sys.stderr)

    def _taught(self, kind: str, size: int, silver: Sequence[Pair], fine: float) -> Student:
        gold = self.gold[:size]
        student = self._start(kind, gold, silver)
        if gold:
            student.fit(gold, settings=self.plan.settings(kind, _stage(size), fine), dev=self.dev)
        return student

    def _start(self, kind: str, gold: Sequence[Pair], silver: Sequence[Pair]) -> Student:
        """An untrained student, or one that has learnt the silver pairs, from its folder.

        Who comes first trains it, the others wait. A LaserTagger has one for every number of gold pairs: its phrases
        are counted in all pairs that it is to learn.
        """
        if not silver:
            settings = self.plan.settings(kind, _stage(len(gold)) if gold else "silver")
            return student_class(kind).create(self.base, gold, settings=settings)
        counted = kind == "lasertagger" and len(gold) > 0
        folder = self.out / "students" / (f"{kind}.{len(gold)}" if counted else kind)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{folder}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not is_student(folder):
                settings = self.plan.settings(kind, "silver")
                pairs = [*silver, *gold] if counted else silver
                student = student_class(kind).create(self.base, pairs, settings=settings)
                student.fit(silver, settings=settings)
                student.save_pretrained(folder)
        return Student.from_pretrained(folder, device=self.plan.device)


def _run_cell(cell: tuple[str, int, bool], lab: Lab, silver: Sequence[Pair]) -> None:
    lab._run(*cell, silver)


def _stage(size: int) -> str:
    """The stage that is meant for so many pairs."""
    return next(name for name in STAGES if name != "silver" and size <= int(name))


def cell_name(kind: str, size: int, with_silver: bool) -> str:
    return f"{kind}.{size}.{'silver' if with_silver else 'plain'}"


def exact(test: Sequence[Pair], outputs: Sequence[str]) -> float:
    """Exact, and no more, for a first look."""
    right = (output.lower() == pair.target.lower() for output, pair in zip(outputs, test, strict=True))
    return round(100 * sum(right) / len(test), 2)


def figures(test: Sequence[Pair], outputs: Sequence[str]) -> dict[str, Any]:
    """The metrics and their intervals."""
    sources, targets = [pair.source for pair in test], [pair.target for pair in test]
    found = evaluate([Direction("fused", sources, outputs, [targets])], metrics=METRICS).to_dict()
    return {key: found[key] for name in METRICS for key in (name, f"{name}_ci")}


def read_cells(out: Path) -> list[dict[str, Any]]:
    """The finished cells; a last line that was cut off is none, and is removed."""
    path = out / "cells.jsonl"
    if not path.is_file():
        return []
    whole = path.read_text("utf-8").rpartition("\n")[0]
    path.write_text(whole + "\n" if whole else "", "utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def read_outputs(out: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """What the students wrote: from the files of predictions/, or from KEPT where that folder is gone."""
    if (out / "predictions").is_dir():
        files = {name: (out / "predictions" / f"{name}.txt.gz").read_bytes() for name in names}
        return {name: gzip.decompress(data).decode().split("\n")[:-1] for name, data in files.items()}
    rows = [line.split("\t") for line in lzma.decompress((out / KEPT).read_bytes()).decode().split("\n")[:-1]]
    return {column[0]: list(column[1:]) for column in zip(*rows, strict=True)}


def keep_outputs(outputs: Mapping[str, Sequence[str]], out: Path) -> None:
    """All in one table: side by side, outputs that differ in a word take little space; those of a student that knows
    nothing take much, and are left out.
    """
    rows = [tuple(outputs), *zip(*outputs.values(), strict=True)]
    (out / KEPT).write_bytes(lzma.compress("".join("\t".join(row) + "\n" for row in rows).encode()))


def _by_key(cells: Sequence[dict[str, Any]]) -> dict[tuple[str, int, bool], dict[str, Any]]:
    return {(cell["student"], cell["gold"], cell["silver"]): cell for cell in cells}


def _is_kept(out: Path) -> bool:
    return (out / "results.json").is_file() and not (out / "predictions").is_dir()


def summarise(out: Path, test: Sequence[Pair]) -> Mapping[str, Any]:
    """results.json: the cells, a copy of the input, and what the silver pairs add."""
    hits, scored, cells = {}, [], _by_key(read_cells(out))
    before = _by_key(json.loads((out / "results.json").read_text("utf-8"))["cells"]) if _is_kept(out) else {}
    written = read_outputs(out, [cell_name(*key) for key in cells])
    for key, cell in sorted(cells.items(), key=lambda item: (KINDS.index(item[0][0]), *item[0][1:])):
        outputs = written.get(cell_name(*key))
        if outputs is None:  # not kept: nothing of it is right
            hits[key] = [False] * len(test)
            scored.append(before[key])
            continue
        if len(outputs) != len(test):
            raise MaskerError(f"{cell_name(*key)} has {len(outputs)} outputs for {len(test)} texts; remove {out}")
        hits[key] = [normalise(o) == normalise(p.target) for o, p in zip(outputs, test, strict=True)]
        scored.append({**cell, **figures(test, outputs)})
    right = {cell_name(*key) for key, found in hits.items() if any(found)}
    keep_outputs({name: outputs for name, outputs in written.items() if name in right}, out)
    counts = out / "silver.tsv.json"
    return {
        "cells": scored,
        "copy": figures(test, [pair.source for pair in test]),
        "gains": report.gains(hits),
        "silver": json.loads(counts.read_text("utf-8")) if counts.is_file() else None,
        "test": len(test),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds fusion/, or of DiscoFuse's release")
    parser.add_argument("--parts", type=Path, required=True, help="folder that experiments/fusion/prepare.py wrote")
    parser.add_argument("--model", help="Masker that writes the silver pairs [default: the embedded one]")
    parser.add_argument("--base", help="model that students start from [default: the embedded one]")
    parser.add_argument("--method", default="paper", choices=["paper", "search"], help="how Masker rewrites")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--students", nargs="+", default=KINDS, choices=KINDS, help="only these kinds")
    parser.add_argument("--silver", type=int, help="write silver pairs for so many texts only")
    parser.add_argument("--steps", type=float, default=1.0, help="times the usual number of steps")
    parser.add_argument("--workers", type=int, default=1, help="processes; a GPU has room for several")
    parser.add_argument("--device", help="cpu, cuda, ...")
    parser.add_argument("--tiny", action="store_true", help="a try on a few pairs and steps; its figures say nothing")
    parser.add_argument("--report", action="store_true", help="train nothing, score what is finished")
    parser.add_argument("--no-report", action="store_true", help="leave scoring for later: it takes minutes and no GPU")
    options = parser.parse_args(arguments)
    plan = TINY if options.tiny else Plan(silver=options.silver, steps=options.steps)
    plan = replace(plan, kinds=options.students, device=options.device)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        test = pairs_of(split_file(options.data, "test"), plan.test)
        if not options.report:
            texts = options.parts / "silver.fused.txt"
            silver = write_pairs(
                options.model, texts, options.out, method=options.method, limit=plan.silver, device=plan.device,
                workers=options.workers,
            )  # fmt: skip
            gold = pairs_of(options.parts / f"gold.{max(GOLD)}.tsv", max(plan.gold))
            dev = pairs_of(split_file(options.data, "dev"), plan.dev)
            Lab(plan, options.base, gold, dev, test, options.out).run(silver, options.workers)
        if not options.no_report:
            corpus = split_file(options.data, "test")
            found = summarise(options.out, test)
            report.write(found | ({} if is_stand_in(corpus) else {"corpus": corpus.name}), options.out)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
