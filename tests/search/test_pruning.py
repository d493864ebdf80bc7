"""Pruning is exact: the same edits and scores as when both domains are asked about every span."""

import random
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import CORPUS, make_model, make_task

from masker.core.candidates import realised
from masker.core.edits import Rewrite
from masker.core.paper import PaperEditor, PaperSettings
from masker.core.runtime import Array, SlotScores
from masker.core.scoring import DomainScorer
from masker.core.task import Task
from masker.runtime.torch import TorchRuntime
from masker.search.pruning import Pruned

WORDS = [*CORPUS.split(), "don't", "I", "NASA", "(well)", "so-so", "mmm", "...", "'em"]


class Counting:
    """A runtime that counts the rows that it is asked about, and where it is asked for the best piece."""

    def __init__(self, runtime: TorchRuntime) -> None:
        self.runtime, self.to_device, self.rows = runtime, runtime.to_device, 0

    def __call__(self, ids: Array, *inputs: Array) -> SlotScores:
        self.rows += len(ids)
        return self.runtime(ids, *inputs)


def random_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(count)]
    return [text[:1].upper() + text[1:] + rng.choice([".", " .", "", "!"]) for text in texts]


def counted(model: Any, *, domains: tuple[str, ...] = ("negative", "positive"), **options: Any) -> Task:
    runtime = TorchRuntime(model, "cpu")
    source = DomainScorer(Counting(runtime), model.vocabulary.domain(domains[0]))  # type: ignore[arg-type]
    return make_task(model, runtime=runtime, source=source, domains=domains, **options)


def edit_texts(task: Task, texts: list[str], *, prune: bool, **options: Any) -> list[Rewrite]:
    return PaperEditor(task, PaperSettings(**options), Pruned(task) if prune else None).edit(texts)


def assert_same(pruned: Rewrite, whole: Rewrite) -> None:
    """The same rewrite, or another that ties with it."""
    assert (pruned.reason is None) == (whole.reason is None) or abs(whole.score) < 1e-4
    assert pruned.score == pytest.approx(whole.score, abs=1e-4)
    if pruned.text != whole.text:
        return
    for ours, theirs in zip(pruned.edits, whole.edits, strict=True):
        assert asdict(ours) == pytest.approx(asdict(theirs), abs=1e-4)
    if whole.alternatives is not None and pruned.alternatives is not None:
        ours, theirs = ([(a.text, a.score) for a in r.alternatives or ()] for r in (pruned, whole))
        assert [s for _, s in ours] == pytest.approx([s for _, s in theirs], abs=1e-4)
        apart = [b - a > 1e-4 for (_, b), (_, a) in pairwise(theirs)]
        if all(apart):
            assert [t for t, _ in ours][:-1] == [t for t, _ in theirs][:-1]  # the last may tie with one left out


@pytest.fixture(scope="module")
def tasks() -> Callable[[str], Task]:
    made: dict[str, Task] = {}

    def get(family: str) -> Task:
        if family not in made:
            made[family] = counted(make_model(family))
        return made[family]

    return get


@pytest.mark.parametrize(
    "options",
    [{}, {"top": 1}, {"top": 3}, {"top": 50}, {"min_score": 0.05}, {"min_score": -1.0}, {"max_edits": 3}],
    ids=str,
)
def test_the_same_edits_with_half_the_questions(
    tasks: Callable[[str], Task], family: str, options: dict[str, Any]
) -> None:
    task = tasks(family)
    texts = random_texts(60, seed=len(str(options)))
    asked, results = [], []
    for prune in (False, True):
        source = Counting(task.target.runtime)  # type: ignore[arg-type]
        assert task.source
        now = replace(task, source=DomainScorer(source, task.source.token))  # type: ignore[arg-type]
        results.append(edit_texts(now, texts, prune=prune, **options))
        asked.append(source.rows)
    for whole, pruned in zip(*results, strict=True):
        assert_same(pruned, whole)
    if options.get("top", 0) < 50:
        assert asked[1] < (0.9 if "top" in options else 0.7) * asked[0]


def test_thousands_of_random_texts(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    texts = random_texts(2500, seed=7)
    differ = 0
    for at in range(0, len(texts), 250):
        part = texts[at : at + 250]
        whole = edit_texts(task, part, prune=False)
        pruned = edit_texts(task, part, prune=True)
        for ours, theirs in zip(pruned, whole, strict=True):
            assert_same(ours, theirs)
            differ += ours.text != theirs.text
    assert differ < 5  # ties are rare


def test_spans_that_are_no_edit_do_not_raise_the_bar(tasks: Callable[[str], Task]) -> None:
    """Forbidden words make the best spans fall out; those below them must then be asked about."""
    task = tasks("bert")
    texts = random_texts(40, seed=3)
    for word in ("food", "good", "was", "and", "she"):
        barred = replace(task, forbid=frozenset([word, "so", "really"]))
        for ours, theirs in zip(
            *(edit_texts(barred, texts, prune=prune, top=2) for prune in (True, False)), strict=True
        ):
            assert_same(ours, theirs)


def test_nothing_is_asked_below_the_minimum_score(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    assert task.source
    source = task.source.runtime
    assert isinstance(source, Counting)
    before = source.rows
    (rewrite,) = edit_texts(task, ["the food was terrible ."], prune=True, min_score=1.0)
    assert source.rows == before
    assert rewrite.reason == "no edit scores above 1"


def test_one_domain_and_two_models() -> None:
    positive, negative = make_model(domains=("positive",), seed=1), make_model(domains=("negative",), seed=2)
    alone = make_task(positive, domains=("positive",), source=None)
    other = DomainScorer(TorchRuntime(negative, "cpu"), negative.vocabulary.domain("negative"))
    for task in (alone, replace(alone, source=other)):
        texts = random_texts(50, seed=5)
        for ours, theirs in zip(*(edit_texts(task, texts, prune=p) for p in (True, False)), strict=True):
            assert_same(ours, theirs)


def test_a_span_not_asked_about_has_no_score(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    text = task.vocabulary.read("the food was terrible and the service was bad .")
    (scores,) = Pruned(task).score([text], [[]], top=1, min_score=0.0)
    unknown = np.isnan(scores.score)
    assert unknown.any()
    assert not unknown.all()
    fixed = [False] * len(text.words)
    for k in np.flatnonzero(unknown & (scores.target_score > np.nanmax(scores.score))):
        assert realised(task, scores, k, fixed) is None  # only what is no edit may be left out above the best Score
