from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from conftest import FIGURE_1, make_model, make_task
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from masker.api import Masker
from masker.core.paper import Exhaustive
from masker.core.runtime import SlotScores
from masker.core.scoring import DomainScorer, SpanScores, source_score, target_score
from masker.core.spans import Span, enumerate_spans
from masker.core.task import Task
from masker.core.text import Text
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.torch import TorchRuntime

TEXTS = [
    FIGURE_1,
    "The food was terrible, and we don't like it!",
    "so",
    "I can't believe how RUDE they were; really (really) rude ...",
    "it was n't good .",
]


class Spy:
    """A runtime that writes down what it was asked."""

    def __init__(self, runtime: TorchRuntime) -> None:
        self.runtime = runtime
        self.calls: list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]] = []
        self.to_device = runtime.to_device

    def __call__(self, *inputs: Any) -> SlotScores:
        self.calls.append(inputs)
        return self.runtime(*inputs)


@pytest.fixture(scope="module")
def tasks() -> Callable[[str], Task]:
    made: dict[str, Task] = {}

    def get(family: str) -> Task:
        if family not in made:
            made[family] = make_task(make_model(family))
        return made[family]

    return get


def scored(task: Task, texts: list[str]) -> list[SpanScores]:
    read = [task.vocabulary.read(text) for text in texts]
    return Exhaustive(task).begin(read, [[] for _ in read])()


def likelihoods(scores: SpanScores) -> np.ndarray:
    assert scores.log_L3 is not None
    assert scores.log_L4 is not None
    return np.exp(np.stack([scores.log_L1, scores.log_L2, scores.log_L3, scores.log_L4]))


# -- the paper's table -------------------------------------------------------------------------------------------------


def test_the_likelihoods_of_figure_1_give_its_scores(figure_1: list[dict[str, Any]]) -> None:
    L1, L2, L3, L4, target, source, score = (
        np.array([row[name] for row in figure_1])
        for name in ("L1", "L2", "L3", "L4", "target_score", "source_score", "score")
    )
    np.testing.assert_allclose(target_score(L1, L2), target, atol=0.0015)
    np.testing.assert_allclose(source_score(L3, L4), source, atol=0.0015)
    np.testing.assert_allclose(target + source, score, atol=0.0015)
    with np.errstate(divide="ignore"):  # the table's 0.000
        logs = [np.log(L) for L in (L1, L2, L3, L4)]
    infills = np.zeros((len(score), 4), dtype=int)
    scores = SpanScores(Text("", ()), [Span(0, 0)] * len(score), infills, *logs)
    np.testing.assert_allclose(scores.score, score, atol=0.0025)  # five numbers rounded to three digits
    best = figure_1[int(scores.score.argmax())]
    assert (best["i"], best["words_deleted"], best["replacement"]) == (6, 2, "and [PAD] [PAD] [PAD]")


def test_source_score_is_never_positive_nor_minus_zero() -> None:
    scores = source_score(np.array([0.2, 0.7, 0.5]), np.array([0.7, 0.2, 0.5]))
    assert scores.tolist() == pytest.approx([0.0, -0.5, 0.0])
    assert not np.signbit(scores[[0, 2]]).any()


# -- any model ---------------------------------------------------------------------------------------------------------


def test_likelihoods_are_those_of_the_paper_span_by_span(tasks: Callable[[str], Task], family: str) -> None:
    """Each span by itself, straight from the paper: softmax at each mask, product over the masks."""
    task = tasks(family)
    text, f = task.vocabulary.read(TEXTS[1]), task.frame
    (scores,) = Exhaustive(task).begin([text], [[]])()
    runtime = task.target.runtime
    assert isinstance(runtime, TorchRuntime)
    assert task.source is not None
    model, allowed = runtime.model, torch.from_numpy(task.vocabulary.infillable)
    for k, span in list(enumerate(scores.spans))[::3]:
        start, stop = text.bounds[span.start], text.bounds[span.stop]
        old = torch.tensor(text.pieces[start:stop] + [f.pad] * (f.n_p - (stop - start)))
        body = [*text.pieces[:start], *[f.mask] * f.n_p, *text.pieces[stop:]]
        slots = torch.arange(f.n_p)[None] + start + 2
        p = []
        for side in (task.target, task.source):
            ids = torch.tensor([[*f.start, side.token, *body, *f.end]])
            with torch.no_grad():
                p.append(model(ids, torch.ones_like(ids), slots)[0].softmax(-1))
        new = p[0].masked_fill(~allowed, -1).argmax(-1)
        slot = torch.arange(f.n_p)
        expected = [p[0][slot, new], p[0][slot, old], p[1][slot, new], p[1][slot, old]]
        assert scores.infills[k].tolist() == new.tolist()
        np.testing.assert_allclose(likelihoods(scores)[:, k], [e.prod() for e in expected], atol=1e-4)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.text("aehmt d.,!'-SHE", min_size=1, max_size=24).filter(str.strip), min_size=1, max_size=3))
