"""Score rewrites of the toxic test lines beside two published systems', and write results.json and RESULTS.md.

    python experiments/detox/report.py --data DATA --predictions FILE.jsonl.xz \\
      --judge judges/detox/transformer --judge judges/detox/ngram --fluency-model judges/detox/lm --out OUT
"""

import argparse
import json
import lzma
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from masker.data.corpora import read_corpus
from masker.errors import MaskerError
from masker.evaluation.fluency import load_language_model
from masker.evaluation.judges.base import Judge
from masker.evaluation.report import Direction, evaluate

PEERS = {"condBERT": "peers.condbert.txt.gz", "ParaGeDi": "peers.paragedi.txt.gz"}
METRICS = ("style_accuracy", "self_bleu", "fluency", "copied", "length_ratio")
SAMPLES, SEED = 20, 0


def score(
    sources: Sequence[str], systems: Mapping[str, Sequence[str]], judges: Sequence[Judge], fluency: Any
) -> list[dict[str, Any]]:
    """A row for each system, with intervals."""
    rows = []
    for name, outputs in systems.items():
        found = evaluate(
            [Direction("civil", sources, outputs)], judges=judges, metrics=METRICS, fluency_model=fluency
        ).to_dict()
        row = {key: found[key] for metric in METRICS for key in (metric, f"{metric}_ci")}
        for judge in found["judges"][1:]:
            row |= {f"style_accuracy_{judge['kind']}{end}": judge[f"style_accuracy{end}"] for end in ("", "_ci")}
        rows.append({"system": name, **row})
    return rows


def reasons(rewrites: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Why texts came out as they went in, and how often."""
    said = (r["reason"].partition(" (")[0] for r in rewrites if r.get("reason"))
    return dict(Counter(said).most_common())


def samples(sources: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Random lines, the same each time."""
    chosen = sorted(random.Random(SEED).sample(range(len(sources)), min(SAMPLES, len(sources))))
    return [{"input": sources[k], **{name: outputs[k] for name, outputs in systems.items()}} for k in chosen]


def markdown(results: Mapping[str, Any]) -> str:
    """RESULTS.md, made of nothing but the results."""
    first, second = results["judges"]
    heads = ["system", f"style, {first['kind']}", f"style, {second['kind']}", "self-BLEU", "fluency", "copied, %",
             "length"]  # fmt: skip
    keys = ["style_accuracy", f"style_accuracy_{second['kind']}", "self_bleu", "fluency", "copied", "length_ratio"]
    table = [_line(heads), "|---|" + "---:|" * len(keys)]
    table += [_line([row["system"], *(_figure(row, key) for key in keys)]) for row in results["rows"]]
    shown = []
    for sample in results["samples"]:
        shown += [_line([name, text.replace("|", "\\|")]) for name, text in sample.items()] + ["| | |"]
    left = [f"- {count}: {reason}" for reason, count in results["left_alone"].items()]
    return TEMPLATE.substitute(
        lines=f"{results['lines']:,}", table="\n".join(table), left="\n".join(left), count=len(results["samples"]),
        judges=" and ".join(f"{j['dev_accuracy']:.1f} ({j['kind']})" for j in results["judges"]),
        samples="\n".join(["| | |", "|---|---|", *shown]),
    )  # fmt: skip


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _figure(row: Mapping[str, Any], key: str) -> str:
    low, high = row[f"{key}_ci"]
    digits = 2 if key in ("fluency", "length_ratio") else 1
    return f"{row[key]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


TEMPLATE = Template("""\
# Rude to civil

The first $lines toxic comments of the test set of Dale et al. (2021), by the embedded model and its default method, and
by two systems that they published. One evaluator, texts normalised as everywhere; in brackets 95 % bootstrap intervals.
The two judges have read the quarter of the comments that the editor has not, and are right on $judges % of dev.
Made by `report.py` from `results.json`.

$table

Of the texts that came out as they went in:

$left

## Samples

$count lines drawn at random by a fixed seed. They are comments as people wrote them.

$samples
""")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds detox/")
    parser.add_argument("--predictions", type=Path, required=True, help="JSONL of masker edit, xz")
    parser.add_argument("--judge", type=Path, action="append", required=True, help="judge folder; twice")
    parser.add_argument("--fluency-model", type=Path, required=True, help="language model folder")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    options = parser.parse_args(arguments)
    try:
        detox = options.data / "detox"
        rewrites = [json.loads(line) for line in lzma.decompress(options.predictions.read_bytes()).splitlines()]
        sources = list(read_corpus(detox / "test.toxic.txt.gz"))[: len(rewrites)]
        peers = {name: list(read_corpus(detox / file))[: len(rewrites)] for name, file in PEERS.items()}
        systems = {"Masker": [r["text"] for r in rewrites], **peers}
        judges = [Judge.from_pretrained(folder) for folder in options.judge]
        results = {
            "lines": len(sources),
            "judges": [{"kind": judge.kind, "dev_accuracy": judge.dev_accuracy} for judge in judges],
            "rows": score(sources, {**systems, "copy": sources}, judges, load_language_model(options.fluency_model)),
            "left_alone": reasons(rewrites),
            "samples": samples(sources, systems),
        }
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(results, indent=1, ensure_ascii=False)
        (options.out / "results.json").write_text(text + "\n", "utf-8")
        (options.out / "RESULTS.md").write_text(markdown(results), "utf-8")
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
