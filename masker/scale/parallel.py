"""Many processes on one machine: texts go out in blocks, come back in order, and a killed run can be continued."""

import gc
import itertools
import multiprocessing
import re
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, cast

from masker.data.formats import Record
from masker.data.formats.text import json_object, tsv_line
from masker.data.resumable import ResumableFile, check_finished
from masker.errors import MaskerError
from masker.runtime import cores, gpus
from masker.scale.job import Job, one_thread, render

START = "spawn"  # a fork would share locks and CUDA
BLOCK, GPU_BLOCK = 32, 4096  # texts that a worker is given at a time: whole chunks of every runtime
DEATHS = 3  # a block on which so many workers have died is the cause of it
Answer = tuple[str, list[tuple[int, str]]]  # the lines of a block, and which of its texts could not be edited, and why
AHEAD = 4  # blocks per worker that may be out or waiting for their turn: memory is bounded by it


def edit_file(
    job: Job,
    records: Iterable[Record],
    out: Path,
    *,
    format: str = "lines",
    workers: int = 0,
    device: str | None = None,
    resume: bool = False,
    source: str = "",
    column: str | None = None,
    encoding: str = "utf-8",
    keep_card: bool = False,
    on_progress: Callable[[int], None] = lambda _: None,
    on_failure: Callable[[int, str], None] = lambda line, why: None,
) -> int:
    """Rewrite the texts of `records` into the file `out`, with `workers` processes (0: one per GPU or core).

    With `resume` a run that was killed is continued. `source`, `column` and `encoding` tell where the records are from:
    others are not taken for them, nor is a file that has changed where it is done. Gives the number of lines written
    now. `keep_card` is that of ResumableFile. `on_failure` is told of texts that could not be edited, and came out as
    they were.
    """
    devices, size = _devices(workers, device)
    settings = {**asdict(job), "format": format, "source": source, "column": column, "encoding": encoding}
    del settings["max_words"]  # a run that stopped at too long a line goes on with a higher limit
    with ResumableFile(out, settings, resume=resume, keep_card=keep_card) as part:
        if part.complete:
            if first := check_finished(part.out, part.lines, records, source or "the input"):
                _check_made(part.out, first, job, format)
            return 0
        before, rest = part.lines, part.rest(records, source or "the input")
        # the first block ends where it would have ended in an unbroken run: a text is then always edited among the same
        blocks = _blocks(rest, size, size - before % size, before)
        for block, (text, failures) in edit_blocks(job, blocks, devices, format):
            part.write(text, block.records)
            on_progress(part.lines)
            for k, why in failures:
                on_failure(block.first + k + 1, why)
        return part.lines - before


def _check_made(out: Path, first: Record, job: Job, format: str) -> None:
    """The first line of a finished file tells what format it is in, and of JSONL which domain it was made for."""
    with open(out, encoding="utf-8", errors="replace", newline="\n") as file:
        line, row = file.readline(), {}
    with suppress(ValueError):
        row = json_object(line)
    is_tsv = line.startswith(tsv_line((first.text, ""), ""))
    made = "jsonl" if row.get("source") == first.text else "tsv" if is_tsv else "lines"
    settings = {"format": (made, format), "to": (row.get("to"), job.to if made == "jsonl" else None)}
    for name, (was, now) in settings.items():
        if now and was != now:
            raise MaskerError(f"{out} is there already, with `{name}` {was}, not {now}; remove it to start anew")


def _devices(workers: int, device: str | None) -> tuple[list[str], int]:
    """Where each worker computes, and how many texts it is given at a time."""
    if workers < 0:
        raise MaskerError(f"{workers} workers; give at least 1, or 0 for one per GPU or core")
    there = gpus() if device in (None, "cuda") else 0
    if there:
        return [f"cuda:{k % there}" for k in range(workers or there)], GPU_BLOCK
    if device in (None, "cpu"):
        return ["cpu"] * (workers or cores()), BLOCK
    return [device] * (workers or 1), GPU_BLOCK  # named, such as cuda:1; a worker says if there is none


@dataclass(frozen=True)
class _Block:
    """Some texts of the input; `first` is the number of the first of them, from 0."""

    first: int
    records: list[Record]


def _blocks(records: Iterable[Record], size: int, first: int, at: int) -> Iterator[_Block]:
    source = iter(records)
    while block := list(itertools.islice(source, first)):
        yield _Block(at, block)
        at, first = at + len(block), size


