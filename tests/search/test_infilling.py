from collections.abc import Callable

import numpy as np
import pytest
import torch
from conftest import FIGURE_1, make_model, make_task

from masker.core.paper import Exhaustive
from masker.core.spans import enumerate_spans
from masker.core.task import Task
from masker.search import infilling
from masker.search.edited import Edited
from masker.search.infilling import BEAMS, SINGLES, Infiller
from masker.search.lexicon import Lexicon
from masker.search.pool import Pool, Spelling, compact

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
    number = np.repeat(np.arange(len(read)), [len(of_text) for of_text in spans])
    whole = Edited(task.vocabulary, [(text, (), {}) for text in read])
    return Infiller(whole, number, np.concatenate(spans), **values)  # type: ignore[arg-type]


def test_the_first_infill_and_the_old_words_are_those_of_the_paper(tasks: Callable[[str], Task], family: str) -> None:
    task = tasks(family)
    read = [task.vocabulary.read(text) for text in TEXTS]
    scores = Exhaustive(task).begin(read, [[] for _ in read])()
    found = infiller(task, TEXTS)
    for k, of_text in enumerate(scores):
        part = found.text == k
        np.testing.assert_array_equal(found.best[part, :, 0], of_text.infills)
        np.testing.assert_allclose(found.target_log_p[part, :, 0].sum(1), of_text.log_L1, atol=1e-3)
        np.testing.assert_allclose(found.source_log_p[part, :, 0].sum(1), of_text.log_L3, atol=1e-3)
        np.testing.assert_allclose(found.old_t[part], of_text.log_L2, atol=1e-3)
        np.testing.assert_allclose(found.old_s[part], of_text.log_L4, atol=1e-3)


def test_odds_come_to_what_the_domains_say(tasks: Callable[[str], Task], family: str) -> None:
    task = tasks(family)
    odds = np.random.default_rng(0).normal(size=(2, len(task.vocabulary))).astype(np.float32)
    plain, found = infiller(task, TEXTS), infiller(task, TEXTS, odds=odds)
    assert (found.best != plain.best).any()
    assert task.allowed()[found.best].all()
    assert (np.diff(found.target_log_p) <= 1e-5).all()  # the best first, the odds counted in
    assert all((log_p <= 0).all() for log_p in (found.target_log_p, found.source_log_p, found.old_t, found.old_s))
    shared = (found.best[:, :, :1] == plain.best[:, :, :1]).all((1, 2))
    pieces = plain.best[shared, :, 0]
    for side, name in ((0, "target_log_p"), (1, "source_log_p")):
        expected = np.minimum(getattr(plain, name)[shared, :, 0] + odds[side][pieces], 0.0)
        np.testing.assert_allclose(getattr(found, name)[shared, :, 0], expected, atol=1e-3)


