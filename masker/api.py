"""Masker: the face of it all."""

import itertools
import re
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from masker.core.editing import Edit, Rewrite, Task, begin_edits, best_edits, candidates, finished
from masker.core.runtime import Runtime
from masker.core.scoring import DomainScorer
from masker.errors import MaskerError, unknown

if TYPE_CHECKING:  # ONNX Runtime does without torch
    import torch

    from masker.runtime import Model
    from masker.search.ranking import Style

A = TypeVar("A")
B = TypeVar("B")

_SEARCHED = 256  # texts at a time that the search editor holds the candidates of


@dataclass(frozen=True)
class SpanRow:
    """One row of the paper's appendix table. `candidate`: the infill is an edit that could be made."""

    i: int
    words: int
    masked: str
    replacement: str
    infill: str
    target_score: float
    source_score: float
    score: float
    L1: float
    L2: float
    L3: float | None
    L4: float | None
    candidate: bool


@dataclass(frozen=True)
class Explanation:
    """Every span of a text with its likelihoods and scores, in the order of the paper's table."""

    source: str
    from_: str | None
    to: str
    words: list[str]
    spans: list[SpanRow]
    chosen: SpanRow | None
    edit: Edit | None

    def to_dict(self) -> dict[str, Any]:
        spans = []
        for row in self.spans:
            record = asdict(row)
            del record["infill"]
            spans.append({k: round(v, 6) if isinstance(v, float) else v for k, v in record.items()})
        chosen = self.spans.index(self.chosen) if self.chosen else None
        record = {"source": self.source, "text": self.rewrite.text, "from": self.from_, "to": self.to}
        return {**record, "chosen": chosen, "spans": spans}

    @property
    def rewrite(self) -> Rewrite:
        edits = (self.edit,) if self.edit else ()
        return Rewrite(
            self.source, self.edit.apply(self.source) if self.edit else self.source, self.from_, self.to, edits
        )

    def plot(self, path: str | Path) -> None:
        """Write the paper's Figure 1 for this text as a picture."""
        from masker.show import plot

        plot(self, path)

    def __rich__(self) -> Any:
        from masker.show import table

        return table(self)

    def _repr_html_(self) -> str:
        from masker.show import table_html

        return table_html(self)


