"""Delete and retrieve with its generator (Li et al. 2018, DeleteAndRetrieve), the row of the paper's table.

The markers of a text are deleted, the sentence of the target domain with the most similar rest is retrieved, and a
network writes a sentence out of the rest and the retrieved markers. The final mark stays as it is, and so do words that
are protected; what the network has written otherwise becomes edits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from masker.baselines.base import Baseline, words_of
from masker.baselines.generator import Generator
from masker.baselines.retrieval import Retrieval, parts_of
from masker.core.alignment import differences
from masker.core.candidates import placed
from masker.core.edits import Edit, Rewrite, apply_edits, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span
from masker.core.task import Task
from masker.errors import missing
from masker.training.progress import Report


@dataclass(frozen=True)
class RetrievalAndGenerator(Baseline):
    """What is retrieved, and the network that writes with it."""

    retrieval: Retrieval
    generator: Generator

    @classmethod
    def fit(
        cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path
    ) -> "RetrievalAndGenerator":
        try:
            from masker.baselines.generator_training import SETTINGS, fit_generator
        except ImportError as error:
            raise missing("train", "fitting the generator of delete-retrieve") from error
        retrieval = Retrieval.fit(corpora, seed=seed, report=report, beside=beside)
        settings = replace(SETTINGS, seed=seed)
        return cls(retrieval, fit_generator(corpora, retrieval.markers, settings=settings, report=report))

    def save(self, folder: Path) -> None:
        self.retrieval.save(folder)
        self.generator.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "RetrievalAndGenerator":
        return cls(Retrieval.load(folder), Generator.load(folder))


class DeleteRetrieve:
    """A sentence that a network writes in the place of a text's; `unit` is what is looked at as one."""

    name = "delete-retrieve"
    chunk = 16
    prefetch = 0

    def __init__(self, task: Task, learnt: RetrievalAndGenerator, *, unit: Unit = Unit()) -> None:
        self.task, self.learnt, self.unit = task, learnt, unit

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [self._rewrite(text) for text in texts]

    def _rewrite(self, text: str) -> Rewrite:
        task = self.task
        found = [edit for passage in passages(task, text, self.unit) for edit in self._edits(passage)]
        edits = tuple(disjoint(found))
        none = "no sentence like it was found, or it was written again" if words_of(text) else "no words"
        return Rewrite(text, apply_edits(text, edits), task.from_, task.to, edits, reason=None if edits else none)

    def _edits(self, p: Passage) -> list[Edit]:
        parts = parts_of(p, self.learnt.retrieval, self.task.from_ or "", self.task.to)
        if not parts.retrieved:
            return []
        new, log_p = self.learnt.generator.write(parts.content, " ".join(parts.retrieved).split())
        edits = []
        for (start, stop), (first, end) in differences(parts.words, new):
            span = Span(start + p.words.start, stop + p.words.start)
            if any(parts.fixed[span.start : span.stop]):
                continue
            if r := placed(self.task, p.text, span, " ".join(new[first:end]), parts.fixed):
                old = p.text.source[r.start : r.end]
                edits.append(Edit(r.start + p.offset, r.end + p.offset, old, r.new, math.exp(log_p)))
        return edits