def test_without_a_source_domain_there_is_no_contrast_in_the_odds_either(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    odds = np.random.default_rng(0).normal(size=(2, len(task.vocabulary))).astype(np.float32)
    found = infiller(task, TEXTS, odds=odds, source=None)
    np.testing.assert_array_equal(found.source_log_p, found.target_log_p)
    np.testing.assert_array_equal(found.old_s, found.old_t)


def always(rows: np.ndarray, pieces: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    return np.ones(len(rows), bool)


def rows_of(pool: Pool) -> list[tuple[int, int, tuple[int, ...], float, float]]:
    """Text, span, pieces, and the two likelihoods of every infill."""
    pieces = [tuple(i for i in row if i >= 0) for row in pool.pieces.tolist()]
    columns = pool.owner.tolist(), pool.row.tolist(), pieces, pool.target_log_p.tolist(), pool.source_log_p.tolist()
    return list(zip(*columns, strict=True))


def test_a_refill_has_the_likelihood_of_its_pieces_one_after_the_other(tasks: Callable[[str], Task]) -> None:
    task = tasks("bert")
    found = infiller(task, TEXTS[:1])
    text, frame, runtime = task.vocabulary.read(TEXTS[0]), task.frame, task.target.runtime
    refills = rows_of(found.refills(3, always))
    assert len(refills) == 3 * BEAMS
    for _, row, pieces, target_log_p, _ in refills:
        a, b = found.span[row].tolist()
        chain = [*pieces, *[frame.pad] * (frame.n_p - len(pieces))]
        total = 0.0
        for k in range(min(len(pieces) + 1, frame.n_p)):  # what follows the first [PAD] is certain
            start, stop = text.bounds[a], text.bounds[b]
            masks = [*chain[:k], *[frame.mask] * (frame.n_p - k)]
            body = [*text.pieces[:start], *masks, *text.pieces[stop:]]
            ids = torch.tensor([[*frame.start, task.target.token, *body, *frame.end]])
            slot = torch.tensor([[len(frame.start) + 1 + start + k]])
            answer = runtime(ids, torch.ones_like(ids), slot, torch.tensor([[[chain[k]]]]), None)
            total += float(answer.asked_log_p)
        assert target_log_p == pytest.approx(total, abs=1e-3)


def test_refills_that_are_not_worth_it_are_given_up(tasks: Callable[[str], Task]) -> None:
    found = infiller(tasks("bert"), TEXTS)
    everything = {(row, pieces) for _, row, pieces, _, _ in rows_of(found.refills(9, always))}
    likely = rows_of(found.refills(9, lambda rows, pieces, log_p: log_p > -4))
    assert {(row, pieces) for _, row, pieces, _, _ in likely} <= everything
    assert 0 < len(likely) < len(everything)
    assert not len(found.refills(9, lambda rows, pieces, log_p: log_p > 0))
    assert not len(found.refills(0, always))


def test_single_pieces_are_those_of_most_contrast(
    tasks: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks("bert")
    monkeypatch.setattr(infilling, "TOP", int(task.allowed().sum()))  # so that [PAD] is among them
    found = infiller(tasks("bert"), TEXTS)
    n_p, pad, count = found._frame.n_p, found._frame.pad, len(found.span)
    pool = rows_of(found.pool())
    assert [row for _, row, *_ in pool[:count]] == list(range(count))  # the paper's infills come first
    for row in range(count):
        mine = [single for single in pool[count:] if single[1] == row]
        worth = [2 * target - source for _, _, _, target, source in mine]
        assert worth == sorted(worth, reverse=True)
        assert len(mine) <= SINGLES
        for _, _, pieces, target_log_p, _ in mine:
            assert len(pieces) == 1
            slots = [list(found.best[row, j]).index(pad) for j in range(1, n_p)]
            first = list(found.best[row, 0]).index(pieces[0])
            rest = sum(found.target_log_p[row, j + 1, at] for j, at in enumerate(slots))
            assert target_log_p == pytest.approx(found.target_log_p[row, 0, first] + rest, abs=1e-4)


def test_nothing_is_never_inserted_where_nothing_was(tasks: Callable[[str], Task]) -> None:
    found = infiller(tasks("bert"), TEXTS)
    for _, row, pieces, _, _ in rows_of(found.refills(100, always)):
        assert pieces or found.span[row, 0] < found.span[row, 1]


def test_without_a_source_domain_there_is_no_contrast(tasks: Callable[[str], Task]) -> None:
    found = infiller(tasks("bert"), TEXTS[:1], source=None)
    np.testing.assert_array_equal(found.target_log_p, found.source_log_p)


@pytest.mark.parametrize("budget", [1, 50, 100_000])
def test_batches_change_nothing(tasks: Callable[[str], Task], budget: int) -> None:
    task = tasks("bert")
    one, other = (infiller(task, TEXTS, batch_tokens=b) for b in (budget, 300))
    for ask in ("pool", "refills"):
        ours, theirs = (getattr(x, ask)(*(() if ask == "pool" else (4, always))) for x in (one, other))
        np.testing.assert_array_equal(ours.pieces, theirs.pieces)
        np.testing.assert_array_equal(ours.row, theirs.row)


def test_an_infill_of_a_span_is_kept_once() -> None:
    pieces = np.array([[7, -1], [7, -1], [8, -1], [7, -1]])
    pool = Pool(np.zeros(4, int), np.array([0, 0, 0, 1]), pieces, np.array([-2.0, -1.0, -3.0, -4.0]), np.zeros(4))
    assert sorted(pool.distinct().target_log_p.tolist()) == [-4.0, -3.0, -1.0]


def test_compact_drops_what_is_padding_wherever_it_stands() -> None:
    assert compact(np.array([[0, 5, 0, 6], [1, 2, 3, 4]]), 0).tolist() == [[5, 6, -1, -1], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("infill", "words"), [("we've", 2), ("'s", 1), ("' nice '", 3), ("'", -1), ("' not", -1), ("s '", -1), ("we", 1)]
)
def test_half_of_a_contraction_is_no_infill(tasks: Callable[[str], Task], infill: str, words: int) -> None:
    vocabulary = tasks("bert").vocabulary
    pieces = [piece for word in vocabulary.read(infill).words for piece in word.pieces]
    row = np.array([[*pieces, *[-1] * (6 - len(pieces))]])
    _, count = Spelling(vocabulary, Lexicon()).words(row, np.array([True]))
    assert count.tolist() == [words]
