"""Whole files through Beam; how they are cut and written is in `scale.blocks` and `scale.shards`."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState

from masker.errors import MaskerError
from masker.scale.beam import EditTexts
from masker.scale.beam.running import one_line_of_beam, quiet
from masker.scale.beam.storage import BeamFiles
from masker.scale.blocks import Block
from masker.scale.job import Job
from masker.scale.shards import Run, Shards


class _Read(beam.DoFn):
    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def process(self, block: Block) -> Iterator[tuple[Block, list[Any]]]:
        yield block, self.shards.texts(block, BeamFiles())


class _Write(beam.DoFn):
    """Puts a shard in its place."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def process(self, pair: tuple[Block, list[Any]]) -> Iterator[int]:
        block, outcomes = pair
        for name, count in self.shards.write(block, outcomes, BeamFiles()).items():
            Metrics.counter("masker", name).inc(count)
        yield len(outcomes)


def last_words(message: str) -> None:
    """A line on stderr, written at once: what is buffered would be lost with the process."""
    os.write(2, f"masker: {message}\n".encode())


def run(
    job: Job,
    inputs: Sequence[str],
    output: str,
    *,
    device: str | None = None,
    options: Sequence[str] = (),
    on_death: Callable[[str], None] = last_words,
    **rest: Any,
) -> dict[str, int]:
    """Edit files on the runner that `options`, Beam's own, name. Gives Masker's counters, and `shards` written.

    The `rest` is `Run.begin`'s. Where a worker of Beam's local runner is killed, the process ends; `on_death` is told
    before it does.
    """
    pipeline_options = PipelineOptions(list(options))
    FileSystems.set_options(pipeline_options)
    begun = Run.begin(job, inputs, output, BeamFiles(), **rest)
    counts: dict[str, int] = {}
    if begun.todo:
        with _worker_deaths(on_death), one_line_of_beam(), quiet(options):
            pipeline = beam.Pipeline(options=pipeline_options)
            fields = {name: value for name, value in vars(job).items() if name != "options"}
            edit = EditTexts(device=device, **fields, **job.options)
            edited = pipeline | beam.Create(begun.todo) | beam.Reshuffle() | beam.ParDo(_Read(begun.shards)) | edit
            edited.edited | beam.ParDo(_Write(begun.shards))
            result = pipeline.run()
            if result.wait_until_finish() not in (None, PipelineState.DONE):
                state = f"the pipeline ended as {result.state}"
                raise MaskerError(f"{state}; see the runner's log, and go on with `resume`")
        found = result.metrics().query(MetricsFilter().with_namespace("masker"))["counters"]
        counts = {m.key.metric.name: m.result for m in found}
    begun.end()
    return {**counts, "shards": len(begun.todo)}


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
