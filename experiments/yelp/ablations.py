"""The paper's footnotes as one table: what happens if one choice of the method is made the other way.

    python experiments/yelp/ablations.py fit-and-edit --base runs/pretrained --data $MASKER_DATA --out runs/ablations
    python experiments/yelp/ablations.py score --data $MASKER_DATA --out runs/ablations \
        --judge judges/transformer --judge judges/ngram --fluency-model judges/lm --report experiments/yelp

The first command wants a GPU: short fits of one base model, all with the same number of examples, and their edits of
500 lines of dev and of test in each direction. What is finished is not done again. The second one scores the edits,
tunes the threshold on dev, and writes ablations.json and ABLATIONS.md to the folder of --report.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from masker.data.formats import read_lines
from masker.errors import MaskerError, unknown
from masker.evaluation.fluency import load_language_model
from masker.evaluation.judges.base import Judge
from masker.evaluation.report import Direction, evaluate
from masker.model.folder import has_settings

DOMAINS = ("negative", "positive")  # of the lines of files 0 and 1
PARTS = ("dev", "test")
LINES = 500  # of each file of dev; test has no more
THRESHOLDS = [k / 50 for k in range(50)]
# name -> its domains, options of masker.training.fit.fit; two models of half the steps are one fit
FITS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "conditional": (DOMAINS, {}),
    "embedding": (DOMAINS, {"domain_as": "embedding"}),
    "n_p_8": (DOMAINS, {"n_p": 8}),
    "negative": (("negative",), {}),
    "positive": (("positive",), {}),
}


@dataclass(frozen=True)
class Variant:
    """A row of the table: which fit edits and how; or, for a tuned threshold, the rows whose edits it stops."""

    title: str
    fit: str = "conditional"
    edit: Mapping[str, Any] = field(default_factory=dict)
    stops: tuple[str, ...] = ()

    def models(self, to: str, source: str) -> tuple[str, ...]:
        """The fits of the target and, if it is another one, of the source domain."""
        return (to, source) if self.fit == "separate" else (self.fit,)


VARIANTS = {
    "conditional": Variant("one conditional model, domain token, n_p 4, one edit"),
    "no_source_score": Variant("without SourceScore", edit={"source_score": False}),
    "separate": Variant("two separate models", "separate"),
    "embedding": Variant("domain embedding", "embedding"),
    "n_p_8": Variant("n_p 8", "n_p_8"),
    "edits_2": Variant("up to two edits", edit={"max_edits": 2}),
    "edits_3": Variant("up to three edits", edit={"max_edits": 3}),
    "threshold": Variant("one edit, if its Score is above a threshold tuned on dev", stops=("conditional",)),
    "edits_3_threshold": Variant(
        "up to three edits, while their Score is above a threshold tuned on dev",
        stops=("conditional", "edits_2", "edits_3"),
    ),
}


def fit_and_edit(options: argparse.Namespace) -> None:
    """Fit and edit what --out does not hold yet."""
    chosen = options.only or [name for name, variant in VARIANTS.items() if not variant.stops]
    for name in chosen:
        if name not in VARIANTS:
            raise unknown("variant", name, list(VARIANTS))
    for name in chosen:
        variant = VARIANTS[name]
        for i, (source, to) in enumerate([DOMAINS, DOMAINS[::-1]]):
            folders = [_fitted(model, options) for model in variant.models(to, source)]
            missing = [part for part in PARTS if not _edits(options.out, name, part, i).is_file()]
            if missing:
                _edit(folders, variant, to, source, {part: _edits(options.out, name, part, i) for part in missing},
                      options.data / "yelp", i)  # fmt: skip


def _fitted(name: str, options: argparse.Namespace) -> Path:
    """The folder of a fit, which is made if it is not there."""
    folder: Path = options.models / name
    if has_settings(folder):
        return folder
    from masker.data.corpora import is_judge_line, read_corpus
    from masker.training.fit import fit
    from masker.training.settings import TrainSettings

    print(f"fitting {name}", file=sys.stderr)
    domains, how = FITS[name]
    train = options.data / "yelp"
    corpora = {
        domain: [line for line in read_corpus(train / f"sentiment.train.{i}.gz") if not is_judge_line(line)]
        for i, domain in enumerate(DOMAINS)
        if domain in domains
    }
    settings = TrainSettings(
        steps=max(1, options.steps * len(domains) // 2), batch_size=options.batch_size, lr=options.lr, patience=100,
        reveal=0, style=0, workers=options.workers,  # nothing that only the search editor needs
    )  # fmt: skip
    made = fit(corpora, folder, base=options.base, settings=settings, **how).settings.made[-1]
    path = options.out / "fits.json"
    fits = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    fits[name] = {key: made[key] for key in ("steps", "seconds", "device")} | made["scores"]
    fits[name]["batch_size"] = options.batch_size
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fits, indent=1) + "\n", "utf-8")
    return folder


def _edit(
    folders: Sequence[Path], variant: Variant, to: str, source: str, files: Mapping[str, Path], yelp: Path, i: int
) -> None:
    """Rewrite lines of dev and test; a line of the files has the rewrite and its Score, below 0 too if the first is."""
    from masker import Masker

    masker = Masker.from_pretrained(*folders)
    how: dict[str, Any] = {"method": "paper", "min_score": -10.0, **variant.edit}
    if how.get("max_edits", 1) > 1:
        how["min_score"] = 0.0  # of the second edit, too
    for part, path in files.items():
        print(f"editing {path.name}", file=sys.stderr)
        lines = read_lines(yelp / f"sentiment.{part}.{i}")[:LINES]
        rewrites = masker.edit_stream(lines, to, source, **how)
        path.parent.mkdir(parents=True, exist_ok=True)
        found = "".join(json.dumps({"text": r.text, "score": round(r.score, 6)}) + "\n" for r in rewrites)
        path.write_text(found, "utf-8")


def _edits(out: Path, name: str, part: str, i: int) -> Path:
    return out / f"{name}.{part}.{i}.jsonl"


def score(options: argparse.Namespace) -> None:
    """ablations.json and ABLATIONS.md out of the edits."""
    judges = [Remembering(Judge.from_pretrained(folder)) for folder in options.judge]
    judges.sort(key=lambda judge: judge.kind != "transformer")
    yelp, fits = options.data / "yelp", json.loads((options.out / "fits.json").read_text("utf-8"))
    from masker.evaluation.paper_bleu import read_dictionary

    dictionary, language_model = read_dictionary(yelp / "li_bleu.dict.tsv"), load_language_model(options.fluency_model)
    rows, trials = [], {}
    for name, variant in VARIANTS.items():
        turns = variant.stops or (name,)
        if not all(_edits(options.out, t, part, i).is_file() for t in turns for part in PARTS for i in (0, 1)):
            print(f"{name} is not finished and left out", file=sys.stderr)
            continue
        threshold = 0.0
        if variant.stops:
            tried = [_trial(t, _directions(options.out, turns, yelp, "dev", t), judges[0]) for t in THRESHOLDS]
            threshold = max(tried, key=lambda trial: trial["mean"])["threshold"]
            trials[name] = tried
        row: dict[str, Any] = {"system": name, "title": variant.title, "threshold": threshold}
        row["span_accuracy"] = [fits[fit]["span_accuracy"] for fit in variant.models(*DOMAINS) if fit in fits]
        for part in PARTS:
            directions = _directions(options.out, turns, yelp, part, threshold)
            metrics = ["style_accuracy", "self_bleu", "copied", "fluency"]
            metrics += ["bleu", "paper_bleu"] if part == "test" else []
            found = evaluate(
                directions, judges=judges, metrics=metrics, paper_dictionary=dictionary, fluency_model=language_model
            ).to_dict()
            row |= {f"{part}_{metric}": found[metric] for metric in metrics}
            row |= {f"{part}_style_accuracy_{judge['kind']}": judge["style_accuracy"] for judge in found["judges"][1:]}
        rows.append(row)
    results = {
        "rows": rows, "fits": fits, "thresholds": trials,
        "judges": [{"kind": judge.kind, "dev_accuracy": judge.dev_accuracy} for judge in judges],
    }  # fmt: skip
    (options.report / "ablations.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (options.report / "ABLATIONS.md").write_text(markdown(results), "utf-8")


def _directions(out: Path, turns: Sequence[str], yelp: Path, part: str, threshold: float) -> list[Direction]:
    """Both directions after one edit, two .. as far as the Score of each is above the threshold."""
    directions = []
    for i, to in enumerate(DOMAINS[::-1]):
        sources = read_lines(yelp / f"sentiment.{part}.{i}")[:LINES]
        edits = [map(json.loads, read_lines(_edits(out, turn, part, i))) for turn in turns]
        outputs = [_stopped(s, e, threshold) for s, *e in zip(sources, *edits, strict=True)]
        test = part == "test"
        references = [read_lines(yelp / f"reference{k}.{i}") for k in range(4)] if test else []
        directions.append(
            Direction(to, sources, outputs, references, read_lines(yelp / f"reference.li.{i}") if test else None)
        )
    return directions


def _stopped(source: str, turns: Sequence[Mapping[str, Any]], threshold: float) -> str:
    text, total = source, 0.0
    for turn in turns:  # its score is the sum of those of all edits
        if turn["score"] - total <= threshold:
            break
        text, total = turn["text"], turn["score"]
    return text


def _trial(threshold: float, directions: Sequence[Direction], judge: "Remembering") -> dict[str, float]:
    found = evaluate(directions, judges=[judge], metrics=["style_accuracy", "self_bleu"]).average
    style, same = found["style_accuracy"].value, found["self_bleu"].value
    figures = {"style_accuracy": style, "self_bleu": same, "mean": (style * same) ** 0.5}
    return {"threshold": threshold, **{name: round(value, 2) for name, value in figures.items()}}


class Remembering:
    """A judge that reads every text only once: variants and thresholds differ in few of them."""

    def __init__(self, judge: Judge) -> None:
        self.kind, self.domains, self.dev_accuracy = judge.kind, judge.domains, judge.dev_accuracy
        self._judge = judge
        self._verdicts: dict[str, str] = {}

    def predict(self, texts: Sequence[str]) -> list[str]:
        fresh = [text for text in dict.fromkeys(texts) if text not in self._verdicts]
        self._verdicts.update(zip(fresh, self._judge.predict(fresh), strict=True))
        return [self._verdicts[text] for text in texts]


HEADS = {
    "dev_style_accuracy": "dev style",
    "dev_self_bleu": "dev self-BLEU",
    "test_style_accuracy": "style",
    "test_style_accuracy_ngram": "style, n-grams",
    "test_bleu": "BLEU",
    "test_self_bleu": "self-BLEU",
    "test_fluency": "fluency",
    "test_paper_bleu": "paper BLEU",
    "test_copied": "copied",
}


def markdown(results: Mapping[str, Any]) -> str:
    """ABLATIONS.md, made of nothing but the results."""
    rows, fits = results["rows"], results["fits"]
    heads = {key: head for key, head in HEADS.items() if all(key in row for row in rows)}
    table = [f"| | span accuracy | {' | '.join(heads.values())} |", "|---|" + "---:|" * (len(heads) + 1)]
    for row in rows:
        title = row["title"] + (f" ({row['threshold']:.2f})" if row["threshold"] else "")
        spans = " and ".join(f"{value:.1f}" for value in row["span_accuracy"])
        figures = [f"{row[key]:.2f}" if key == "test_fluency" else f"{row[key]:.1f}" for key in heads]
        table.append(f"| {' | '.join([title, spans, *figures])} |")
    budget = "\n".join(f"| {name} | {fit['steps']:,} | {fit['seconds']} |" for name, fit in fits.items())
    first: dict[str, Any] = next(iter(fits.values()), {})
    judges = ", ".join(f"{judge['kind']} {judge['dev_accuracy']:.2f} %" for judge in results["judges"])
    return f"""\
