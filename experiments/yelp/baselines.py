"""The baselines of the paper's Table 3, made here, beside their published outputs: BASELINES.md.

    python experiments/yelp/baselines.py --data $MASKER_DATA --lines runs/yelp --model runs/baselines \
        --judge judges/ngram --fluency-model judges/lm --predictions experiments/yelp/baselines --out experiments/yelp

fits the five into --model (a copy of the embedded model, unless there is one), edits the test set with each, and scores
it as leaderboard.py does. What is there already, fitted or edited, stays: delete what is to be made again.
"""

import argparse
import json
import lzma
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from leaderboard import HEADS, TARGETS, _directions, _figures, _header, _line, score

from masker import Masker
from masker.baselines.base import NAMES, baseline_folder, domains_of, load_baseline, words_of
from masker.cli._baseline import add_baselines
from masker.data.corpora import load_domains, read_corpus
from masker.errors import MaskerError
from masker.evaluation.fluency import load_language_model
from masker.evaluation.judges.base import Judge
from masker.evaluation.paper_bleu import read_dictionary

PEERS = {  # a baseline -> the published outputs it is compared with
    "acmlm-frequency": ["ACMLM_epoch9_frequency_ratio"],
    "acmlm-attention": ["ACMLM_epoch9_attention_based"],
    "acmlm-fusion": ["ACMLM_epoch9_fusion_method"],
    "delete-template": ["TemplateBased_Li18"],
    "delete-retrieve": ["DeleteRetrieve_Li18"],
}
FEWER = ("style_accuracy", "bleu", "self_bleu", "paper_bleu", "copied", "length_ratio", "fluency")


def fit(lines: Path, model: Path) -> None:
    """Those that the model does not have yet, on the lines that Masker itself has learnt from."""
    names = [name for name in NAMES if not domains_of(baseline_folder(name, model))]
    if names:
        corpora = load_domains({name: lines / f"{name}.editor.txt" for name in ("negative", "positive")})
        add_baselines(names, corpora, model, None, seed=0)


def edit(data: Path, model: Path, predictions: Path) -> None:
    masker = Masker.from_pretrained(model, device="cpu")
    predictions.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        for i, to in enumerate(TARGETS):
            path = predictions / f"{name}.{i}.txt.xz"
            if not path.is_file():
                texts = list(read_corpus(data / "yelp" / f"sentiment.test.{i}"))
                rewrites = masker.edit(texts, to=to, method=name)
                with lzma.open(path, "wt", encoding="utf-8") as file:
                    file.writelines(f"{rewrite.text}\n" for rewrite in rewrites)


def results(data: Path, predictions: Path, judge: Judge, language_model: Any) -> dict[str, dict[str, Any]]:
    """The figures of the baselines and of what they are compared with."""
    yelp = data / "yelp"
    dictionary = read_dictionary(yelp / "li_bleu.dict.tsv")
    folders = dict.fromkeys(PEERS, predictions) | {peer: yelp / "peers" for peers in PEERS.values() for peer in peers}
    rows = {}
    for name, folder in folders.items():
        print(f"scoring {name}", file=sys.stderr)
        files = [folder / f"{name}.{i}.txt{'.xz' if folder == predictions else ''}" for i in (0, 1)]
        row = score(_directions(yelp, files), [judge], dictionary, language_model)
        rows[name] = {key: row[key] for metric in FEWER for key in (metric, f"{metric}_ci")} | {
            "directions": [
                {"to": part["to"], **{metric: part[metric] for metric in FEWER}} for part in row["directions"]
            ]
        }
    return rows


def masked(data: Path, model: Path) -> float:
    """How many words of a text acmlm-attention chooses."""
    selector = load_baseline("acmlm-attention", model)
    texts = [line for i in (0, 1) for line in read_corpus(data / "yelp" / f"sentiment.test.{i}")]
    return round(sum(len(selector.select(words_of(text), "")) for text in texts) / len(texts), 2)


