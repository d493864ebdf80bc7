"""Whole files through Beam: inputs are cut into blocks, and every block becomes one shard of the output, in order.

`cat out-*` is then what one machine would have written. A shard appears whole or not at all, whichever worker writes it
and however often, so that a run can be continued: blocks whose shard is there are left out.
"""

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState

from masker.core.edits import Rewrite
from masker.data.formats import WRITERS
from masker.data.formats.text import Lines, Tsv, tsv_line
from masker.errors import MaskerError, unknown
from masker.scale.beam import EditTexts, Failure
from masker.scale.beam.blocks import Block, located, plan, read
from masker.scale.job import Job
from masker.scale.silver import COLUMNS, SilverSettings, as_rows, why_no_pair


@dataclass(frozen=True)
class Shards:
    """Where a run writes: `out.jsonl` becomes out-00000-of-00012.jsonl and so on."""

    output: str
    count: int
    format: str
    column: str | None = None
    silver: SilverSettings | None = None

    def name(self, shard: int, kind: str = "") -> str:
        prefix, ending = os.path.splitext(self.output)
        return f"{prefix}{kind}-{shard:05d}-of-{self.count:05d}{'.jsonl' if kind else ending}"

    @property
    def scratch(self) -> str:
        return os.path.splitext(self.output)[0] + ".temp"

    @property
    def card(self) -> str:
        return os.path.splitext(self.output)[0] + ".run.json"


class _Read(beam.DoFn):
    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def process(self, block: Block) -> Iterator[tuple[Block, list[Any]]]:
        texts = [text for text, _, _ in read(block, self.shards.column)]
        if self.shards.silver is not None:  # pairs are columns, which a text must not part
            texts = [text.replace("\t", " ") if isinstance(text, str) else text for text in texts]
        yield block, texts


# -- writing -----------------------------------------------------------------------------------------------------------


