"""masker evaluate: score rewritten lines."""

import glob
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import app
from masker.cli._output import choice
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.evaluation.judges.base import Judge
    from masker.evaluation.report import Direction, Report
    from masker.evaluation.tally import Figure

DICTIONARY = Path("yelp", "li_bleu.dict.tsv")  # under MASKER_DATA


Source = Annotated[
    list[str] | None, typer.Option("--source", metavar="FILE", help="Texts before the rewriting, one a line.")
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--pairs", metavar="FILE",
        help="Sources and their references in one file, instead of both: TSV, DiscoFuse's or WikiSplit's.",
    ),
]  # fmt: skip
Reverse = Annotated[bool, typer.Option("--reverse", help="The pairs the other way round: from fused to split, say.")]
Output = Annotated[list[str], typer.Option("--output", metavar="FILE", help="The same texts rewritten, line by line.")]
To = Annotated[list[str], typer.Option("--to", metavar="DOMAIN", help="The domain that the outputs should belong to.")]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--reference", metavar="FILE", help="A human rewriting; repeat it, or quote a pattern such as 'ref?.txt'."
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option("--judge", metavar="DIR", help="A judge made by 'masker judge fit'; may be repeated."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", metavar="NAME", help="Compute only this; may be repeated. Default: all that the files allow."
    ),
]
Shape = Annotated[str, typer.Option("--format", help="table or json.")]
NoNormalise = Annotated[
    bool, typer.Option("--no-normalise", help="Compare texts as they are. A judge reads them as it was trained to.")
]
PaperReferences = Annotated[
    list[str] | None,
    typer.Option(
        "--paper-reference", metavar="FILE", help="The raw reference of paper_bleu. Default: the first --reference."
    ),
]
PaperDictionary = Annotated[
    Path | None,
    typer.Option(
        "--paper-bleu-dict",
        metavar="FILE",
        help="Word list of paper_bleu. Default: $MASKER_DATA/yelp/li_bleu.dict.tsv.",
    ),
]
FluencyModel = Annotated[
    Path | None,
    typer.Option(
        "--fluency-model",
        metavar="DIR",
        help="LM for fluency: one of Masker's, of 'masker judge lm', or a causal or masked LM of Hugging Face.",
    ),
]


@app.command("evaluate")
def evaluate(
    output: Output,
    to: To,
    source: Source = None,
    pairs: Pairs = None,
    reverse: Reverse = False,
    reference: References = None,
    judge: Judges = None,
    metric: Metrics = None,
    format: Shape = "table",
    no_normalise: NoNormalise = False,
    paper_reference: PaperReferences = None,
    paper_bleu_dict: PaperDictionary = None,
    fluency_model: FluencyModel = None,
) -> None:
    """Score rewritten texts: BLEU, style, fluency and more.

    One direction, or several and their average.

    Metrics: exact, sari, sari_lasertagger, bleu, self_bleu, paper_bleu, style_accuracy, copied, length_ratio, fluency,
    acceptability, joint. All from 0 to 100, but length_ratio is a ratio and fluency nats per word. Intervals are 95 %
    bootstrap.
    fluency is computed only if it or its model is named, for it takes a minute or two for 1,000 lines on a CPU; it is
    the pseudo-likelihood of the embedded model unless --fluency-model names another. acceptability, by the embedded
    model's critic, is what agrees best with people; it has to be named, and knows negative, positive and civil.

    Texts are normalised first, the same for everyone: lower case, straight quotes, punctuation and clitics split off as
    in the Penn Treebank ("It's fine." becomes "it 's fine ."). Lines tokenised so already do not change. paper_bleu is
    exempt from it.

    For two directions repeat --source, --output and --to in the same order, and give the references of the first
    direction before those of the second; they are shared out evenly:

    masker evaluate --source neg.txt --output neg.out --to positive --reference 'neg.ref?' --source pos.txt --output
    pos.out --to negative --reference 'pos.ref?' --judge judges/ngram

    Of aligned pairs: masker evaluate --pairs dev_balanced.tsv --output fused.txt --to fused
    """
    from masker.evaluation.report import evaluate as score

    choice("format", format, ["table", "json"])
    if bool(source) == bool(pairs) or (pairs and (reference or paper_reference)):
        raise MaskerError("give --source, and --reference where there are any, or --pairs alone, which has both")
    if reverse and not pairs:
        raise MaskerError("--reverse turns the --pairs round; give the files of --source and --reference instead")
    if pairs:
        directions, files = _aligned(pairs, output, to, reverse=reverse)
    else:
        directions, files = _directions(source or [], output, to, reference or [], paper_reference or [])
    report = score(
        directions,
        judges=_judges(judge or []),
        metrics=metric or [],
        paper_dictionary=_dictionary(paper_bleu_dict) if not metric or "paper_bleu" in metric else None,
        fluency_model=fluency_model,
        normalised=not no_normalise,
    )
    if format == "json":
        _print_json(report, files, judge or [])
    else:
        _print_table(report, files)


