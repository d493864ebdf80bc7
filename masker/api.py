"""Masker: the face of it all."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from masker.editing import Edit, Rewrite, Task, best_edits, candidates, edit_texts
from masker.errors import MaskerError
from masker.model import PaddedMLM
from masker.runtime.torch import TorchRuntime
from masker.scoring import Side


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
        model: PaddedMLM,
        source_model: PaddedMLM | None = None,
        *,
        device: str | torch.device | None = None,
        exact: bool = False,
        batch_tokens: int | None = None,
        max_words: int = 2000,
    ) -> None:
        if not model.domains:
            raise MaskerError("the model has no domains yet; fit it on two or more corpora first (masker fit)")
        if source_model is not None:
            _check_same_vocabulary(model, source_model)
        self.model = model
        self.source_model = source_model
        self.max_words = max_words
        self._runtime = TorchRuntime(model, device, exact=exact)
        self._source_runtime = TorchRuntime(source_model, device, exact=exact) if source_model else self._runtime
        self.batch_tokens = batch_tokens or (8192 if self._runtime.device.type == "cpu" else 262_144)

    @classmethod
    def from_pretrained(
        cls, model: str | Path | None = None, source_model: str | Path | None = None, **options: Any
    ) -> "Masker":
        """The embedded model, a folder or a hub id; and a second one for the source domain, if fitted apart."""
        other = PaddedMLM.from_pretrained(source_model) if source_model is not None else None
        return cls(PaddedMLM.from_pretrained(model), other, **options)

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
        max_edits: int = 1,
        min_score: float = 0.0,
        top: int = 0,
        source_score: bool = True,
        protect: str | re.Pattern[str] | None = None,
        forbid: Collection[str] = (),
        chunk: int | None = None,
    ) -> Iterator[Rewrite]:
        """Rewrite texts as they come, in order, `chunk` of them at a time.

        The best edit is made if its Score is above `min_score`, and up to `max_edits` of them one after the other;
        `top` also lists that many best edits; `source_score=False` is the paper's ablation; what `protect` matches
        stays, and the words of `forbid` are never inserted.
        """
        if max_edits < 1 or top < 0:
            raise MaskerError(f"max_edits is {max_edits} and top {top}: need at least 1 and 0")
        task = self._task(to, from_, source_score=source_score, protect=protect, forbid=forbid)
        size = chunk or (16 if self._runtime.device.type == "cpu" else 1024)
        numbered = iter(enumerate(texts, 1))
        while group := list(itertools.islice(numbered, size)):
            for number, text in group:
                self._check_length(text, number)
            yield from edit_texts(task, [t for _, t in group], max_edits=max_edits, min_score=min_score, top=top)

    def explain(
        self,
        text: str,
        to: str,
        from_: str | None = None,
        *,
        min_score: float = 0.0,
        source_score: bool = True,
        protect: str | re.Pattern[str] | None = None,
        forbid: Collection[str] = (),
    ) -> Explanation:
        """Every span of a text with its scores, and which of them was chosen."""
        self._check_length(text, None)
        task = self._task(to, from_, source_score=source_score, protect=protect, forbid=forbid)
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
        best = best_edits(task, scores, top=1, min_score=min_score, keep=keep)
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
            source = Side(self._source_runtime, other.vocabulary.domain(other.check_domain(from_)))
        try:
            pattern = re.compile(protect) if protect else None
        except re.error as error:
            raise MaskerError(f"'{protect}' is no valid pattern: {error}") from error
        return Task(
            vocabulary=model.vocabulary, frame=model.frame, window=min(model.settings.window, other.settings.window),
            to=to, from_=from_, target=Side(self._runtime, model.vocabulary.domain(to)),
            source=source if source_score else None, protect=pattern,
            forbid=frozenset([forbid] if isinstance(forbid, str) else forbid), batch_tokens=self.batch_tokens,
        )  # fmt: skip

    def _check_length(self, text: str, number: int | None) -> None:
        if len(text) > self.max_words and (words := len(text.split())) > self.max_words:
            where = "the text" if number is None else f"text {number}"
            raise MaskerError(f"{where} has {words:,} words, more than the limit of {self.max_words:,}; "
                              "split it into sentences, one a line, or raise the limit with --max-words")  # fmt: skip


def _check_same_vocabulary(a: PaddedMLM, b: PaddedMLM) -> None:
    """Two models can only be compared piece by piece; their domain tokens may differ."""
    if a.settings.n_p != b.settings.n_p:
        raise MaskerError(f"the models have n_p {a.settings.n_p} and {b.settings.n_p}; fit both with the same")

    def plain(model: PaddedMLM) -> dict[str, int]:
        vocabulary = model.vocabulary.tokenizer.get_vocab()
        return {token: i for token, i in vocabulary.items() if not token.startswith("[domain:")}

    if plain(a) != plain(b):
        raise MaskerError("the two models have different vocabularies; fit both from the same base model")