class Masker:
    """Rewrites text from one domain to another.

    >>> masker = Masker.from_pretrained()
    >>> masker.edit("the food was terrible .", to="positive").text
    """

    def __init__(
        self,
        model: "Model",
        source_model: "Model | None" = None,
        *,
        device: "str | torch.device | None" = None,
        exact: bool = False,
        batch_tokens: int | None = None,
        max_words: int = 2000,
        prune: bool | None = None,
    ) -> None:
        if not model.domains:
            raise MaskerError("the model has no domains yet; fit it on two or more corpora first (masker fit)")
        if source_model is not None:
            _check_same_vocabulary(model, source_model)
        self.model = model
        self.source_model = source_model
        self.max_words = max_words
        self._runtime = _runtime(model, device, exact=exact)
        self._source_runtime = _runtime(source_model, device, exact=exact) if source_model else self._runtime
        self.batch_tokens = batch_tokens or self._runtime.batch_tokens
        # spans that cannot win any more are left out, one after the other, which a GPU has no time for
        self.prune = not self._runtime.prefetch if prune is None else prune

    @classmethod
    def from_pretrained(
        cls, model: str | Path | None = None, source_model: str | Path | None = None, **options: Any
    ) -> "Masker":
        """The embedded model, a folder or a hub id; and a second one for the source domain, if fitted apart.

        On the CPU ONNX Runtime computes with what has graphs for it; in float32 alone if `exact`.
        """
        from masker.runtime import load, load_network

        if source_model is None:
            return cls(load(model, options.get("device")), **options)
        return cls(load_network(model), load_network(source_model), **options)

    @property
    def domains(self) -> list[str]:
        return self.model.domains

    @overload
    def edit(self, text: str, to: str, from_: str | None = None, **options: Any) -> Rewrite: ...
    @overload
    def edit(self, text: Iterable[str], to: str, from_: str | None = None, **options: Any) -> list[Rewrite]: ...
    def edit(
        self, text: str | Iterable[str], to: str, from_: str | None = None, **options: Any
    ) -> Rewrite | list[Rewrite]:
        """Rewrite a text, or several, so that they read like the domain `to`. Options as for `edit_stream`."""
        rewrites = list(self.edit_stream([text] if isinstance(text, str) else text, to, from_, **options))
        return rewrites[0] if isinstance(text, str) else rewrites

    def edit_stream(
        self,
        texts: Iterable[str],
        to: str,
        from_: str | None = None,
        *,
        method: str | None = None,
        strength: float | None = None,
        max_edits: int | None = None,
        min_score: float | None = None,
        top: int = 0,
        source_score: bool = True,
        protect: str | re.Pattern[str] | None = None,
        forbid: Collection[str] = (),
        chunk: int | None = None,
    ) -> Iterator[Rewrite]:
        """Rewrite texts as they come, in order, `chunk` of them at a time.

        `method` is "search", the default where the model has a style classifier, or "paper". The search editor goes on
        until the classifier is sure of the target domain with a probability of `strength`. Edits are made if they score
        above `min_score`, and up to `max_edits` of them. `top` also lists that many best rewrites;
        `source_score=False` is the paper's ablation; what `protect` matches stays, and the words of `forbid` are never
        inserted.
        """
        task = self._task(to, from_, source_score=source_score, protect=protect, forbid=forbid)
        begin, size, ahead = self._editor(task, method, strength, max_edits, min_score, top)
        size = chunk or size
        numbered = iter(enumerate(texts, 1))

        def groups() -> Iterator[list[str]]:
            while group := list(itertools.islice(numbered, size)):
                for number, text in group:
                    self._check_length(text, number)
                yield [text for _, text in group]

        yield from itertools.chain.from_iterable(_ahead(begin, groups(), ahead))

    def _editor(
        self, task: Task, method: str | None, strength: float | None, max_edits: int | None, min_score: float | None,
        top: int,
    ) -> tuple[Callable[[list[str]], Generator[None, None, list[Rewrite]]], int, int]:  # fmt: skip
        """What rewrites texts by a method, with the knobs given, tuned or usual; how many at a time, and how many of
        such chunks are to be begun ahead."""
        able = self.model.has_style and self.source_model is None and task.from_ is not None
        chosen = method or ("search" if able and task.source is not None else "paper")
        if chosen not in ("search", "paper"):
            raise unknown("method", chosen, ["search", "paper"])
        if chosen == "search" and not able:
            raise MaskerError("the search editor needs one model, fitted to both domains, with a style classifier; "
                              "fit it again (masker fit), or use --method paper")  # fmt: skip
        if chosen == "paper" and strength is not None:
            raise MaskerError("--strength belongs to the search editor; leave it out with --method paper")
        knobs: dict[str, Any] = {"max_edits": 1 if chosen == "paper" else 2, "min_score": 0.0}
        if chosen == "search":
            knobs |= self.model.settings.search.get(task.to, {})
        given = {"strength": strength, "max_edits": max_edits, "min_score": min_score}
        knobs |= {name: value for name, value in given.items() if value is not None}
        shared = {"top": top, "max_edits": knobs.pop("max_edits"), "min_score": knobs.pop("min_score")}
        if shared["max_edits"] < 1 or top < 0:
            raise MaskerError(f"max_edits is {shared['max_edits']} and top {top}: need at least 1 and 0")
        if chosen == "paper":
            return partial(begin_edits, task, **shared), self._runtime.chunk, self._runtime.prefetch
        from masker.search.editor import search_texts
        from masker.search.ranking import Ranking

        task = task.exact or task  # many candidates are close
        style, longest = self._style(task)

        def search(sources: list[str]) -> Generator[None, None, list[Rewrite]]:
            yield
            return search_texts(task, style, sources, ranking=Ranking(**knobs), longest=longest, **shared)

        return search, min(_SEARCHED, self._runtime.chunk), 0  # one pass waits for another all the time

    def searching(self, to: str, from_: str | None = None) -> "tuple[Task, Style, int | None]":
        """What the search editor needs: the task, the style classifier, and how long a text is edited as one."""
        task = self._task(to, from_, source_score=True, protect=None, forbid=())
        self._editor(task, "search", None, None, None, 0)  # only to check that it can
        return task.exact or task, *self._style(task)

    def _style(self, task: Task) -> "tuple[Style, int | None]":
        from masker.search.ranking import Style

        names, longest = self.model.domains, self.model.settings.longest
        assert self.model.bag_of_words
        assert task.from_
        runtime = self._runtime.exact or self._runtime
        style = Style(runtime, task.vocabulary, task.frame, task.window, names.index(task.to),
                      names.index(task.from_), self.model.bag_of_words, self.batch_tokens)  # fmt: skip
        return style, max((longest[name] for name in (task.to, task.from_) if name in longest), default=None)

    def explain(
        self,
        text: str,
        to: str,
        from_: str | None = None,
        *,
        min_score: float | None = None,
        source_score: bool = True,
        protect: str | re.Pattern[str] | None = None,
        forbid: Collection[str] = (),
    ) -> Explanation:
        """Every span of a text with its scores, and which of them was chosen."""
        self._check_length(text, None)
        task = self._task(to, from_, source_score=source_score, protect=protect, forbid=forbid)
        task = task.exact or task
        read, vocabulary = task.vocabulary.read(text), task.vocabulary
        if not read.words:
            raise MaskerError("the text has no words; nothing can be explained")
        keep = task.keep(read)
        scores = task.score([read], [keep])[0]
        possible = candidates(task, scores)
        likelihoods = [
            None if L is None else np.exp(L) for L in (scores.log_L1, scores.log_L2, scores.log_L3, scores.log_L4)
        ]
        rows = []
        for k, span in enumerate(scores.spans):
            start, stop = read.bounds[span.start], read.bounds[span.stop]
            masks = [vocabulary.mask] * task.frame.n_p
            left = read.words[span.start - 1].pieces if span.start else ()
            L1, L2, L3, L4 = (None if L is None else float(L[k]) for L in likelihoods)
            rows.append(
                SpanRow(
                    i=span.start,
                    words=span.stop - span.start,
                    masked=" ".join(vocabulary.tokens([*read.pieces[:start], *masks, *read.pieces[stop:]])),
                    replacement=" ".join(vocabulary.tokens(scores.infills[k].tolist())),
                    infill=vocabulary.infill(left, scores.infills[k].tolist()).strip(),
                    target_score=float(scores.target_score[k]),
                    source_score=float(scores.source_score[k]),
                    score=float(scores.score[k]),
                    L1=L1 or 0.0,
                    L2=L2 or 0.0,
                    L3=L3,
                    L4=L4,
                    candidate=bool(possible[k]),
                )
            )
        best = best_edits(task, scores, top=1, min_score=min_score or 0.0, keep=keep)
        chosen = rows[best[0][0]] if best else None
        words = [read.word(i) for i in range(len(read.words))]
        return Explanation(text, task.from_, to, words, rows, chosen, best[0][1] if best else None)

    def _task(
        self,
        to: str,
        from_: str | None,
        *,
        source_score: bool,
        protect: str | re.Pattern[str] | None,
        forbid: Collection[str],
    ) -> Task:
        model, other = self.model, self.source_model or self.model
        model.check_domain(to)
        if from_ is None:
            if self.source_model is None:
                from_ = model.counterpart(to)
            elif len(other.domains) == 1:
                from_ = other.domains[0]
            else:
                raise MaskerError(
                    f"the source model has the domains {', '.join(other.domains)}; choose one with --from"
                )
        elif from_ == to and self.source_model is None:
            raise MaskerError(f"the text is to go from '{from_}' to '{to}': name two different domains")
        source = None
        if from_ is not None:
            source = DomainScorer(self._source_runtime, other.vocabulary.domain(other.check_domain(from_)))
        try:
            pattern = re.compile(protect) if protect else None
        except re.error as error:
            raise MaskerError(f"'{protect}' is no valid pattern: {error}") from error
        task = Task(
            vocabulary=model.vocabulary, frame=model.frame, window=min(model.settings.window, other.settings.window),
            to=to, from_=from_, target=DomainScorer(self._runtime, model.vocabulary.domain(to)),
            source=source if source_score else None, protect=pattern,
            forbid=frozenset([forbid] if isinstance(forbid, str) else forbid), batch_tokens=self.batch_tokens,
            prune=self.prune,
        )  # fmt: skip
        if self._runtime.exact:
            sides = [
                DomainScorer(self._runtime.exact, side.token) if side else None for side in (task.target, task.source)
            ]
            task = replace(task, exact=replace(task, target=sides[0], source=sides[1]))  # type: ignore[arg-type]
        return task

    def _check_length(self, text: str, number: int | None) -> None:
        if len(text) > self.max_words and (words := len(text.split())) > self.max_words:
            where = "the text" if number is None else f"text {number}"
            raise MaskerError(f"{where} has {words:,} words, more than the limit of {self.max_words:,}; "
                              "split it into sentences, one a line, or raise the limit with --max-words")  # fmt: skip