# Ablations

What the paper says in footnotes, measured: the first row is the paper's method, each other one differs from it in the
one thing that it names. All models are short fits of the same pretrained base of embedded size on three quarters of the
Yelp training lines, with the same number of examples in all. They are less fitted than the embedded model, so compare
rows with rows, not with [RESULTS.md](RESULTS.md), which also says what the columns are. Made by `ablations.py` from
`ablations.json`.

{chr(10).join(table)}

- 500 lines in each direction, of dev and of test. Nothing was chosen on test.
- The two separate models, negative and positive, had half the steps each. `masker edit --model A --source-model B`
  edits with them, each model being asked about its own domain.
- Span accuracy is that of held-out lines, every mask right; with eight masks a span is longer and the figure lower.
- Several edits: the method is applied again to its own output, but never to words that it inserted.
- The threshold (`--min-score`), from 0 to {THRESHOLDS[-1]:g} in steps of {THRESHOLDS[1]:g}, has the highest geometric
  mean of style accuracy and self-BLEU on dev.
- Right on dev: {judges}. Style is that of the first judge.
- The base's weights were stored in 8 bits, with a scale for every 64 of them. Other work shared the GPU, so that the
  seconds below are longer than those of a fit alone, and not to be compared.

| fit, {first.get("batch_size", 0):,} examples a step | steps | seconds ({first.get("device", "")}) |
|---|---:|---:|
{budget}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, function in {"fit-and-edit": fit_and_edit, "score": score}.items():
        command = commands.add_parser(name, help=(function.__doc__ or "").strip())
        command.set_defaults(function=function)
        command.add_argument("--data", type=Path, required=True, help="folder that holds yelp/")
        command.add_argument("--out", type=Path, required=True, help="folder of the edits")
        if function is score:
            command.add_argument("--judge", type=Path, required=True, action="append", help="may be repeated")
            command.add_argument("--fluency-model", type=Path, required=True, help="folder of a language model")
            command.add_argument("--report", type=Path, required=True, help="folder for ablations.json, ABLATIONS.md")
        else:
            command.add_argument("--base", type=Path, required=True, help="pretrained model that all fits start from")
            command.add_argument("--models", type=Path, help="folder of the fitted models [default: OUT/models]")
            command.add_argument("--steps", type=int, default=1000, help="of each fit; half of it for separate models")
            command.add_argument("--batch-size", type=int, default=2048)
            command.add_argument("--lr", type=float, default=3e-4)
            command.add_argument("--workers", type=int, default=1, help="processes that tokenise")
            command.add_argument("--only", action="append", metavar="VARIANT", help=f"of {', '.join(VARIANTS)}")
    options = parser.parse_args(arguments)
    if options.function is fit_and_edit and options.models is None:
        options.models = options.out / "models"
    try:
        options.function(options)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
