"""The fast ways give what the reference implementation says, for every family of models."""

import random
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from conftest import CORPUS, FIGURE_1, make_model, make_task

from masker.core import reference
from masker.core.matching import Pattern
from masker.core.paper import Exhaustive, PaperEditor
from masker.model.padded_mlm import PaddedMLM
from masker.search.pruning import Pruned

RNG = random.Random(0)
TEXTS = [FIGURE_1, *(" ".join(RNG.choices(CORPUS.split(), k=RNG.randint(1, 9))) for _ in range(30))]


def log_probs(model: PaddedMLM) -> Callable[[list[list[int]]], list[np.ndarray]]:
    """One input at a time, all positions, as plainly as it can be done."""

    def ask(inputs: list[list[int]]) -> list[np.ndarray]:
        found = []
        for row in inputs:
            ids = torch.tensor([row])
            slots = torch.arange(len(row))[None]
            with torch.no_grad():
                found.append(model(ids, torch.ones_like(ids), slots)[0].log_softmax(-1).numpy())
        return found

    return ask


def test_scores_are_those_of_the_reference(family: str) -> None:
    model = make_model(family)
    task = make_task(model)
    texts = [task.vocabulary.read(text) for text in TEXTS]
    for ours, text in zip(Exhaustive(task).begin(texts[:6], [[]] * 6)(), TEXTS, strict=False):
        theirs = reference.score_spans(task, text, log_probs(model))
        assert list(ours.spans) == list(theirs.spans)
        np.testing.assert_allclose(ours.score, theirs.score, atol=1e-4)
        for a, b in zip(ours.log_L, theirs.log_L, strict=True):
            assert a is not None
            assert b is not None
            np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("source", [True, None])
def test_edits_are_those_of_the_reference(source: bool | None) -> None:
    model = make_model("bert")
    task = make_task(model, source=source)
    expected = [reference.edit(task, text, log_probs(model)) for text in TEXTS]
    assert expected != TEXTS
    for scorer in (Exhaustive(task), Pruned(task)):
        assert [r.text for r in PaperEditor(task, scorer=scorer).edit(TEXTS)] == expected


def test_what_is_protected_and_forbidden_is_so_for_the_reference() -> None:
    model = make_model("bert")
    rewrites = [r for r in PaperEditor(make_task(model)).edit(TEXTS) if r.edits]
    assert rewrites
    for best in rewrites:
        forbidden = frozenset(best.edits[0].new.split())
        for bound in (make_task(model, forbid=forbidden), make_task(model, protect=(Pattern(re.compile(r"\w+")),))):
            (ours,) = PaperEditor(bound).edit([best.source])
            assert reference.edit(bound, best.source, log_probs(model)) == ours.text
