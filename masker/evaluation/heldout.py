"""How well a fitted model rewrites lines that nothing was trained on: figures by direction, and the rewrites."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from masker.core.editor import Editor
from masker.core.edits import Rewrite
from masker.data.corpora import Parts
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge
from masker.evaluation.report import Direction, evaluate
from masker.evaluation.tally import Figure
from masker.model.settings import WithDomains

SHOWN = 20  # rewrites
RELIABLE = 80.0  # per cent of real lines that a judge has to know, for its figures to say much


class Rewriter(Protocol):
    """What is measured: a `Masker`, as far as it matters here."""

    @property
    def model(self) -> WithDomains: ...

    def editor(self, to: str, from_: str | None = None, *, method: str | None) -> Editor: ...

    def edit_stream(
        self, texts: Sequence[str], to: str, from_: str | None = None, *, method: str | None, keep_going: bool
    ) -> Iterator[Rewrite]: ...


@dataclass(frozen=True)
class DirectionFigures:
    """Rewriting from one domain to another. Figures are in per cent, self-BLEU aside.

    `before` is how many sources the judge takes for the target domain, `style` how many rewrites; and `real` how many
    held-out lines of the target domain itself, which is what can be reached.
    """

    from_: str
    to: str
    method: str
    style: Figure
    self_bleu: Figure
    left_alone: Figure
    before: float
    real: float
    seconds: float
    rewrites: tuple[Rewrite, ...]

    def to_dict(self) -> dict[str, Any]:
        """As a model's settings keep it."""
        figures = {
            name: [round(value, 1) for value in (f.value, f.low, f.high)]
            for name, f in (("style", self.style), ("self_bleu", self.self_bleu), ("left_alone", self.left_alone))
        }
        return {
            "from": self.from_, "to": self.to, "method": self.method, "lines": len(self.rewrites), **figures,
            "before": round(self.before, 1), "real": round(self.real, 1), "seconds": round(self.seconds, 1),
        }  # fmt: skip


@dataclass(frozen=True)
class HeldOutReport:
    """What a judge that learnt from `judge_lines` held-out lines says, by direction and method."""

    judge_lines: int
    judge_accuracy: float  # on the real lines that were rewritten, per cent
    directions: tuple[DirectionFigures, ...]

    @property
    def reliable(self) -> bool:
        return self.judge_accuracy >= RELIABLE

    @property
    def usual(self) -> list[DirectionFigures]:
        """The directions by the first method: the model's default."""
        return [d for d in self.directions if d.method == self.directions[0].method]

    def shown(self, count: int = SHOWN) -> list[Rewrite]:
        """The first rewrites of every direction by the default method, not picked; the same number of each."""
        usual = self.usual
        return [r for d in usual for r in d.rewrites[: max(1, count // len(usual))]][:count]

    def to_dict(self) -> dict[str, Any]:
        """What the model card is written from."""
        rewrites = [{"from": r.from_, "to": r.to, "source": r.source, "text": r.text} for r in self.shown()]
        return {
            "judge_lines": self.judge_lines, "judge_accuracy": round(self.judge_accuracy, 1),
            "directions": [d.to_dict() for d in self.directions], "rewrites": rewrites,
        }  # fmt: skip


def measure(
    rewriter: Rewriter,
    parts: Parts,
    *,
    methods: Sequence[str | None] = (None,),
    on_progress: Callable[[int, int], None] = lambda done, lines: None,
) -> HeldOutReport:
    """Rewrite the lines that were set aside, every domain from its counterpart, and have a fresh judge look at them.

    The first of the `methods`, None, is the model's default. The judge learns from other lines that were set aside.
    """
    if not parts.aside:
        raise MaskerError("no lines were set aside to measure with; give each of two domains 100 lines or more")
    judge = Judge.fit(parts.judging)
    verdicts = {name: judge.predict(lines) for name, lines in parts.rewritten.items()}
    right = [verdict == name for name, found in verdicts.items() for verdict in found]
    tasks = [(method, *way) for method in methods for way in ways(rewriter.model)]
    lines = sum(len(parts.rewritten[from_]) for _, from_, _ in tasks)
    done, directions = 0, []
    for method, from_, to in tasks:
        began = time.monotonic()
        rewrites = []
        for rewrite in rewriter.edit_stream(parts.rewritten[from_], to, from_, method=method, keep_going=True):
            rewrites.append(rewrite)
            on_progress(done + len(rewrites), lines)
        done += len(rewrites)
        seconds = time.monotonic() - began
        name = rewriter.editor(to, from_, method=method).name
        directions.append(_figures(rewrites, judge, name, seconds, verdicts))
    return HeldOutReport(sum(map(len, parts.judging.values())), 100 * sum(right) / len(right), tuple(directions))


def ways(model: WithDomains) -> list[tuple[str, str]]:
    """Every domain with where its texts come from: its counterpart, or the first of the others."""
    found = []
    for to, counterpart in model.settings.domains.items():
        others = [name for name in model.domains if name != to]
        if others and to not in model.settings.sources_only:
            found.append((counterpart or others[0], to))
    return sorted(found, key=lambda way: model.domains.index(way[0]))


def _figures(
    rewrites: Sequence[Rewrite], judge: Judge, method: str, seconds: float, verdicts: Mapping[str, Sequence[str]]
) -> DirectionFigures:
    from_, to = rewrites[0].from_ or "", rewrites[0].to
    direction = Direction(to, [r.source for r in rewrites], [r.text for r in rewrites])
    found = evaluate([direction], judges=[judge], metrics=("style_accuracy", "self_bleu", "copied")).average
    return DirectionFigures(
        from_, to, method, found["style_accuracy"], found["self_bleu"], found["copied"],
        before=_share(verdicts[from_], to), real=_share(verdicts[to], to), seconds=seconds, rewrites=tuple(rewrites),
    )  # fmt: skip


def _share(verdicts: Sequence[str], to: str) -> float:
    return 100 * sum(verdict == to for verdict in verdicts) / max(1, len(verdicts))
