"""Options that several verbs share, and how parameters of the library are called on the command line."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from masker.errors import MaskerError

Model = Annotated[
    str | None, typer.Option("--model", help="Model folder or Hugging Face id [default: the embedded one].")
]
SourceModel = Annotated[
    str | None, typer.Option("--source-model", help="A second model for the source domain, if fitted apart.")
]
To = Annotated[str, typer.Option("--to", help="Domain to rewrite to.")]
From = Annotated[str | None, typer.Option("--from", help="Domain that the text comes from [default: its counterpart].")]
NoSourceScore = Annotated[
    bool, typer.Option("--no-source-score", help="Score by TargetScore alone: the paper's ablation.")
]
Protect = Annotated[
    str | None,
    typer.Option(
        "--protect", metavar="REGEX",
        help="Never touch what this matches, besides numbers, links and the like; none: not even those; "
        "names: capitalised names too.",
    ),
]  # fmt: skip
Keep = Annotated[Path | None, typer.Option("--keep", metavar="FILE", help="Terms never to touch, one per line.")]
Forbid = Annotated[
    list[str] | None, typer.Option("--forbid", metavar="WORDS", help="Words never to insert, separated by commas.")
]
MinScore = Annotated[
    float | None, typer.Option("--min-score", help="Make an edit only if it scores above this [default: 0].")
]
MinConfidence = Annotated[
    float | None,
    typer.Option("--min-confidence", help="Leave what a reader would accept less probably than this [0 to 1]."),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="In float32 alone: slower, and the same whatever is edited together.")
]
MaxWords = Annotated[int, typer.Option("--max-words", help="Refuse texts of more words than this.")]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1 ... [default: a GPU if there is one].")]
Column = Annotated[
    str | None,
    typer.Option("--column", help="Column of a JSONL, CSV, TSV or Parquet file [default: text, or the only one]."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of the input.")]

# parameters of the library that have another name as an option
_OTHERWISE = {
    "corpora": "domain",
    "judges": "judge",
    "metrics": "metric",
    "normalised": "no_normalise",
    "out": "plot",
    "paper_dictionary": "paper_bleu_dict",
    "references": "reference",
    "source_score": "no_source_score",
    "top": "suggestions",
}


PLACES = ("--out", "--output", "--model", "--base", "--host", "--html", "--plot", "--report", "--token")


def as_flags(message: str, command: Any) -> str:
    """A message of the library, which writes `max_words`, as one of a verb that has the option --max-words.

    Names that are no options of the verb stay as they are, without the backquotes.
    """
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    flags = {option.name: max(option.opts, key=len) for option in options}

    def flag(match: re.Match[str]) -> str:
        name = match[1]
        return flags.get(name) or flags.get(_OTHERWISE.get(name, "")) or name

    return re.sub(r"`([A-Za-z_]\w*)`", flag, message)


def check_given(words: Sequence[str]) -> None:
    """A place without a name is a variable that was not set: not the folder one is in, nor all of a network. An empty
    token would let everybody in.
    """
    for word, after in pairwise([*words, "-"]):
        flag, with_value, value = word.partition("=")
        if flag in PLACES and not (value if with_value else after):
            raise MaskerError(f"{flag} is empty; say {'which' if flag == '--token' else 'where'}, or leave it out")


def terms(keep: Path | None) -> list[str]:
    """The lines of a file of terms."""
    from masker.data.corpora import read_corpus

    return list(read_corpus(keep)) if keep else []


def words(forbid: list[str] | None) -> list[str]:
    return [word.strip() for group in forbid or [] for word in group.split(",") if word.strip()]


def pairs(values: list[str] | None, option: str) -> dict[str, str]:
    """Values of the form NAME=VALUE."""
    pairs = {}
    for value in values or []:
        name, sign, rest = value.partition("=")
        if not (name and sign and rest):
            raise MaskerError(f"{option} wants NAME=VALUE, not '{value}'")
        if name in pairs:
            raise MaskerError(f"{option} names '{name}' twice")
        pairs[name] = rest
    return pairs