class _Write(beam.DoFn):
    """Puts a shard in its place. Ends of lines and other fields are read once more: they need not travel."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def process(self, pair: tuple[Block, list[Any]]) -> Iterator[int]:
        block, outcomes = pair
        rows = list(zip(outcomes, read(block, self.shards.column), strict=True))
        failed = [outcome.to_dict() for outcome in outcomes if isinstance(outcome, Failure)]
        for record in failed:
            record["key"] = [record["key"][0].path, record["key"][0].start, record["key"][1]]
        if failed:  # first: where the shard is there, so is this
            self._put("-failed", block, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in failed).encode())
        self._put("", block, self._bytes(block, rows))
        yield len(outcomes)

    def _put(self, kind: str, block: Block, data: bytes) -> None:
        scratch = FileSystems.join(self.shards.scratch, uuid.uuid4().hex)
        with FileSystems.create(scratch, compression_type="uncompressed") as file:
            file.write(data)
        FileSystems.rename([scratch], [self.shards.name(block.shard, kind)])

    def _bytes(self, block: Block, rows: list[tuple[Any, tuple[Any, str, dict[str, Any]]]]) -> bytes:
        if self.shards.silver is not None:
            header = tsv_line(COLUMNS) if block.shard == 0 else ""
            return (header + "".join(self._pairs([outcome for outcome, _ in rows], self.shards.silver))).encode()
        writer = WRITERS[self.shards.format]
        if isinstance(writer, Lines | Tsv):
            return writer.write((_bare(outcome), ending) for outcome, (_, ending, _) in rows)
        return writer.write(({**fields, **_dict(outcome)}, ending) for outcome, (_, ending, fields) in rows)

    def _pairs(self, outcomes: Sequence[Any], settings: SilverSettings) -> Iterator[str]:
        for number, outcome in enumerate(outcomes, 1):
            why = "too_long" if isinstance(outcome, Failure) else why_no_pair(outcome, settings)
            Metrics.counter("masker", "silver_" + (why or "kept")).inc()
            if why is None:
                yield as_rows(number, outcome, settings.synthetic)


def _dict(outcome: Any) -> dict[str, Any]:
    if isinstance(outcome, Rewrite):
        return outcome.to_dict()
    source = outcome.to_dict()["source"]
    said = {"from": None, "to": None, "edits": [], "reason": "failed: " + outcome.reason}
    return {"source": source, "text": source, **said}


def _bare(outcome: Any) -> dict[str, str]:
    """What a line is made of; what could not be edited comes out as it went in, so that no line is lost."""
    if isinstance(outcome, Rewrite):
        return {"source": outcome.source, "text": outcome.text}
    source = outcome.source
    source = source.decode("utf-8", "surrogateescape") if isinstance(source, bytes) else str(source)
    return {"source": source, "text": source}


# -- a run -------------------------------------------------------------------------------------------------------------


def last_words(message: str) -> None:
    """A line on stderr, written at once: what is buffered would be lost with the process."""
    os.write(2, f"masker: {message}\n".encode())


def run(
    job: Job,
    inputs: Sequence[str],
    output: str,
    *,
    format: str | None = None,
    column: str | None = None,
    shards: int | None = None,
    silver: SilverSettings | None = None,
    device: str | None = None,
    resume: bool = False,
    options: Sequence[str] = (),
    on_death: Callable[[str], None] = last_words,
) -> dict[str, int]:
    """Edit files on the runner that `options`, Beam's own, name. Gives Masker's counters, and `shards` written.

    Where a worker of Beam's local runner is killed, the process ends; `on_death` is told before it does.
    """
    ending = os.path.splitext(output)[1].lower()
    by_ending = {suffix: name for name, writer in WRITERS.items() for suffix in writer.suffixes}
    format = format or by_ending.get(ending, ending)
    if format not in WRITERS:
        raise unknown("format", format, list(WRITERS))
    pipeline_options = PipelineOptions(list(options))
    FileSystems.set_options(pipeline_options)
    blocks = plan(inputs, shards)
    target = Shards(located(output), len(blocks), format, column, silver)
    made: dict[str, Any] = {"job": asdict(job), "output": asdict(target)}
    made["blocks"] = hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()
    todo = _remaining(blocks, target, made, resume)
    counts: dict[str, int] = {}
    if todo:
        _check(job)
        _begin(target, made)
        with _worker_deaths(on_death):
            pipeline = beam.Pipeline(options=pipeline_options)
            fields = {name: value for name, value in vars(job).items() if name != "options"}
            edit = EditTexts(device=device, **fields, **job.options)
            edited = pipeline | beam.Create(todo) | beam.Reshuffle() | beam.ParDo(_Read(target)) | edit
            edited.edited | beam.ParDo(_Write(target))
            result = pipeline.run()
            if result.wait_until_finish() not in (None, PipelineState.DONE):
                state = f"the pipeline ended as {result.state}"
                raise MaskerError(f"{state}; see the runner's log, and go on with `resume`")
        found = result.metrics().query(MetricsFilter().with_namespace("masker"))["counters"]
        counts = {m.key.metric.name: m.result for m in found}
    with suppress(Exception):
        FileSystems.delete([target.scratch])
    return {**counts, "shards": len(todo)}


def _remaining(blocks: list[Block], target: Shards, made: dict[str, Any], resume: bool) -> list[Block]:
    """The blocks whose shard is not there yet. Shards of another run are never mixed in."""
    prefix, ending = os.path.splitext(target.output)
    there = {file.path for file in FileSystems.match([f"{prefix}-*-of-*{ending}"])[0].metadata_list}
    there = {path for path in there if not path.startswith(f"{prefix}-failed-")}
    if there and not resume:
        raise MaskerError(f"{min(there)} is there already; go on with `resume`, or remove it and its like")
    if there:
        if not FileSystems.exists(target.card):
            raise MaskerError(f"{target.card} is missing, so it is not known how {min(there)} was made; remove both")
        with FileSystems.open(target.card) as file:
            if json.loads(file.read()) != json.loads(json.dumps(made)):
                raise MaskerError(f"{target.card} tells of a run with other inputs or options; resume it with the same")
    done = {os.path.basename(path) for path in there}
    return [block for block in blocks if os.path.basename(target.name(block.shard)) not in done]


def _begin(target: Shards, made: dict[str, Any]) -> None:
    if not FileSystems.exists(target.scratch):
        with suppress(OSError):  # object stores have no folders
            FileSystems.mkdirs(target.scratch)
    with FileSystems.create(target.card, compression_type="uncompressed") as file:
        file.write(json.dumps(made, indent=1).encode())


def _check(job: Job) -> None:
    """A misspelt domain or folder is better heard of here than from a log of a thousand workers."""
    if job.model is None or "://" not in job.model:
        job.load("cpu")


class _worker_deaths:
    """Beam's local runner waits forever for a worker that was killed. Here that ends the run, with one line."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def __enter__(self) -> None:
        self.before = threading.excepthook

        def hook(args: threading.ExceptHookArgs) -> None:
            if "Worker subprocess exited" in str(args.exc_value):
                self.tell("a worker died; what is done is kept: go on with `resume`")
                os._exit(1)
            self.before(args)

        threading.excepthook = hook

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self.before
