"""Delete and retrieve with its generator (Li et al. 2018, DeleteAndRetrieve), the row of the paper's table.

The markers of a text are deleted, the ten sentences of the target domain with the most similar rest are retrieved, and
with the markers of each a network writes a sentence out of the rest. What a language model of the target domain finds
likeliest, by the word, becomes edits; it counts trigrams here, and is a network in the paper. The final mark stays as
it is, and so do words that are protected.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from masker.baselines.base import Baseline, words_of
from masker.baselines.generator import Generator
from masker.baselines.retrieval import Retrieval, parts_of, without_end
from masker.core.alignment import differences
from masker.core.candidates import placed
from masker.core.edits import Edit, Rewrite, apply_edits, disjoint
from masker.core.runtime import Pending
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span
from masker.core.task import Task
from masker.errors import missing
from masker.evaluation.fluency_ngram import NgramLM
from masker.training.progress import Report

NEIGHBOURS = 10
_LM = "lm-{}"


@dataclass(frozen=True)
class RetrievalAndGenerator(Baseline):
    """What is retrieved, the network that writes with it, and a language model of each domain, which chooses."""

    retrieval: Retrieval
    generator: Generator
    choosers: Mapping[str, NgramLM]

    @classmethod
    def fit(
        cls, corpora: Mapping[str, Sequence[str]], *, seed: int, report: Report, beside: Path
    ) -> "RetrievalAndGenerator":
        try:
            from masker.baselines.generator_training import SETTINGS, fit_generator
        except ImportError as error:
            raise missing("train", "fitting the generator of delete-retrieve") from error
        retrieval = Retrieval.fit(corpora, seed=seed, report=report, beside=beside)
        generator = fit_generator(corpora, retrieval.markers, settings=replace(SETTINGS, seed=seed), report=report)
        return cls(retrieval, generator, {domain: _chooser(lines) for domain, lines in corpora.items()})

    def rewrite(self, content: Sequence[str], to: str) -> tuple[list[str], float]:
        """The words of the best sentence, and how likely the network found them; none without a similar sentence."""
        markers = dict.fromkeys(" ".join(found) for found in self.retrieval.indexes[to].nearest(content, NEIGHBOURS))
        if not markers:
            return [], 0.0
        drafts = [self.generator.write(content, found.split()) for found in markers]
        log_p = self.choosers[to].log_likelihoods([" ".join(words) for words, _ in drafts])
        by_word = [total / (len(words) + 1) for total, (words, _) in zip(log_p, drafts, strict=True)]
        return drafts[by_word.index(max(by_word))]

    def save(self, folder: Path) -> None:
        self.retrieval.save(folder)
        self.generator.save(folder)
        for domain, chooser in self.choosers.items():
            chooser.save_pretrained(folder / _LM.format(domain))

    @classmethod
    def load(cls, folder: Path) -> "RetrievalAndGenerator":
        retrieval = Retrieval.load(folder)
        choosers = {domain: NgramLM.from_pretrained(folder / _LM.format(domain)) for domain in retrieval.indexes}
        return cls(retrieval, Generator.load(folder), choosers)


def _chooser(lines: Sequence[str]) -> NgramLM:
    """Of lines without their final marks, as sentences are written."""
    return NgramLM.fit(" ".join(without_end(words_of(line))) for line in lines)


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
        parts = parts_of(p, self.learnt.retrieval.markers, self.task.from_ or "")
        new, log_p = self.learnt.rewrite(parts.content, self.task.to)
        if not new:
            return []
        edits = []
        for (start, stop), (first, end) in differences(parts.words, new):
            span = Span(start + p.words.start, stop + p.words.start)
            if any(parts.fixed[span.start : span.stop]):
                continue
            if r := placed(self.task, p.text, span, " ".join(new[first:end]), parts.fixed):
                old = p.text.source[r.start : r.end]
                edits.append(Edit(r.start + p.offset, r.end + p.offset, old, r.new, math.exp(log_p)))
        return edits
