"""masker tune: set the search editor's knobs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import err
from masker.errors import MaskerError, check_whole

if TYPE_CHECKING:
    from masker.search.tuning import Trial


@app.command()
def tune(
    model: Annotated[Path, typer.Option("--model", help="Model folder; the knobs are saved in its masker.json.")],
    domain: Annotated[
        list[str], typer.Option("--domain", metavar="NAME=FILE", help="Lines that the model was not fitted on; repeat.")
    ],
    judge: Annotated[
        Path | None, typer.Option("--judge", help="Judge of style [default: n-grams of half the lines].")
    ] = None,
    lines: Annotated[int, typer.Option("--lines", help="Use the first so many lines of each file.")] = 400,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Find better --strength, --max-edits and --min-score for a model, and save them with it.

    Texts of each domain are rewritten to its counterpart. The best knobs are those with the highest geometric mean of
    style accuracy and self-BLEU (how little was changed) that cost no more than a point of style, by the judge and by
    the model's own two classifiers. Where nothing is gained the knobs stay as they are. No parallel data is needed.
    """
    from masker.api import Masker
    from masker.data.corpora import load_domains
    from masker.evaluation.judges.base import Judge
    from masker.model.folder import SETTINGS, has_settings, save_settings
    from masker.search.tuning import tune as search_knobs

    check_whole(1, lines=lines)
    if not has_settings(model):
        raise MaskerError(f"no model of Masker's at {model}; make one with 'masker fit', or copy one there")
    corpora = load_domains(o.pairs(domain, "--domain"), encoding=encoding)
    corpora = {name: texts[:lines] for name, texts in corpora.items()}
    masker = Masker.from_pretrained(model, device=device, exact=True)

    def show(trial: "Trial") -> None:
        _print(_line(trial))

    found = search_knobs(masker, corpora, Judge.from_pretrained(judge) if judge else None, report=show)
    for tuned in found.values():
        _print(f"before: {_line(tuned.before)}")
        _print(f"best:   {_line(tuned.after)}" if tuned.changed else "best:   the same; nothing better was found")
    if any(tuned.changed for tuned in found.values()):
        save_settings(masker.model.settings, model)
        _print(f"wrote {model / SETTINGS}")
    else:
        _print(f"{model / SETTINGS} stays as it is")


def _print(line: str) -> None:
    err.print(line, markup=False, highlight=False, soft_wrap=True)


def _line(t: "Trial") -> str:
    return (
        f"to {t.to}  strength {t.strength:g}  max-edits {t.max_edits}  min-score {t.min_score:g}  "
        f"style {t.style_accuracy:.1f} (words {t.by_words:.1f}, encoder {t.by_encoder:.1f})  "
        f"self-BLEU {t.self_bleu:.1f}  left alone {t.left_alone:.1f}  joint {t.joint:.1f}"
    )
