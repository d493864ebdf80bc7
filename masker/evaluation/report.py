"""Every metric for one or more directions of rewriting, with intervals, as one report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from masker.errors import MaskerError, unknown
from masker.evaluation.acceptability import acceptability_tally
from masker.evaluation.acceptability import load as load_critic
from masker.evaluation.direction import Direction as Direction
from masker.evaluation.fluency import LanguageModel, fluency_tally, load_language_model
from masker.evaluation.normalise import normalise
from masker.evaluation.tally import Figure, Tally, mean, ratio, resampling

METRICS = {
    "exact": "outputs equal to a reference, lower-cased, in %",
    "sari": "SARI (Xu et al. 2016): n-grams rightly added, kept, deleted",
    "sari_lasertagger": "SARI as LaserTagger reports it: deletions by F1, not precision",
    "bleu": "sacreBLEU against all references",
    "self_bleu": "sacreBLEU against the source: how little was changed",
    "paper_bleu": "the BLEU of the paper's Yelp table, for parity with it only",
    "style_accuracy": "outputs that the judge assigns to the target domain, in %",
    "copied": "outputs equal to their source, in %",
    "length_ratio": "words of the outputs / words of the sources",
    "fluency": "log-likelihood per word, in nats",
    "acceptability": "rewrites that a reader would accept, in %, by the embedded model's critic",
    "joint": "geometric mean of style_accuracy and bleu",
}
Figures = dict[str, np.ndarray]  # by metric, one for every resample of the lines


class StyleJudge(Protocol):
    """What the report needs to know of a judge; see judges.base.Judge."""

    @property
    def kind(self) -> str: ...

    @property
    def domains(self) -> tuple[str, ...]: ...

    @property
    def dev_accuracy(self) -> float: ...

    def predict(self, texts: Sequence[str]) -> list[str]: ...


@dataclass(frozen=True)
class JudgeFigure:
    """Style accuracy under one judge, never without how good the judge is."""

    kind: str
    dev_accuracy: float
    style_accuracy: Figure


@dataclass(frozen=True)
class Report:
    """Figures by metric: `average` over directions, `directions` one by one; and style accuracy by judge."""

    average: Mapping[str, Figure]
    directions: Sequence[tuple[str, Mapping[str, Figure]]]  # each with the domain that it should reach
    judges: Sequence[JudgeFigure]
    notes: Mapping[str, Any]  # what a reader of the figures must know

    def to_dict(self) -> dict[str, Any]:
        """For JSON: NAME and NAME_ci of every metric on top, then notes, judges and directions."""
        judges = [
            {"kind": j.kind, "dev_accuracy": j.dev_accuracy, **_flat({"style_accuracy": j.style_accuracy})}
            for j in self.judges
        ]
        directions = [{"to": to, **_flat(figures)} for to, figures in self.directions]
        return {**_flat(self.average), **self.notes, "judges": judges, "directions": directions}


def evaluate(
    directions: Sequence[Direction],
    *,
    judges: Sequence[StyleJudge] = (),
    metrics: Sequence[str] = (),
    paper_dictionary: Mapping[str, int] | None = None,
    fluency_model: LanguageModel | str | Path | None = None,
    normalised: bool = True,
) -> Report:
    """Score rewritten lines by the named metrics, or by every one that the given material allows.

    A figure for several directions is the average of theirs; `joint` combines the averages. `fluency_model` is a
    folder or a fluency.LanguageModel; fluency is slow, so without one it must be named in `metrics`, and
    then the embedded model gives it. So must acceptability, for whose critic there are only some domains.
    """
    chosen = _chosen(metrics, _lacking(directions, judges, paper_dictionary), fluency=fluency_model is not None)
    needed = set(chosen) | ({"style_accuracy", "bleu"} if "joint" in chosen else set())
    clean = [_normalised(d) if normalised else d for d in directions]
    notes = _notes(clean, signature="bleu" in needed) | {"normalised": normalised}
    if "fluency" in needed and (fluency_model is None or isinstance(fluency_model, str | Path)):
        notes["fluency_model"] = str(fluency_model or "embedded")
        fluency_model = load_language_model(fluency_model)
    critic = load_critic() if "acceptability" in needed else None
    drawn = []
    for stream, (raw, direction) in enumerate(zip(directions, clean, strict=True)):
        tallies = _overlap_tallies(direction, needed)
        if "paper_bleu" in needed and paper_dictionary is not None:
            tallies["paper_bleu"] = _paper_tally(raw, paper_dictionary)
        if "fluency" in needed and fluency_model is not None:
            tallies["fluency"] = fluency_tally(direction.outputs, fluency_model)
        if critic is not None:
            tallies["acceptability"] = acceptability_tally(direction.to, direction.sources, direction.outputs, critic)
        # Judges get the raw lines: each normalises them in the way that it was trained.
        styles = [mean(_accepted(judge, raw)) for judge in judges] if "style_accuracy" in needed else []
        drawn.append(_Drawn.of(raw, tallies, styles, stream))
    return _report(chosen, drawn, judges, notes)


def _chosen(metrics: Sequence[str], lacking: Mapping[str, str], *, fluency: bool) -> list[str]:
    """The metrics to compute: those that are named, or all that lack nothing, fluency only if it is asked for."""
    for name in metrics:
        if name not in METRICS:
            raise unknown("metric", name, list(METRICS))
        if lacking.get(name):
            raise MaskerError(f"metric '{name}' needs {lacking[name]}")
    if metrics:
        return [name for name in METRICS if name in metrics]
    unasked = {"acceptability"} if fluency else {"acceptability", "fluency"}
    return [name for name in METRICS if not lacking.get(name) and name not in unasked]


@dataclass(frozen=True)
class _Drawn:
    """What one direction reaches in every resample of its lines; `styles` are the style accuracies by judge."""

    to: str
    figures: Figures
    styles: Sequence[np.ndarray]

    @classmethod
    def of(cls, direction: Direction, tallies: Mapping[str, Tally], styles: Sequence[Tally], stream: int) -> "_Drawn":
        weights = resampling(len(direction.sources), stream=stream)
        figures = {name: tally.figures(weights) for name, tally in tallies.items()}
        judged = [tally.figures(weights) for tally in styles]
        if judged:
            figures["style_accuracy"] = judged[0]
        return cls(direction.to, _with_joint(figures), judged)


def _report(
    chosen: Sequence[str], drawn: Sequence[_Drawn], judges: Sequence[StyleJudge], notes: Mapping[str, Any]
) -> Report:
    """The chosen figures of every direction, their averages, and those of every judge that was asked."""
    names = [name for name in drawn[0].figures if name != "joint"]
    average = _with_joint({name: np.mean([d.figures[name] for d in drawn], axis=0) for name in names})
    asked = judges if drawn[0].styles else ()
    return Report(
        average={name: Figure.of(average[name]) for name in chosen},
        directions=[(d.to, {name: Figure.of(d.figures[name]) for name in chosen}) for d in drawn],
        judges=[
            JudgeFigure(judge.kind, judge.dev_accuracy, Figure.of(np.mean([d.styles[k] for d in drawn], axis=0)))
            for k, judge in enumerate(asked)
        ],
        notes=notes,
    )


def _notes(directions: Sequence[Direction], *, signature: bool) -> dict[str, Any]:
    notes: dict[str, Any] = {"lines": sum(len(d.sources) for d in directions)}
    if signature:
        from masker.evaluation.bleu import bleu_signature

        signatures = {bleu_signature(d.outputs, d.references): None for d in directions}
        notes["bleu_signature"] = " and ".join(signatures)  # one, unless the numbers of references differ
    return notes


def _lacking(directions: Sequence[Direction], judges: Sequence[StyleJudge], paper_dictionary: object) -> dict[str, str]:
    """What is missing for each metric that cannot be computed."""
    references = "" if all(d.references for d in directions) else "a reference (`references`) for every direction"
    judge = "" if judges else "a judge (`judges`)"
    paper = "" if all(d.references or d.paper_reference is not None for d in directions) else references
    dictionary = "" if paper_dictionary is not None else "its dictionary (`paper_dictionary`)"
    return {
        **dict.fromkeys(("exact", "sari", "sari_lasertagger", "bleu"), references),
        "paper_bleu": paper or dictionary,
        "style_accuracy": judge,
        "joint": judge or references,
    }


def _normalised(direction: Direction) -> Direction:
    def clean(lines: Sequence[str]) -> list[str]:
        return [normalise(line) for line in lines]

    references = [clean(lines) for lines in direction.references]
    return Direction(direction.to, clean(direction.sources), clean(direction.outputs), references)


def _overlap_tallies(direction: Direction, needed: set[str]) -> dict[str, Tally]:
    """The metrics that only compare words."""
    sources, outputs, references = direction.sources, direction.outputs, direction.references
    tallies = {}
    if "exact" in needed:
        targets = [{r.lower().strip() for r in lines} for lines in zip(*references, strict=True)]
        tallies["exact"] = mean([o.lower().strip() in t for o, t in zip(outputs, targets, strict=True)])
    if {"sari", "sari_lasertagger"} & needed:
        from masker.evaluation.sari import sari

        parts = [sari(s, o, r) for s, o, *r in zip(sources, outputs, *references, strict=True)]
        tallies["sari"] = mean([part.score for part in parts])
        tallies["sari_lasertagger"] = mean([part.lasertagger for part in parts])
    if {"bleu", "self_bleu"} & needed:
        from masker.evaluation.bleu import bleu

        if "bleu" in needed:
            tallies["bleu"] = bleu(outputs, references)
        if "self_bleu" in needed:
            tallies["self_bleu"] = bleu(outputs, [sources])
    if "copied" in needed:
        tallies["copied"] = mean([s.strip() == o.strip() for s, o in zip(sources, outputs, strict=True)])
    if "length_ratio" in needed:
        tallies["length_ratio"] = ratio([len(o.split()) for o in outputs], [len(s.split()) for s in sources])
    return tallies


def _paper_tally(direction: Direction, dictionary: Mapping[str, int]) -> Tally:
    from masker.evaluation.paper_bleu import paper_bleu

    reference = direction.references[0] if direction.paper_reference is None else direction.paper_reference
    return paper_bleu(direction.sources, direction.outputs, reference, dictionary=dictionary)


def _accepted(judge: StyleJudge, direction: Direction) -> list[bool]:
    if direction.to not in judge.domains:
        raise unknown("domain", direction.to, list(judge.domains))
    return [domain == direction.to for domain in judge.predict(direction.outputs)]


def _flat(figures: Mapping[str, Figure]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, figure in figures.items():
        flat[name] = round(figure.value, 4)
        flat[f"{name}_ci"] = [round(figure.low, 4), round(figure.high, 4)]
    return flat


def _with_joint(figures: Figures) -> Figures:
    if "bleu" in figures and "style_accuracy" in figures:
        return {**figures, "joint": np.sqrt(figures["bleu"] * figures["style_accuracy"])}
    return figures
