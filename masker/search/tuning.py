"""Setting the search editor's knobs without parallel data: on held-out lines, by style accuracy and self-BLEU."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np

from masker.core.editor import Editor
from masker.errors import MaskerError
from masker.evaluation.bleu import bleu
from masker.evaluation.judges.base import Judge
from masker.evaluation.normalise import normalise
from masker.model.settings import WithDomains
from masker.search.editor import SearchEditor

STRENGTHS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
EDITS = (1, 2, 3)
SCORES = (0.0, 0.5, 1.0)


class Tunable(Protocol):
    """What is tuned: a `Masker`, as far as it matters here."""

    @property
    def model(self) -> WithDomains: ...

    def editor(self, to: str, from_: str | None, *, method: str, strength: float, max_edits: int) -> Editor: ...


@dataclass(frozen=True)
class Trial:
    """Knobs and what they reach: `joint` is the geometric mean of style accuracy and self-BLEU."""

    to: str
    strength: float
    max_edits: int
    min_score: float
    style_accuracy: float
    self_bleu: float

    @property
    def joint(self) -> float:
        return math.sqrt(self.style_accuracy * self.self_bleu)

    @property
    def knobs(self) -> dict[str, float]:
        return {name: asdict(self)[name] for name in ("strength", "max_edits", "min_score")}


def tune(
    masker: Tunable,
    lines: Mapping[str, Sequence[str]],
    judge: Judge | None = None,
    *,
    report: Callable[[Trial], None] = lambda _: None,
) -> dict[str, Trial]:
    """The best knobs for every domain that is the counterpart of one with `lines`, and put into the model's settings.

    Style is judged by `judge`; without one, by word n-grams learnt from half of the lines, the other half being edited.
    """
    if judge is None:
        judge = Judge.fit({name: texts[1::2] for name, texts in lines.items()})
        lines = {name: texts[::2] for name, texts in lines.items()}
    best: dict[str, Trial] = {}
    for source, texts in lines.items():
        to = masker.model.counterpart(source)
        if to is None or to not in judge.domains:
            raise MaskerError(f"nothing judges whether texts read as '{to}'; give lines of that domain too")
        for trial in _trials(masker, judge, texts, source, to):
            report(trial)
            if to not in best or trial.joint > best[to].joint:
                best[to] = trial
        known = masker.model.settings.search.get(to, {})
        masker.model.settings.search[to] = {**known, **best[to].knobs}  # what else is set stays so
    return best


def _trials(masker: Tunable, judge: Judge, texts: Sequence[str], source: str, to: str) -> Iterator[Trial]:
    for strength in STRENGTHS:
        editor = masker.editor(to, source, method="search", strength=strength, max_edits=max(EDITS))
        assert isinstance(editor, SearchEditor)
        drafted = [(part, editor.draft(part)) for part in _chunks(texts, editor.chunk)]
        for max_edits in EDITS:
            editor.settings = replace(editor.settings, max_edits=max_edits, min_score=-math.inf)
            rewrites = [r for part, segments in drafted for r in editor.conclude(part, segments)]
            for min_score in SCORES:
                outputs = [r.text if r.score > min_score else r.source for r in rewrites]
                right = 100 * sum(domain == to for domain in judge.predict(outputs)) / len(texts)
                yield Trial(to, strength, max_edits, min_score, right, _self_bleu(texts, outputs))


def _chunks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (texts[at : at + size] for at in range(0, len(texts), size))


def _self_bleu(texts: Sequence[str], outputs: Sequence[str]) -> float:
    tally = bleu([normalise(text) for text in outputs], [[normalise(text) for text in texts]])
    return float(tally.figures(np.ones((1, len(texts))))[0])
