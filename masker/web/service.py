"""What is asked of the model, and the threads that ask it: one for the model, one for its student."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import masker as package
from masker.api import Masker
from masker.core.edits import Rewrite
from masker.core.explanation import Explanation
from masker.errors import MaskerError
from masker.methods import METHODS, USUAL
from masker.web.batcher import Batcher
from masker.web.limits import Limits
from masker.web.metrics import Metrics
from masker.web.tasks import domains, is_usual, tasks

QUICK = "fast"  # the method that need not wait for the others
EXPLAINED = "paper"  # the method whose table is shown: the page draws it beside the rewrites of all
CHUNK = {QUICK: 256, None: 16}  # texts at a time: more would keep others waiting for longer than they gain
FORGET = 2_000_000  # characters, after which words that were read are forgotten: memory stays bounded


@dataclass(frozen=True)
class Ask:
    """What is asked about a text. Texts of which the same is asked are worked on together."""

    verb: Literal["edit", "explain"]
    to: str
    from_: str | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def method(self) -> str | None:
        return dict(self.options).get("method")


class Service:
    """A model that many ask. `to` is the domain that texts are checked for, if one was named."""

    def __init__(self, masker: Masker, limits: Limits, *, to: str | None = None, name: str = "embedded") -> None:
        self.masker, self.limits, self.name = masker, limits, name
        self.to = None if to is None else masker.model.check_target(to)
        self.metrics = Metrics()
        self.check = lru_cache(maxsize=256)(self._check)
        self._read = 0
        self._lanes = {name: self._lane(name) for name in ("model", "student")}

    def _lane(self, name: str) -> Batcher[Ask]:
        lane = Batcher[Ask](
            self._work,
            chunk=self._chunk,
            capacity=self.limits.max_queue,
            max_chars=self.limits.max_chars * (CHUNK[QUICK] // CHUNK[None] if name == "student" else 1),
            on_chunk=self.metrics.chunks.labels(name).observe,
        )
        self.metrics.waiting.labels(name).set_function(lane.__len__)
        return lane

    def _chunk(self, ask: Ask) -> int:
        return 1 if ask.verb == "explain" else CHUNK.get(ask.method, CHUNK[None])

    def ahead(self, ask: Ask) -> int:
        """How many texts of a batch may wait at a time: enough to keep the thread busy, with room for others."""
        return max(1, min(2 * self._chunk(ask), self.limits.max_queue // 2))

    def start(self) -> None:
        """Load what is needed for the first answers, and start."""
        text, task = "a text .", self.tasks[0]
        for method in task["methods"]:
            self.masker.edit(text, task["to"], task["from"], method=method)
        self.masker.explain(text, task["to"], task["from"], method=EXPLAINED)
        if critic := self.masker.critic_of(task["to"]):
            critic.accepts(task["to"], [text], [text])
        for lane in self._lanes.values():
            lane.start()

    def close(self) -> None:
        """Nothing more is taken on, and what waits is refused."""
        for lane in self._lanes.values():
            lane.close()

    def join(self, seconds: float) -> bool:
        """Whether all that was being worked on has ended within so many seconds."""
        return all(lane.join(seconds) for lane in self._lanes.values())

    def submit(self, ask: Ask, text: str) -> "Future[Any]":
        """A Rewrite or an Explanation to come. What is wrong with the question itself is raised."""
        self.check(ask)
        return self._lanes["student" if ask.method == QUICK else "model"].submit(ask, text)

    def quickest(self, to: str, *, careful: bool = False) -> Ask:
        """How to edit for a domain without keeping a writer waiting; or with care, and several suggestions."""
        usual = [task for task in self.tasks if is_usual(self.masker, task, to)]
        methods = usual[0]["methods"] if usual else []
        if careful and "search" in methods:
            return Ask("edit", to, options=(("method", "search"), ("top", 5)))
        return Ask("edit", to, options=(("method", QUICK),) if QUICK in methods else ())

    @cached_property
    def tasks(self) -> list[dict[str, Any]]:
        """All pairs of domains with the methods that can be used for them, those of counterparts first."""
        return tasks(self.masker)

    def describe(self) -> dict[str, Any]:
        """What can be asked for."""
        model = {"name": self.name, "domains": domains(self.masker), "tasks": self.tasks}
        methods = [{"name": name, "options": sorted(METHODS[name].options)} for name in METHODS]
        limits = {"max_chars": self.limits.max_chars, "explained_chars": self.limits.explained_chars}
        told = {"version": package.__version__, "to": self.to, "usual": list(USUAL), "methods": methods}
        return {**told, "limits": limits, "models": [model]}

    # -- in the threads -----------------------------------------------------------------------------------------------

    def _check(self, ask: Ask) -> None:
        options = dict(ask.options)
        if ask.verb == "edit":
            self.masker.editor(ask.to, ask.from_, **options)  # type: ignore[arg-type]
        else:
            options.pop("min_score", None)
            self.masker.task(ask.to, ask.from_, **options)

    def _work(self, ask: Ask, texts: list[str]) -> list[Any]:
        self._forget(texts)
        if ask.verb == "explain":
            return list(self._explained(ask, texts))
        rewrites = list(
            self.masker.edit_stream(texts, ask.to, ask.from_, **dict(ask.options), keep_going=True, chunk=len(texts))  # type: ignore[arg-type]
        )
        for rewrite in rewrites:
            self.metrics.texts.labels(rewrite.method or "").inc()
        return rewrites

    def _explained(self, ask: Ask, texts: list[str]) -> Iterator[Explanation | MaskerError]:
        for text in texts:
            try:
                yield self.masker.explain(text, ask.to, ask.from_, **dict(ask.options), method=EXPLAINED)  # type: ignore[arg-type]
                self.metrics.texts.labels("explain").inc()
            except MaskerError as error:
                yield error

    def _forget(self, texts: list[str]) -> None:
        self._read += sum(map(len, texts))
        if self._read > FORGET:
            self._read = 0
            self.masker.model.vocabulary.forget()


def failed(ask: Ask, text: str, why: str) -> Rewrite:
    """A text that could not be edited, as the command line has it."""
    return Rewrite(text, text, ask.from_, ask.to, error=why)