def test_scores_are_bounded(tasks: Callable[[str], Task], texts: list[str]) -> None:
    for family in ("bert", "mpnet", "roberta"):
        for scores in scored(tasks(family), texts):
            assert (scores.target_score >= 0).all()
            assert (scores.target_score <= 1).all()
            assert (scores.source_score >= -1).all()
            assert (scores.source_score <= 0).all()
            assert (scores.score >= -1).all()
            assert (scores.score <= scores.target_score).all()


def test_scores_do_not_depend_on_batch_or_order(tasks: Callable[[str], Task], family: str) -> None:
    task = tasks(family)
    one_by_one = scored(replace(task, batch_tokens=1), TEXTS)
    few, many = scored(replace(task, batch_tokens=100), TEXTS), scored(task, TEXTS)
    backwards = scored(task, TEXTS[::-1])[::-1]
    alone = [scored(task, [text])[0] for text in TEXTS]
    for reference, *others in zip(one_by_one, few, many, backwards, alone, strict=True):
        for other in others:
            assert other.text == reference.text
            assert other.spans == reference.spans
            assert other.infills.tolist() == reference.infills.tolist()
            np.testing.assert_allclose(likelihoods(other), likelihoods(reference), atol=1e-4)


def test_all_spans_of_all_texts_are_scored(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    for source, scores in zip(TEXTS, scored(task, TEXTS), strict=True):
        assert scores.text.source == source
        assert list(scores.spans) == enumerate_spans(scores.text, 4)
        assert scores.infills.shape == (len(scores.spans), 4)
        assert (scores.log_L1 < 0).all()


def test_texts_without_any_span_are_no_trouble(tasks: Callable[[str], Task]) -> None:
    assert Exhaustive(tasks("bert")).begin([], [])() == []


def spied(task: Task, **options: Any) -> tuple[Task, Spy, Spy]:
    assert task.source is not None
    assert isinstance(task.target.runtime, TorchRuntime)
    target, source = Spy(task.target.runtime), Spy(task.target.runtime)
    sides = {"target": DomainScorer(target, task.target.token), "source": DomainScorer(source, task.source.token)}
    return replace(task, **sides, **options), target, source


def test_both_domains_are_asked_about_the_same_masked_input(tasks: Callable[[str], Task]) -> None:
    task, target, source = spied(tasks("bert"), batch_tokens=200)
    scored(task, TEXTS)
    assert len(target.calls) == len(source.calls) > 1
    assert task.source is not None
    for asked, again in zip(target.calls, source.calls, strict=True):
        assert (asked[0][:, 1] == task.target.token).all()
        assert (again[0][:, 1] == task.source.token).all()
        assert torch.equal(asked[0][:, 2:], again[0][:, 2:])
        assert torch.equal(asked[1], again[1])
        assert torch.equal(asked[2], again[2])
        assert (asked[0].gather(1, asked[2]) == task.frame.mask).all()  # the slots are masks, n_p a row
        assert ((asked[0] == task.frame.mask).sum(1) == 4).all()
        assert torch.equal(asked[3][:, :, 0], again[3][:, :, 1])  # L2 and L4 speak of the same words


def test_a_batch_is_no_larger_than_its_budget(tasks: Callable[[str], Task]) -> None:
    task, target, _ = spied(tasks("bert"), batch_tokens=200)
    scored(task, [*TEXTS, "it " * 40])
    sizes = [call[0].numel() for call in target.calls]
    assert max(sizes) <= 200
    assert sum(size > 100 for size in sizes) > len(sizes) / 2  # and most are well filled


def test_without_a_source_score_is_the_target_score(tasks: Callable[[str], Task]) -> None:
    task, target, source = spied(tasks("bert"))
    scores = scored(replace(task, source=None), TEXTS)[0]
    assert target.calls
    assert not source.calls
    assert scores.log_L3 is scores.log_L4 is None
    assert (scores.score == scores.target_score).all()
    assert (scores.target_score == scored(task, TEXTS)[0].target_score).all()


class Tempted(nn.Module):
    """A model that would rather infill what is barred."""

    def __init__(self, model: PaddedMLM, barred: np.ndarray) -> None:
        super().__init__()
        self.model = model
        self.barred = torch.from_numpy(barred)

    def at(self, *inputs: Tensor) -> Tensor:
        return self.model.at(*inputs)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.model.logits(hidden) + 20.0 * self.barred


def test_special_unused_and_domain_tokens_are_never_infilled(family: str) -> None:
    model = make_model(family)
    v = model.vocabulary
    runtime = TorchRuntime(Tempted(model, ~v.infillable), "cpu")  # type: ignore[arg-type]
    for scores in scored(make_task(model, runtime=runtime), TEXTS):
        assert v.infillable[scores.infills].all()
        tokens = {token for row in scores.infills for token in v.tokens(row.tolist())}
        assert not {t for t in tokens if "domain:" in t or "unused" in t}
        assert not tokens & {t for t in v.tokenizer.all_special_tokens if t != v.tokenizer.pad_token}


def test_embeddings_that_belong_to_no_token_are_never_infilled(family: str) -> None:
    model = make_model(family)
    size = len(model.vocabulary)
    before = scored(make_task(model), TEXTS[:1])[0]
    with torch.no_grad():
        spare = model.mlm.get_input_embeddings().weight[size:]
        assert len(spare) > 0
        spare.normal_(std=100)
    after = scored(make_task(model), TEXTS[:1])[0]
    assert (after.infills < size).all()
    np.testing.assert_allclose(likelihoods(after), likelihoods(before), atol=1e-5)  # nor do they take probability


def test_a_forbidden_piece_gives_way_to_the_next_best(family: str) -> None:
    model = make_model(family)
    v = model.vocabulary
    (food,) = v.read("the food").words[1].pieces
    runtime = TorchRuntime(Tempted(model, np.arange(len(v)) == food), "cpu")  # type: ignore[arg-type]
    task = make_task(model, runtime=runtime)
    assert (scored(task, TEXTS[:1])[0].infills == food).all()
    after = scored(replace(task, forbid=["Food" if family == "bert" else "food"]), TEXTS[:1])[0]
    assert food not in after.infills


# -- long texts --------------------------------------------------------------------------------------------------------


def test_a_long_text_is_scored_in_windows_around_each_span(tasks: Callable[[str], Task]) -> None:
    task, target, _ = spied(tasks("bert"), batch_tokens=1)
    words = [f"{a}{b}" for a in "abcdefghij" for b in "0123456789"] * 2
    source = " ".join(words) + " ."
    scores = scored(task, [source])[0]
    text = scores.text
    assert len(text.pieces) > 4 * task.window
    assert list(scores.spans) == enumerate_spans(text, 4)  # none is dropped
    assert len(target.calls) == len(scores.spans)
    assert np.isfinite(likelihoods(scores)).all()
    seen = {tuple(call[0][0].tolist()) for call in target.calls}
    for span in scores.spans:
        start, stop = text.bounds[span.start], text.bounds[span.stop]
        lo = max(0, min((start + stop - task.window) // 2, len(text.pieces) - task.window))
        assert lo <= start <= stop <= lo + task.window
        body = [*text.pieces[lo:start], *[task.frame.mask] * 4, *text.pieces[stop : lo + task.window]]
        assert (*task.frame.start, task.target.token, *body, *task.frame.end) in seen


def test_a_text_of_exactly_one_window_is_shown_whole(tasks: Callable[[str], Task]) -> None:
    task, target, _ = spied(tasks("bert"), batch_tokens=1)
    scores = scored(task, ["it " * task.window])[0]
    widths = {call[0].shape[1] for call in target.calls}
    assert widths == {task.window + 3 + 4 - w for w in range(5)}
    assert len(scores.spans) == len(target.calls)


# -- one domain, two models --------------------------------------------------------------------------------------------


def test_a_single_domain_scores_by_target_score_alone() -> None:
    masker = Masker(make_model(domains=("positive",)), device="cpu")
    explanation = masker.explain(TEXTS[1], to="positive")
    assert explanation.from_ is None
    assert all(row.L3 is None and row.L4 is None and row.source_score == 0 for row in explanation.spans)
    assert all(row.score == row.target_score for row in explanation.spans)


def test_two_models_fitted_apart() -> None:
    positive, negative = make_model(domains=("positive",), seed=1), make_model(domains=("negative",), seed=2)
    explanation = Masker(positive, negative, device="cpu").explain(TEXTS[1], to="positive")
    assert explanation.from_ == "negative"
    other = DomainScorer(TorchRuntime(negative, "cpu"), negative.vocabulary.domain("negative"))
    by_hand = scored(make_task(positive, domains=("positive",), source=other), [TEXTS[1]])[0]
    rows = np.array([[row.L1, row.L2, row.L3, row.L4] for row in explanation.spans], dtype=float).T
    np.testing.assert_allclose(rows, likelihoods(by_hand), atol=1e-6)
    same = Masker(positive, device="cpu").explain(TEXTS[1], to="positive")
    assert [row.target_score for row in same.spans] == [row.target_score for row in explanation.spans]


def test_two_models_must_have_one_vocabulary_and_one_n_p() -> None:
    positive = make_model(domains=("positive",))
    with pytest.raises(MaskerError, match="different vocabularies"):
        Masker(positive, make_model("mpnet", ("negative",)), device="cpu")
    with pytest.raises(MaskerError, match="n_p 4 and 3"):
        Masker(positive, make_model(domains=("negative",), n_p=3), device="cpu")
