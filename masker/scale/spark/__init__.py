"""Masker in Apache Spark: a DataFrame with a column rewritten, and whole files, by `mapInArrow` on any cluster.

edited = edit_column(reviews, "text", to="positive")
"""

import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from masker.core.edits import Rewrite
from masker.errors import MaskerError, missing
from masker.scale.job import Job, LoadedJob, one_thread
from masker.scale.outcomes import Failure, Outcome, no_text
from masker.scale.shards import Run
from masker.scale.storage import Files

try:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StringType, StructField, StructType
except ImportError as error:
    raise missing("spark", "editing with Apache Spark") from error

if TYPE_CHECKING:
    from masker.scale.blocks import Block

TRIES = 4  # on this machine, as on a cluster: a task whose worker has died is done again
CHANGES = ("edits", "reason", "error")  # columns that `edit_column` adds
_COUNTS = "name string, count long"


def edit_column(
    frame: DataFrame,
    column: str,
    to: str,
    from_: str | None = None,
    *,
    model: str | None = None,
    source_model: str | None = None,
    max_words: int = 2000,
    exact: bool = False,
    device: str | None = None,
    prefix: str = "masker_",
    **options: Any,
) -> DataFrame:
    """A frame with a column rewritten. What was edited, as JSON, why nothing was, or why it could not be, is in the
    columns `prefix` + edits, reason and error. A null stays null. Options beyond those named are Masker.edit_stream's.
    """
    if column not in frame.columns:
        raise MaskerError(f"the frame has no column '{column}'; it has {', '.join(frame.columns)}")
    job = Job(to, from_, model, source_model, max_words, options, exact)
    names = [prefix + name for name in CHANGES]
    if taken := [name for name in names if name in frame.columns]:
        raise MaskerError(f"the frame has a column '{taken[0]}' already; choose another `prefix`")

    def edit(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = _loaded(json.dumps(vars(job), sort_keys=True), device)
        for part in parts:
            outcomes = _outcomes(loaded, part.column(column).to_pylist())
            texts = [outcome.text if isinstance(outcome, Rewrite) else outcome.source for outcome in outcomes]
            ours = {column: texts, **dict(zip(names, _changes(outcomes), strict=True))}
            columns = {name: part.column(name) for name in part.schema.names}
            columns |= {name: pa.array(values, pa.string()) for name, values in ours.items()}
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    fields = [*frame.schema.fields, *(StructField(name, StringType()) for name in names)]
    return frame.mapInArrow(edit, StructType(fields))


def run(
    job: Job,
    inputs: Sequence[str],
    output: str,
    *,
    device: str | None = None,
    session: SparkSession | None = None,
    options: Sequence[str] = (),
    **rest: Any,
) -> dict[str, int]:
    """Edit files on the cluster of a session. Gives Masker's counters, and `shards` written.

    Without a session, `options` make one: --master URL and --conf KEY=VALUE; the `rest` is `Run.begin`'s. Every block
    of the input is one task, which reads it and writes its shard: done twice, it is the same shard.
    """
    settings = _settings(options)
    begun = Run.begin(job, inputs, output, Files(), **rest)
    if not begun.todo:
        return {"shards": 0}
    spark = session or _session(settings)
    todo, shards, storage = begun.todo, begun.shards, begun.storage
    key = json.dumps(vars(job), sort_keys=True)

    def work(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = _loaded(key, device)
        for part in parts:
            counts = Counter[str]()
            for number in part.column("id").to_pylist():
                block = todo[number]
                outcomes = _keyed(block, _outcomes(loaded, shards.texts(block, storage)))
                counts += shards.write(block, outcomes, storage) + _count(outcomes)
            yield pa.RecordBatch.from_arrays([pa.array([*counts]), pa.array([*counts.values()])], ["name", "count"])

    try:
        rows = spark.range(0, len(todo), 1, len(todo)).mapInArrow(work, _COUNTS).collect()
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise MaskerError(f"the job ended: {said}; see Spark's log, and go on with `resume`") from error
    finally:
        if session is None:
            spark.stop()
    begun.end()
    total = Counter[str]()
    for row in rows:
        total[row["name"]] += row["count"]
    return {**total, "shards": len(todo)}


# -- on a worker -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _loaded(job: str, device: str | None) -> LoadedJob:
    """One model per process: Spark keeps its Python workers from task to task, and starts one per core."""
    one_thread()
    loaded = Job(**json.loads(job)).load(device, keep_going=True)
    gc.freeze()  # the libraries are here to stay: no need to look through them for garbage
    return loaded


def _outcomes(loaded: LoadedJob, texts: Sequence[Any]) -> list[Outcome]:
    """What becomes of texts; one that cannot be edited takes no other with it."""
    rewrites = iter(loaded.edit([text for text in texts if isinstance(text, str)]))
    return [_outcome(next(rewrites)) if isinstance(text, str) else no_text(text) for text in texts]


def _outcome(rewrite: Rewrite) -> Outcome:
    return Failure(None, rewrite.source, rewrite.error) if rewrite.error else rewrite


def _keyed(block: "Block", outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [
        Failure((block, k), outcome.source, outcome.reason) if isinstance(outcome, Failure) else outcome
        for k, outcome in enumerate(outcomes)
    ]


def _count(outcomes: Sequence[Outcome]) -> Counter[str]:
    failed = sum(isinstance(outcome, Failure) for outcome in outcomes)
    changed = sum(isinstance(outcome, Rewrite) and outcome.text != outcome.source for outcome in outcomes)
    return Counter({"texts": len(outcomes), "changed": changed, "failed": failed})


def _changes(outcomes: Sequence[Outcome]) -> list[list[str | None]]:
    """Edits, reasons and errors."""
    done = [outcome if isinstance(outcome, Rewrite) else None for outcome in outcomes]
    edits = [None if d is None else json.dumps([edit.to_dict() for edit in d.edits], ensure_ascii=False) for d in done]
    errors = [outcome.reason if isinstance(outcome, Failure) else None for outcome in outcomes]
    return [list(edits), [None if d is None else d.reason for d in done], list(errors)]


# -- a session ---------------------------------------------------------------------------------------------------------


def _settings(options: Sequence[str]) -> dict[str, str]:
    """`--master URL` and `--conf KEY=VALUE`, also as --master=URL."""
    words = [part for option in options for part in (option.split("=", 1) if option.startswith("--") else [option])]
    found = {"spark.master": f"local[*,{TRIES}]"}
    for name, value in zip(words[::2], words[1::2], strict=False):
        if name == "--master":
            found["spark.master"] = value
        elif name == "--conf" and "=" in value:
            found[value.partition("=")[0]] = value.partition("=")[2]
        else:
            raise MaskerError(f"'{name}' is no option; Spark's are --master URL and --conf KEY=VALUE")
    if len(words) % 2:
        raise MaskerError(f"'{words[-1]}' wants a value; Spark's options are --master URL and --conf KEY=VALUE")
    return found


def _session(settings: dict[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("masker").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        need = "it needs Java 17 or newer: apt install default-jre-headless, say"
        raise MaskerError(f"Spark does not start ({said}); {need}") from error
