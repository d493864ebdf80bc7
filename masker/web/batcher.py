"""Texts that come one by one are worked on together: one thread, a bounded queue, and chunks of texts of one task."""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from masker.web.limits import closing, too_busy

Task = TypeVar("Task", bound=Hashable)
Work = Callable[[Task, list[str]], Sequence[Any]]  # an answer for every text; one that is an exception is raised


@dataclass
class _Job:
    text: str
    future: "Future[Any]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Batcher(Generic[Task]):
    """A thread that does `work`, on `chunk(task)` texts of the same task at a time, or so many that have `max_chars`.

    The first of them waits `patience` seconds for others. No more than `capacity` texts wait; further ones are refused.
    """

    def __init__(
        self,
        work: Work[Task],
        *,
        chunk: Callable[[Task], int],
        capacity: int,
        max_chars: int,
        patience: float = 0.002,
        on_chunk: Callable[[int], Any] = lambda texts: None,
    ) -> None:
        self._work, self._chunk, self._on_chunk = work, chunk, on_chunk
        self._capacity, self._max_chars, self._patience = capacity, max_chars, patience
        self._waiting: dict[Task, deque[_Job]] = {}  # tasks take turns: the first is next
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="masker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def __len__(self) -> int:
        """How many texts wait."""
        return self._count

    def submit(self, task: Task, text: str) -> "Future[Any]":
        """The answer to come. It can be cancelled while it waits."""
        job = _Job(text)
        with self._changed:
            if self._closed:
                raise closing()
            if self._count >= self._capacity:
                raise too_busy()
            self._waiting.setdefault(task, deque()).append(job)
            self._count += 1
            if self._count == 1:
                self._changed.notify()
        return job.future

    def close(self) -> None:
        """What waits is refused, and nothing more is taken on. What is being worked on is finished."""
        with self._changed:
            self._closed = True
            waiting = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            self._count = 0
            self._changed.notify()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(closing())

    def join(self, seconds: float) -> bool:
        """Whether the thread has ended within so many seconds."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._wait():
            task, jobs = self._take()
            going = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            if going:
                self._on_chunk(len(going))
                self._answer(task, going)

    def _wait(self) -> bool:
        """Until there is something to do, and a moment longer, for others to come. False: there will be nothing."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            task, jobs = next(iter(self._waiting.items()))
            left = self._patience - (time.monotonic() - jobs[0].since)
            full = len(jobs) >= self._chunk(task)
        if left > 0 and not full:
            time.sleep(left)
        return True

    def _take(self) -> tuple[Task, list[_Job]]:
        with self._changed:
            if not self._waiting:  # closed meanwhile
                return None, []  # type: ignore[return-value]
            task, jobs = next(iter(self._waiting.items()))
            taken, most = [jobs.popleft()], self._chunk(task)
            chars = len(taken[0].text)
            while jobs and len(taken) < most and (chars := chars + len(jobs[0].text)) <= self._max_chars:
                taken.append(jobs.popleft())
            del self._waiting[task]
            if jobs:
                self._waiting[task] = jobs  # behind the others
            self._count -= len(taken)
        return task, taken

    def _answer(self, task: Task, jobs: list[_Job]) -> None:
        try:
            answers = self._work(task, [job.text for job in jobs])
        except Exception as error:
            answers = [error] * len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