def _runtime(model: "Model", device: "str | torch.device | None", *, exact: bool) -> Runtime:
    from masker.runtime import runtime_for

    return runtime_for(model, device, exact=exact)


def _ahead(begin: Callable[[A], Generator[None, None, B]], items: Iterator[A], ahead: int) -> Iterator[B]:
    """Results in order; `ahead` items have been begun besides, so that a GPU has always something to do."""
    waiting = deque[Generator[None, None, B]]()
    while True:
        try:
            item = next(items)
        except StopIteration:
            break
        except Exception:  # what was begun before it comes out
            yield from map(finished, waiting)
            raise
        waiting.append(begin(item))
        next(waiting[-1])
        if len(waiting) > ahead:
            yield finished(waiting.popleft())
    yield from map(finished, waiting)


def _check_same_vocabulary(a: "Model", b: "Model") -> None:
    """Two models can only be compared piece by piece; their domain tokens may differ."""
    if a.settings.n_p != b.settings.n_p:
        raise MaskerError(f"the models have n_p {a.settings.n_p} and {b.settings.n_p}; fit both with the same")

    def plain(model: "Model") -> dict[str, int]:
        vocabulary = model.vocabulary.tokenizer.get_vocab()
        return {token: i for token, i in vocabulary.items() if not token.startswith("[domain:")}

    if plain(a) != plain(b):
        raise MaskerError("the two models have different vocabularies; fit both from the same base model")
