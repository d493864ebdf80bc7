"""Who asks together is answered together, each with their own answer; and never more than fits."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from masker.web.batcher import Batcher
from masker.web.limits import Refused


class Worker:
    """Answers with the task and the text; waits until it is let go, if it is held."""

    def __init__(self) -> None:
        self.chunks: list[tuple[str, list[str]]] = []
        self.free = threading.Event()
        self.free.set()
        self.busy = threading.Event()

    def __call__(self, task: str, texts: list[str]) -> list[Any]:
        self.chunks.append((task, texts))
        self.busy.set()
        self.free.wait(10)
        return [ValueError(text) if text == "bad" else f"{task}: {text}" for text in texts]


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def batcher_of(worker: Worker) -> Iterator[Callable[..., Batcher[str]]]:
    made: list[Batcher[str]] = []

    def make(**options: Any) -> Batcher[str]:
        values = {"chunk": lambda task: 4, "capacity": 100, "max_chars": 1000, "patience": 0.05} | options
        made.append(Batcher(worker, **values))
        made[-1].start()
        return made[-1]

    yield make
    worker.free.set()
    for batcher in made:
        batcher.close()
        assert batcher.join(5)


def hold(worker: Worker, batcher: Batcher[str]) -> "Future[Any]":
    """Keep the thread busy, so that what comes then waits."""
    worker.free.clear()
    first = batcher.submit("held", "first")
    assert worker.busy.wait(5)
    return first


def test_texts_that_come_together_are_one_chunk(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(chunk=lambda task: 50)
    hold(worker, batcher)
    futures: dict[str, Future[Any]] = {}

    def ask(text: str) -> None:
        futures[text] = batcher.submit("a", text)

    threads = [threading.Thread(target=ask, args=[str(k)]) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worker.free.set()
    assert {text: future.result(5) for text, future in futures.items()} == {str(k): f"a: {k}" for k in range(20)}
    assert [len(texts) for _, texts in worker.chunks[1:]] == [20]


def test_who_comes_a_moment_later_is_waited_for(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(patience=1.0)
    futures = [batcher.submit("a", text) for text in ("one", "two")]
    assert [future.result(5) for future in futures] == ["a: one", "a: two"]
    assert len(worker.chunks) == 1


def test_no_chunk_mixes_tasks_and_tasks_take_turns(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of()
    hold(worker, batcher)
    futures = [batcher.submit("a", f"a{k}") for k in range(10)] + [batcher.submit("b", "b0")]
    worker.free.set()
    assert [future.result(5) for future in futures] == [*(f"a: a{k}" for k in range(10)), "b: b0"]
    assert [(task, len(texts)) for task, texts in worker.chunks[1:]] == [("a", 4), ("b", 1), ("a", 4), ("a", 2)]


def test_a_chunk_has_only_so_many_characters(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(max_chars=10)
    hold(worker, batcher)
    futures = [batcher.submit("a", "x" * size) for size in (6, 4, 1, 50, 1)]
    worker.free.set()
    for future in futures:
        future.result(5)
    assert [list(map(len, texts)) for _, texts in worker.chunks[1:]] == [[6, 4], [1], [50], [1]]


def test_one_that_fails_takes_no_other_with_it(batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(patience=1.0)
    good, bad = batcher.submit("a", "good"), batcher.submit("a", "bad")
    assert good.result(5) == "a: good"
    with pytest.raises(ValueError, match="bad"):
        bad.result(5)


def test_work_that_fails_fails_for_all_and_the_next_goes_on() -> None:
    calls = []

    def work(task: str, texts: list[str]) -> list[str]:
        calls.append(texts)
        if len(calls) == 1:
            raise RuntimeError("broken")
        return texts

    batcher = Batcher(work, chunk=lambda task: 4, capacity=10, max_chars=100, patience=1.0)
    batcher.start()
    first = [batcher.submit("a", text) for text in ("one", "two")]
    for future in first:
        with pytest.raises(RuntimeError, match="broken"):
            future.result(5)
    assert batcher.submit("a", "three").result(5) == "three"
    batcher.close()
    assert batcher.join(5)


def test_no_more_wait_than_there_is_room_for(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(capacity=3)
    hold(worker, batcher)
    waiting = [batcher.submit("a", str(k)) for k in range(3)]
    with pytest.raises(Refused, match="too many") as refused:
        batcher.submit("a", "one too many")
    assert refused.value.status == 429
    assert len(batcher) == 3
    worker.free.set()
    assert [future.result(5) for future in waiting] == ["a: 0", "a: 1", "a: 2"]
    assert batcher.submit("a", "again").result(5) == "a: again"


def test_what_is_cancelled_is_not_worked_on(worker: Worker, batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of()
    hold(worker, batcher)
    gone, there = batcher.submit("a", "gone"), batcher.submit("a", "there")
    assert gone.cancel()
    worker.free.set()
    assert there.result(5) == "a: there"
    assert worker.chunks[1:] == [("a", ["there"])]
    with pytest.raises(CancelledError):
        gone.result(5)


def test_closing_refuses_what_waits_and_finishes_what_is_begun(
    worker: Worker, batcher_of: Callable[..., Batcher[str]]
) -> None:
    batcher = batcher_of()
    first = hold(worker, batcher)
    waiting = batcher.submit("a", "late")
    batcher.close()
    with pytest.raises(Refused, match="shutting down"):
        waiting.result(5)
    with pytest.raises(Refused, match="shutting down"):
        batcher.submit("a", "later")
    assert not batcher.join(0.01)
    worker.free.set()
    assert first.result(5) == "held: first"
    assert batcher.join(5)


def test_who_comes_alone_does_not_wait_long(batcher_of: Callable[..., Batcher[str]]) -> None:
    batcher = batcher_of(patience=0.01)
    begun = time.perf_counter()
    batcher.submit("a", "alone").result(5)
    assert time.perf_counter() - begun < 0.5