# -- processes ---------------------------------------------------------------------------------------------------------


def edit_blocks(
    job: Job, blocks: Iterator[_Block], devices: Sequence[str], format: str
) -> Iterator[tuple[_Block, Answer]]:
    """Edit blocks in as many processes as there are devices; what becomes of each comes in order.

    A worker that dies is replaced, and its block is done again. No more than a few blocks per worker are held.
    """
    begun = list(itertools.islice(blocks, len(devices)))  # no more workers than there is work for
    blocks, devices = itertools.chain(begun, blocks), devices[: max(1, len(begun))]
    pool = [_Worker(job, device, format) for device in devices]
    again: deque[_Block] = deque()  # of workers that died
    deaths: Counter[int] = Counter()
    results: dict[int, Answer] = {}
    order: deque[_Block] = deque()  # the blocks that were handed out and not yet given back
    try:
        while True:
            for worker in pool:
                if worker.block is None and (again or len(order) < AHEAD * len(pool)):
                    if again:
                        worker.give(again.popleft())
                    elif block := next(blocks, None):
                        order.append(block)
                        worker.give(block)
            if not order:
                return
            for ready in wait([worker.pipe for worker in pool]):
                k = next(k for k, worker in enumerate(pool) if worker.pipe is ready)
                block = pool[k].block
                answer = pool[k].take()
                if answer is not None and block is not None:
                    results[block.first] = answer
                    continue
                if block is not None:
                    again.append(block)
                at = -1 if block is None else block.first
                deaths[at] += 1
                if deaths[at] == DEATHS:
                    raise MaskerError(_died(block, pool[k].process.exitcode))
                pool[k] = _Worker(job, devices[k], format)
            while order and order[0].first in results:
                block = order.popleft()
                yield block, results.pop(block.first)
    finally:
        for worker in pool:
            worker.process.kill()  # it writes nothing, so nothing can be torn
            worker.process.join()


def _died(block: _Block | None, code: int | None) -> str:
    at = f" at lines {block.first + 1:,} to {block.first + len(block.records):,}" if block else ""
    return f"{DEATHS} workers died{at} (exit code {code}); if it is -9, memory was short: use fewer `workers`"


class _Worker:
    """A process with a model of its own, and the block that it is at: one, so that neither side waits to be heard."""

    def __init__(self, job: Job, device: str, format: str) -> None:
        context: Any = multiprocessing.get_context(START)
        self.pipe, theirs = context.Pipe()
        self.block: _Block | None = None
        self.process = context.Process(target=_work, args=(theirs, job, device, format), daemon=True)
        self.process.start()
        theirs.close()  # or else the death of the worker would not end the pipe

    def give(self, block: _Block) -> None:
        self.block = block
        with suppress(OSError):  # it has died, which is seen where its answer is awaited
            self.pipe.send(block)

    def take(self) -> Answer | None:
        """The lines of its block; None if the worker has died instead."""
        try:
            answer: Answer | Exception = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return None
        if isinstance(answer, Exception):
            raise answer
        self.block = None
        return answer


def _work(pipe: Connection, job: Job, device: str, format: str) -> None:
    """A worker's life: it ends with its parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is the parent's, which then ends its workers
    one_thread()
    # forked, it has ends of all pipes, its own too, which then do not tell that the parent is gone
    parent = cast(BaseProcess, multiprocessing.parent_process()).sentinel
    with suppress(EOFError, ConnectionError):  # the parent is gone
        first = 0
        try:
            editor = job.load(device, keep_going=True)
            gc.freeze()  # the libraries are here to stay: no need to look through them for garbage
            while pipe in wait([pipe, parent]):
                block: _Block = pipe.recv()
                first, records = block.first, block.records
                rewrites = editor.edit([record.text for record in records])
                pairs = zip(rewrites, records, strict=True)
                text = "".join(render(rewrite, record.ending, format, record.mark) for rewrite, record in pairs)
                pipe.send((text, [(k, rewrite.error) for k, rewrite in enumerate(rewrites) if rewrite.error]))
        except MaskerError as error:  # it counts the texts of the block, people those of the file
            pipe.send(MaskerError(re.sub(r"^text (\d+)", lambda m: f"text {first + int(m[1])}", str(error))))
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))
