from collections.abc import Callable

import numpy as np
import pytest
import torch
from conftest import FIGURE_1, make_model, make_task

from masker.core.paper import Exhaustive
from masker.core.spans import enumerate_spans
from masker.core.task import Task
from masker.search import infilling
from masker.search.infilling import BEAMS, SINGLES, Infiller

TEXTS = [FIGURE_1, "The food was terrible, and we don't like it!", "so"]


@pytest.fixture(scope="module")
def tasks() -> Callable[[str], Task]:
    made: dict[str, Task] = {}

    def get(family: str) -> Task:
        if family not in made:
            made[family] = make_task(make_model(family))
        return made[family]

    return get


def infiller(task: Task, texts: list[str], **options: object) -> Infiller:
    read = [task.vocabulary.read(text) for text in texts]
    spans = [enumerate_spans(text, task.frame.n_p) for text in read]
    values = {"target": task.target, "source": task.source, "frame": task.frame, "window": task.window,
              "allowed": task.allowed(), "batch_tokens": 300, **options}  # fmt: skip
    return Infiller(read, spans, **values)  # type: ignore[arg-type]


def test_the_first_infill_and_the_old_words_are_those_of_the_paper(tasks: Callable[[str], Task], family: str) -> None:
    task = tasks(family)
    read = [task.vocabulary.read(text) for text in TEXTS]
    scores = Exhaustive(task).begin(read, [[] for _ in read])()
    found = infiller(task, TEXTS)
    for k, of_text in enumerate(scores):
        part = slice(found.ends[k], found.ends[k + 1])
        np.testing.assert_array_equal(found.best[part, :, 0], of_text.infills)
        np.testing.assert_allclose(found.target_log_p[part, :, 0].sum(1), of_text.log_L1, atol=1e-3)
        np.testing.assert_allclose(found.source_log_p[part, :, 0].sum(1), of_text.log_L3, atol=1e-3)
        np.testing.assert_allclose(found.old_t[part], of_text.log_L2, atol=1e-3)
        np.testing.assert_allclose(found.old_s[part], of_text.log_L4, atol=1e-3)


def test_a_refill_has_the_likelihood_of_its_pieces_one_after_the_other(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    found = infiller(task, TEXTS[:1])
    text, frame, runtime = found.texts[0], task.frame, task.target.runtime
    refills = found.pool(3)[0][-3 * BEAMS :]
    for refill in refills:
        span = found.spans[0][refill.span_index]
        chain = [*refill.pieces, *[frame.pad] * (frame.n_p - len(refill.pieces))]
        total = 0.0
        for k in range(min(len(refill.pieces) + 1, frame.n_p)):  # what follows the first [PAD] is certain
            start, stop = text.bounds[span.start], text.bounds[span.stop]
            masks = [*chain[:k], *[frame.mask] * (frame.n_p - k)]
            body = [*text.pieces[:start], *masks, *text.pieces[stop:]]
            ids = torch.tensor([[*frame.start, task.target.token, *body, *frame.end]])
            slot = torch.tensor([[len(frame.start) + 1 + start + k]])
            answer = runtime(ids, torch.ones_like(ids), slot, torch.tensor([[[chain[k]]]]), None)
            total += float(answer.asked_log_p)
        assert refill.target_log_p == pytest.approx(total, abs=1e-3)


def test_single_pieces_are_those_of_most_contrast(
    tasks: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks("bert")
    monkeypatch.setattr(infilling, "TOP", int(task.allowed().sum()))  # so that [PAD] is among them
    found = infiller(tasks("bert"), TEXTS)
    n_p, pad = found._frame.n_p, found._frame.pad
    for k, (spans, pool) in enumerate(zip(found.spans, found.pool(0), strict=True)):
        singles = pool[len(spans) :]
        assert singles
        for i in range(len(spans)):
            row = found.ends[k] + i
            mine = [s for s in singles if s.span_index == i]
            worth = [2 * s.target_log_p - s.source_log_p for s in mine]
            assert worth == sorted(worth, reverse=True)
            assert len(mine) <= SINGLES
            for single in mine:
                slots = [list(found.best[row, j]).index(pad) for j in range(1, n_p)]
                first = list(found.best[row, 0]).index(single.pieces[0])
                target_log_p = found.target_log_p[row, 0, first] + sum(
                    found.target_log_p[row, j + 1, at] for j, at in enumerate(slots)
                )
                assert single.target_log_p == pytest.approx(target_log_p, abs=1e-4)


def test_nothing_is_never_inserted_where_nothing_was(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    found = infiller(task, TEXTS)
    for spans, pool in zip(found.spans, found.pool(100), strict=True):
        refills = pool[-BEAMS * len(spans) :]
        assert all(r.pieces for r in refills if spans[r.span_index].start == spans[r.span_index].stop)
        assert [infill.span_index for infill in pool[: len(spans)]] == list(range(len(spans)))
        assert all(len(infill.pieces) == 1 for infill in pool[len(spans) : -BEAMS * len(spans)])


def test_without_a_source_domain_there_is_no_contrast(tasks: Callable[[str], Task]) -> None:
    found = infiller(tasks("bert"), TEXTS[:1], source=None)
    np.testing.assert_array_equal(found.target_log_p, found.source_log_p)
    assert found.passes[0] == len(found.spans[0])


def test_passes_are_counted(tasks: Callable[[str], Task]) -> None:
    found = infiller(tasks("bert"), TEXTS)
    assert found.passes.tolist() == [2 * len(spans) for spans in found.spans]
    before = found.passes.copy()
    found.pool(2)
    assert (found.passes - before <= 2 * 2 * BEAMS * 3).all()
    assert (found.passes > before).any()


@pytest.mark.parametrize("budget", [1, 50, 100_000])
def test_batches_change_nothing(tasks: Callable[[str], Task], budget: int) -> None:
    task = tasks("bert")
    one, other = (infiller(task, TEXTS, batch_tokens=b).pool(4) for b in (budget, 300))
    assert [[i.pieces for i in pool] for pool in one] == [[i.pieces for i in pool] for pool in other]
