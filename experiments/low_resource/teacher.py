"""The teacher's part: Masker writes silver pairs, as many processes at a time as are asked for."""

import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.data.pairs import read_pairs
from masker.errors import MaskerError
from masker.students.base import Pair

if TYPE_CHECKING:
    from masker.api import Masker

PIECES = 8  # of the texts: so many processes can share them


def pairs_of(path: Path, limit: int | None = None) -> list[Pair]:
    return [Pair(pair.source, pair.target) for pair in itertools.islice(read_pairs(path), limit)]


def write_pairs(
    model: str | None, texts: Path, out: Path, *, method: str, limit: int | None, device: str | None, workers: int
) -> list[Pair]:
    """Masker's silver pairs, synthetic side as input; a run that was killed goes on."""
    target, began = out / "silver.tsv", time.perf_counter()
    card = target.with_name("silver.tsv.json")
    if not card.is_file():
        (out / "silver").mkdir(exist_ok=True)
        every = texts.read_text("utf-8").splitlines()
        lines = every[:limit]
        size = math.ceil(len(lines) / PIECES)
        for k, at in enumerate(range(0, len(lines), size)):
            _piece(out, k).with_suffix(".txt").write_text("".join(f"{t}\n" for t in lines[at : at + size]), "utf-8")
        pieces = [_piece(out, k) for k in range(math.ceil(len(lines) / size))]
        states = share(_write_piece, pieces, workers, model, device, method)
        rows = [path.read_text("utf-8").partition("\n") for path in pieces]
        target.write_text("".join([*rows[0][:2], *(rest for _, _, rest in rows)]), "utf-8")
        dropped = sum((Counter(state["dropped"]) for state in states), Counter())
        counts = {name: sum(state[name] for state in states) for name in ("lines", "kept")}
        state = {"settings": states[0]["settings"], "texts": len(every), **counts, "dropped": dropped}
        card.write_text(json.dumps(state, indent=1) + "\n", "utf-8")
        seconds = time.perf_counter() - began
        print(f"silver: {counts['kept']:,} pairs of {counts['lines']:,} texts, {seconds:.1f} s", file=sys.stderr)
    known = json.loads(card.read_text("utf-8"))["settings"]
    if known["options"]["method"] != method or known["made_by"]["model"] != model:
        raise MaskerError(f"{target} was written by another model or method; give another --out")
    return pairs_of(target)


def _piece(out: Path, k: int) -> Path:
    return out / "silver" / f"{k}.tsv"


def _write_piece(path: Path, model: str | None, device: str | None, method: str) -> dict[str, Any]:
    """The pairs of one piece of the texts; gives the state that write_silver keeps beside them."""
    from masker.scale.silver import SilverSettings, group_size, write_silver

    settings = SilverSettings(to="split", from_="fused", options={"method": method}, made_by={"model": model})
    masker = _masker(model, device)
    write_silver(masker, path.with_suffix(".txt"), path, settings, resume=True, group=group_size(masker))
    state: dict[str, Any] = json.loads(path.with_name(f"{path.name}.json").read_text("utf-8"))
    return state


@cache
def _masker(model: str | None, device: str | None) -> "Masker":
    from masker.api import Masker

    return Masker.from_pretrained(model, device=device)


def share(task: Callable[..., Any], items: Sequence[Any], workers: int, *given: Any) -> list[Any]:
    """`task(item, *given)` for each item, in so many processes at a time, which share a GPU if there is one."""
    if workers == 1:
        return [task(item, *given) for item in items]
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (task, given))
    try:
        return list(pool.map(_next, items))
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(*work: Any) -> None:
    _work[:] = work


def _next(item: Any) -> Any:
    task, given = _work
    return task(item, *given)


_work: list[Any] = []  # what a process is sent once: task and given
