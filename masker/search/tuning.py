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
from masker.model.settings import SearchSettings, WithDomains
from masker.search.editor import SearchEditor

STRENGTHS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
EDITS = (1, 2, 3)
SCORES = (0.0, 0.5, 1.0)
# Style that may be given up, in points, in any of three opinions: four lines of 400, which may be luck. The judge of a
# few hundred lines is blind to much; by its word alone 5.5 points were once given up for 0.2 of BLEU.
FLOOR = 1.0
GAIN = 0.5  # of `joint` that a change has to bring: less is luck


class Tunable(Protocol):
    """What is tuned: a `Masker`, as far as it matters here."""

    @property
    def model(self) -> WithDomains: ...

    def editor(self, to: str, from_: str | None, *, method: str, strength: float, max_edits: int) -> Editor: ...


@dataclass(frozen=True)
class Trial:
    """Knobs and what they reach: `joint` is the geometric mean of style accuracy and self-BLEU.

    Style is judged by the judge, and by the editor's own two classifiers: of words, and of the encoder.
    """

    to: str
    strength: float
    max_edits: int
    min_score: float
    style_accuracy: float
    by_words: float
    by_encoder: float
    self_bleu: float
    left_alone: float

    @property
    def joint(self) -> float:
        return math.sqrt(self.style_accuracy * self.self_bleu)

    @property
    def knobs(self) -> dict[str, float]:
        return {name: asdict(self)[name] for name in ("strength", "max_edits", "min_score")}

    def keeps(self, before: "Trial") -> bool:
        """Whether nobody sees much less of the style than before."""
        return all(
            getattr(self, opinion) >= getattr(before, opinion) - FLOOR
            for opinion in ("style_accuracy", "by_words", "by_encoder")
        )


@dataclass(frozen=True)
class Tuned:
    """The knobs as they were, and the best that were found: the same ones where nothing is gained."""

    before: Trial
    after: Trial

    @property
    def changed(self) -> bool:
        return self.after is not self.before


def tune(
    masker: Tunable,
    lines: Mapping[str, Sequence[str]],
    judge: Judge | None = None,
    *,
    report: Callable[[Trial], None] = lambda _: None,
) -> dict[str, Tuned]:
    """Better knobs for every domain that is the counterpart of one with `lines`, put into the model's settings.

    The best are those of the highest `joint` that cost no more style than FLOOR; the settings stay as they are where
    that gains less than GAIN. Style is judged by `judge`; without one, by word n-grams learnt from half of the lines,
    the other half being edited.
    """
    if judge is None:
        judge = Judge.fit({name: texts[1::2] for name, texts in lines.items()})
        lines = {name: texts[::2] for name, texts in lines.items()}
    found: dict[str, Tuned] = {}
    for source, texts in lines.items():
        to = masker.model.counterpart(source)
        if to is None or to not in judge.domains:
            raise MaskerError(f"nothing judges whether texts read as '{to}'; give lines of that domain too")
        known = masker.model.settings.search.get(to, {})
        now, trials = SearchSettings.of(known), []
        for trial in _trials(masker, judge, texts, source, to, now):
            report(trial)
            trials.append(trial)
        found[to] = _choose(trials, now)
        if found[to].changed:
            masker.model.settings.search[to] = {**known, **found[to].after.knobs}  # what else is set stays so
    return found


def _choose(trials: Sequence[Trial], now: SearchSettings) -> Tuned:
    (before,) = (t for t in trials if all(value == getattr(now, name) for name, value in t.knobs.items()))
    best = max((trial for trial in trials if trial.keeps(before)), key=lambda trial: trial.joint)
    return Tuned(before, best if best.joint >= before.joint + GAIN else before)


def _trials(
    masker: Tunable, judge: Judge, texts: Sequence[str], source: str, to: str, now: SearchSettings
) -> Iterator[Trial]:
    """All combinations of knobs, those of now among them."""
    most = sorted({*EDITS, now.max_edits})
    opinions: dict[str, tuple[bool, bool, bool]] = {}  # many combinations write the same
    for strength in sorted({*STRENGTHS, now.strength}):
        editor = masker.editor(to, source, method="search", strength=strength, max_edits=most[-1])
        assert isinstance(editor, SearchEditor)
        drafted = [(part, editor.draft(editor.read(part))) for part in _chunks(texts, editor.chunk)]
        for max_edits in most:
            editor.settings = replace(editor.settings, max_edits=max_edits, min_score=-math.inf)
            rewrites = [r for part, segments in drafted for r in editor.conclude(part, segments)]
            for min_score in sorted({*SCORES, now.min_score}):
                outputs = [r.text if r.score > min_score else r.source for r in rewrites]
                new = [text for text in dict.fromkeys(outputs) if text not in opinions]
                opinions |= _opinions(editor, judge, to, new)
                judged, by_words, by_encoder = (100 * np.mean([opinions[o] for o in outputs], axis=0)).tolist()
                left = 100 * sum(map(str.__eq__, outputs, texts)) / len(texts)
                kept = _self_bleu(texts, outputs)
                yield Trial(to, strength, max_edits, min_score, judged, by_words, by_encoder, kept, left)


def _opinions(editor: SearchEditor, judge: Judge, to: str, texts: Sequence[str]) -> dict[str, tuple[bool, bool, bool]]:
    """Whether texts read like the target domain: to the judge, to the words' classifier, to the encoder's."""
    if not texts:
        return {}
    style, read = editor.style, editor.task.vocabulary.read
    words = style.bag_of_words.log_probs(texts)
    encoder = style.of_encoder([[*read(text).pieces] for text in texts])
    judged = [domain == to for domain in judge.predict(texts)]
    own = (words[:, style.to] > words[:, style.from_]).tolist(), (encoder > math.log(0.5)).tolist()
    return dict(zip(texts, zip(judged, *own, strict=True), strict=True))


def _chunks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (texts[at : at + size] for at in range(0, len(texts), size))


def _self_bleu(texts: Sequence[str], outputs: Sequence[str]) -> float:
    tally = bleu([normalise(text) for text in outputs], [[normalise(text) for text in texts]])
    return float(tally.figures(np.ones((1, len(texts))))[0])
