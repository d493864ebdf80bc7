"""Options that several verbs share."""

from typing import Annotated

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
Protect = Annotated[str | None, typer.Option("--protect", metavar="REGEX", help="Never touch what this matches.")]
Forbid = Annotated[
    list[str] | None, typer.Option("--forbid", metavar="WORDS", help="Words never to insert, separated by commas.")
]
MinScore = Annotated[
    float | None, typer.Option("--min-score", help="Make an edit only if it scores above this [default: 0].")
]
MaxWords = Annotated[int, typer.Option("--max-words", help="Refuse texts of more words than this.")]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1 ... [default: a GPU if there is one].")]
Column = Annotated[
    str | None,
    typer.Option("--column", help="Column of a JSONL, CSV, TSV or Parquet file [default: text, or the only one]."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of the input.")]


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