def changed(data: Path) -> float:
    """How many words of a text are not in the published outputs of AC-MLM by attention."""
    yelp, missing = data / "yelp", list[int]()
    for i in (0, 1):
        sources = list(read_corpus(yelp / f"sentiment.test.{i}"))
        kept = _kept(sources, yelp / "peers" / f"ACMLM_epoch9_attention_based.{i}.txt")
        pairs = zip(sources, kept, strict=True)
        missing += [sum(word not in there for word in _plain(source).split()) for source, there in pairs]
    return round(sum(missing) / len(missing), 2)


def shared_changes(data: Path) -> dict[str, float]:
    """How often two published sets of AC-MLM leave the same words of an input standing, in % of the lines."""
    yelp = data / "yelp"
    found = {}
    for peer in ("ACMLM_epoch9_attention_based", "ACMLM_epoch9_frequency_ratio"):
        same = of = 0
        for i in (0, 1):
            sources = list(read_corpus(yelp / f"sentiment.test.{i}"))
            sets = [_kept(sources, yelp / "peers" / f"{name}.{i}.txt") for name in (peer, "ACMLM_epoch9_fusion_method")]
            same += sum(a == b for a, b in zip(*sets, strict=True))
            of += len(sources)
        found[peer] = round(100 * same / of, 1)
    return found


def _kept(sources: Sequence[str], path: Path) -> list[frozenset[str]]:
    outputs = path.read_text("utf-8").splitlines()
    return [
        frozenset(_plain(source).split()) & frozenset(_plain(output).split())
        for source, output in zip(sources, outputs, strict=True)
    ]


def _plain(text: str) -> str:
    """AC-MLM's files have `n 't` for `n't`."""
    return text.replace(" '", "'").replace(" n't", "n't")


def markdown(found: Mapping[str, Any]) -> str:
    rows: Mapping[str, dict[str, Any]] = found["rows"]
    lines = _header(rows[NAMES[0]], "system", "to")
    gaps = [
        _line(["made here", "published", "paper BLEU", HEADS["style_accuracy"], "BLEU"]),
        "|---|---|---:|---:|---:|",
    ]
    for name, peers in PEERS.items():
        for system in (name, *peers):
            shown = f"**{system}**" if system == name else f"`{system}`"
            lines += [_line([shown, part["to"], *_figures(part)]) for part in rows[system]["directions"]]
            lines.append(_line([shown, "average", *_figures(rows[system])]))
        for peer in peers:
            apart = (rows[name][metric] - rows[peer][metric] for metric in ("paper_bleu", "style_accuracy", "bleu"))
            gaps.append(_line([name, f"`{peer}`", *(f"{value:+.1f}" for value in apart)]))
    template = Path(__file__).with_name("BASELINES.template.md").read_text("utf-8")
    return Template(template).substitute(
        table="\n".join(lines),
        gaps="\n".join(gaps),
        dev=f"{found['judge']['dev_accuracy']:.2f}",
        masked_attention=f"{found['words_masked']:.1f}",
        changed_attention=f"{found['words_changed']:.1f}",
        **{f"same_{name.split('_')[2]}": value for name, value in found["same_words_kept"].items()},
    )


def _json(found: Mapping[str, Any]) -> str:
    """One line for every system."""
    rest = {key: value for key, value in found.items() if key != "rows"}
    rows = [f'"{name}":{json.dumps(row, separators=(",", ":"))}' for name, row in found["rows"].items()]
    return json.dumps(rest)[:-1] + ', "rows": {\n' + ",\n".join(rows) + "\n}}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("data", "lines", "model", "judge", "fluency-model", "predictions", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        fit(options.lines, options.model)
        edit(options.data, options.model, options.predictions)
        judge, language_model = Judge.from_pretrained(options.judge), load_language_model(options.fluency_model)
        found = {
            "judge": {"kind": judge.kind, "dev_accuracy": round(judge.dev_accuracy, 2)},
            "rows": results(options.data, options.predictions, judge, language_model),
            "same_words_kept": shared_changes(options.data),
            "words_masked": masked(options.data, options.model),
            "words_changed": changed(options.data),
        }
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    (options.out / "baselines.json").write_text(_json(found), "utf-8")
    (options.out / "BASELINES.md").write_text(markdown(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
