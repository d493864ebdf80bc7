"""Masker in Apache Beam: a transform for any pipeline, on any runner. Files are the business of beam.files.

rewrites, failed = texts | EditTexts(to="positive")
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from masker.core.edits import Rewrite
from masker.errors import MaskerError, missing
from masker.scale.job import Job, LoadedJob, one_thread
from masker.scale.outcomes import Failure, no_text

try:
    import apache_beam as beam
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.metrics import Metrics
    from apache_beam.ml.inference.base import ModelHandler, RunInference
except ImportError as error:
    raise missing("beam", "editing with Apache Beam") from error

BUDGET = 32_768  # tokens of masked input in a group of texts: about 25 sentences
GPU_BUDGET = 1_048_576


def cost(text: Any) -> int:
    """About how many tokens the masked inputs of a text, or of a list of texts, have: five spans per word."""
    if isinstance(text, list):
        return sum(map(cost, text))
    words = text.count(" ") + 1 if isinstance(text, str) else 1
    return 5 * words * (words + 8)


def groups(texts: Sequence[str], budget: int) -> Iterator[list[int]]:
    """Positions of texts of like length, each group within the budget or a single text."""
    group: list[int] = []
    for k in sorted(range(len(texts)), key=lambda k: (cost(texts[k]), k)):
        if group and (len(group) + 1) * cost(texts[k]) > budget:
            yield group
            group = []
        group.append(k)
    if group:
        yield group


class EditHandler(ModelHandler[Any, Any, LoadedJob]):
    """For RunInference. Elements are texts or (key, text), where a list of texts may stand for a text.

    There is one model per process, shared by its threads, with one thread of arithmetic, since a runner starts one
    process per core; with `share` one per machine, in a process of its own, as fits a GPU. What comes out is (element,
    outcomes): a Rewrite or a Failure for every text.
    """

    def __init__(self, job: Job, *, device: str | None = None, share: bool = False, budget: int = BUDGET) -> None:
        super().__init__(
            min_batch_size=budget,
            max_batch_size=budget,
            element_size_fn=lambda element: cost(_text(element)),
            large_model=share,
        )
        self.job, self.device, self.share, self.budget = job, device, share, budget

    def load_model(self) -> LoadedJob:
        if not self.share:
            one_thread()
        job = self.job
        places = {name: fetched(getattr(job, name)) for name in ("model", "source_model")}
        return Job(**{**vars(job), **places}).load(self.device)

    def run_inference(
        self, batch: Sequence[Any], model: LoadedJob, inference_args: Mapping[str, Any] | None = None
    ) -> Iterable[Any]:
        lists = [*map(_texts, batch)]
        texts = [text for texts in lists for text in texts]
        good = [k for k, text in enumerate(texts) if isinstance(text, str)]
        outcomes: list[Any] = [no_text(text) for text in texts]
        for group in groups([texts[k] for k in good], self.budget):
            places = [good[k] for k in group]
            for k, outcome in zip(places, self._edit(model, [texts[k] for k in places]), strict=True):
                outcomes[k] = outcome
        given = iter(outcomes)
        return [(element, [next(given) for _ in texts]) for element, texts in zip(batch, lists, strict=True)]

    def _edit(self, model: LoadedJob, texts: list[str]) -> list[Any]:
        """All at once; if that fails one by one, so that a text that cannot be edited takes no other with it."""
        began = time.perf_counter()
        try:
            done: list[Any] = model.edit(texts)
        except Exception as error:
            if len(texts) > 1:
                Metrics.counter("masker", "groups_retried").inc()
                return [outcome for text in texts for outcome in self._edit(model, [text])]
            said = str(error).strip().partition("\n")[0]
            done = [
                Failure(None, texts[0], said if isinstance(error, MaskerError) else f"{type(error).__name__}: {said}")
            ]
        micros = round((time.perf_counter() - began) * 1e6)
        Metrics.distribution("masker", "group_latency_us").update(micros)
        Metrics.distribution("masker", "text_latency_us").update(micros // len(texts))
        Metrics.distribution("masker", "group_texts").update(len(texts))
        return done

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """For RunInference's metrics; counted, where its default would pickle every batch."""
        return sum(len(t) for element in batch for t in _texts(element) if isinstance(t, str | bytes))

    def get_metrics_namespace(self) -> str:
        return "masker"


class EditTexts(beam.PTransform):
    """Rewrite a PCollection of texts, or of (key, text), where a list of texts may stand for a text.

    Gives two of them, `edited` and `failed`: Rewrites, with their key if they had one, and Failures. A list stays
    whole: its Failures stand in their places, and are given in `failed` too, with (key, position) for a key. `model`
    may be a folder in an object store that Beam knows. Options beyond those named are Masker.edit_stream's.
    """

    def __init__(
        self,
        to: str,
        from_: str | None = None,
        *,
        model: str | None = None,
        source_model: str | None = None,
        max_words: int = 2000,
        exact: bool = False,
        device: str | None = None,
        share: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        gpu = device is not None and device.startswith("cuda")
        job = Job(to, from_, model, source_model, max_words, options, exact)
        share = gpu if share is None else share
        self.handler = EditHandler(job, device=device, share=share, budget=GPU_BUDGET if gpu else BUDGET)

    def expand(self, texts: Any) -> Any:
        outcomes = texts | RunInference(self.handler)
        return outcomes | beam.ParDo(_Sort()).with_outputs("failed", main="edited")


class _Sort(beam.DoFn):
    """Rewrites to the one side, Failures to the other."""

    def __init__(self) -> None:
        self.counters = {name: Metrics.counter("masker", name) for name in ("texts", "changed", "failed")}

    def process(self, pair: tuple[Any, list[Any]]) -> Iterator[Any]:
        element, outcomes = pair
        key, text = element if isinstance(element, tuple) else (None, element)
        self.counters["texts"].inc(len(outcomes))
        self.counters["changed"].inc(sum(isinstance(o, Rewrite) and o.text != o.source for o in outcomes))
        placed: list[Any] = []
        for k, outcome in enumerate(outcomes):
            if isinstance(outcome, Failure):
                outcome = Failure((key, k) if isinstance(text, list) else key, outcome.source, outcome.reason)
                self.counters["failed"].inc()
                yield beam.pvalue.TaggedOutput("failed", outcome)
            placed.append(outcome)
        if isinstance(text, list):
            yield (key, placed) if isinstance(element, tuple) else placed
        elif isinstance(placed[0], Rewrite):
            yield (key, placed[0]) if isinstance(element, tuple) else placed[0]


def _text(element: Any) -> Any:
    return element[1] if isinstance(element, tuple) else element


def _texts(element: Any) -> list[Any]:
    text = _text(element)
    return text if isinstance(text, list) else [text]


_fetched: dict[str, tempfile.TemporaryDirectory[str]] = {}


def fetched(model: str | None) -> str | None:
    """A folder of an object store as a local one, copied once per process; any other name as it is."""
    if model is None or "://" not in model:
        return model
    if model not in _fetched:
        folder = tempfile.TemporaryDirectory(prefix="masker-model-")
        files = FileSystems.match([model.rstrip("/") + "/*"])[0].metadata_list
        if not files:
            raise MaskerError(f"there are no files in {model}; give the folder of a model")
        for file in files:
            target = os.path.join(folder.name, FileSystems.split(file.path)[1])
            with FileSystems.open(file.path, compression_type="uncompressed") as source, open(target, "wb") as sink:
                while block := source.read(2**20):
                    sink.write(block)
        _fetched[model] = folder
    return _fetched[model].name