def _directions(
    sources: list[str], outputs: list[str], to: list[str], references: list[str], paper: list[str]
) -> tuple[list["Direction"], list[dict[str, Any]]]:
    """The directions, and which files each was made of: shown to the user, so that a mix-up can be seen."""
    from masker.evaluation.report import Direction

    n = len(sources)
    if len(outputs) != n or len(to) != n:
        counts = f"{n} --source, {len(outputs)} --output and {len(to)} --to"
        raise MaskerError(f"{counts}; give each of them once for every direction")
    if len(references) % n or len(paper) not in (0, n):
        counts = f"{len(references)} --reference and {len(paper)} --paper-reference for {n} directions"
        raise MaskerError(f"{counts}; give equally many references for each, and one paper reference or none")
    directions: list[Direction] = []
    files: list[dict[str, Any]] = []
    share = len(references) // n
    for i in range(n):
        own = [path for pattern in references[i * share : (i + 1) * share] for path in _matches(pattern)]
        raw = paper[i] if paper else None
        directions.append(
            Direction.from_files(to=to[i], source=sources[i], output=outputs[i], references=own, paper_reference=raw)
        )
        files.append({"source": sources[i], "output": outputs[i], "references": own, "paper_reference": raw})
    return directions, files


def _aligned(
    pairs: list[str], outputs: list[str], to: list[str], *, reverse: bool
) -> tuple[list["Direction"], list[dict[str, Any]]]:
    """Directions whose sources and only references are the two sides of aligned pairs."""
    from masker.data.pairs import read_pairs
    from masker.evaluation.direction import Direction, read_outputs

    if len(outputs) != len(pairs) or len(to) != len(pairs):
        counts = f"{len(pairs)} --pairs, {len(outputs)} --output and {len(to)} --to"
        raise MaskerError(f"{counts}; give each of them once for every direction")
    directions, files = list[Direction](), list[dict[str, Any]]()
    for path, output, domain in zip(pairs, outputs, to, strict=True):
        sides = list(read_pairs(path, reverse=reverse))
        sources, targets = [pair.source for pair in sides], [pair.target for pair in sides]
        directions.append(Direction(domain, sources, read_outputs(output, sources), [targets]))
        files.append({"source": path, "output": output, "references": [path], "paper_reference": None})
    return directions, files


def _matches(pattern: str) -> list[str]:
    """The files that a pattern stands for; a name without wildcards, or of an existing file, is itself."""
    if Path(pattern).exists() or not glob.has_magic(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern))
    if not found:
        raise MaskerError(f"no file matches --reference '{pattern}'")
    return found


def _judges(folders: list[str]) -> list["Judge"]:
    if not folders:  # nothing heavy is imported for none
        return []
    from masker.evaluation.judges.base import Judge

    return [Judge.from_pretrained(folder) for folder in folders]


def _dictionary(path: Path | None) -> dict[str, int] | None:
    """The word list of paper_bleu at `path`, or the one among the data if there is one."""
    from masker.evaluation.paper_bleu import read_dictionary

    data = os.environ.get("MASKER_DATA")
    if path is None and data and Path(data, DICTIONARY).is_file():
        path = Path(data, DICTIONARY)
    return read_dictionary(path) if path else None


def _print_json(report: "Report", files: list[dict[str, Any]], judges: list[str]) -> None:
    result = report.to_dict()
    for entry, folder in zip(result["judges"], judges, strict=False):
        entry["path"] = folder
    for entry, names in zip(result["directions"], files, strict=True):
        entry["files"] = names
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False))


def _print_table(report: "Report", files: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from masker.show.terminal import Terminal

    console = Terminal(highlight=False, soft_wrap=True)
    console.width = max(console.width, 100)  # a figure cut off is worse than a line that the terminal wraps
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    several = len(report.directions) > 1
    columns = [(f"to {to}", figures) for to, figures in report.directions]
    columns += [("average", report.average)] if several else []
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name in report.average:
        table.add_row(name, *(escape(_cell(figures[name])) for _, figures in columns))
    console.print(table)
    for (to, _), names in zip(report.directions, files, strict=True):
        references = f", {len(names['references'])} reference(s)" if names["references"] else ""
        console.print(f"to {to}: {names['source']} -> {names['output']}{references}", markup=False)
    for number, judge in enumerate(report.judges, 1):
        found = _cell(judge.style_accuracy)
        console.print(
            f"judge {number}, {judge.kind}, {judge.dev_accuracy:.2f} % right on dev: style accuracy {found}",
            markup=False,
        )
    for name, value in report.notes.items():
        console.print(f"{name}: {value}", markup=False)


def _cell(figure: "Figure") -> str:
    return f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
