"""What masker fit says before and after training: a look at the corpora, and how held-out lines are rewritten."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.cli._output import err
from masker.cli._training import bar, say

if TYPE_CHECKING:
    from masker.data.corpora import Parts
    from masker.data.inspection import Look
    from masker.evaluation.heldout import HeldOutReport
    from masker.training.settings import TrainSettings


def look_first(corpora: Mapping[str, Sequence[str]], counterparts: Mapping[str, str]) -> "Look":
    """Look at the corpora, and say what there is to see."""
    from masker.data.inspection import look
    from masker.show.look import look_table

    pairs = {tuple(sorted(pair)): pair for pair in counterparts.items() if {*pair} <= {*corpora}}
    seen = look(corpora, pairs.values() or None)
    err.print(look_table(seen))
    for warning in seen.warnings:
        say(f"masker: warning: {warning}")
    return seen


def say_plan(settings: "TrainSettings", parts: "Parts", seconds: float, *, report: bool) -> None:
    """What will be done, and about how long it will take."""
    from masker.data.corpora import ENOUGH

    texts = sum(map(len, parts.train.values()))
    aside = f"; {parts.aside:,} others are set aside to measure with" if parts.aside else ""
    if report and not aside:
        say(f"there will be no report: that takes two domains with {ENOUGH} different lines each")
    passes = f"{settings.steps:,} steps" if settings.steps else f"{settings.epochs:g} passes"
    say(
        f"training on {texts:,} lines{aside}: {passes} in batches of {settings.batch_size}, "
        f"learning rate {settings.lr:g}, {duration(seconds)} on this machine"
    )


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 90 * 60 else f"about {seconds / 3600:.1f} h"


def report(folder: Path, look: "Look", parts: "Parts") -> None:
    """Rewrite the lines that were set aside, write report.html and the card, and say what came out."""
    from masker.api import Masker
    from masker.evaluation.heldout import measure
    from masker.show.report import write_report

    masker = Masker.from_pretrained(folder)
    methods = (None, "fast") if masker.student else (None,)
    lines = sum(map(len, parts.rewritten.values()))
    say(f"rewriting {lines:,} held-out lines for the report")
    with bar("rewriting") as update:
        found = measure(masker, parts, methods=methods, on_progress=update)
    page = write_report(masker.model, look, found)
    _say(found)
    say(f"wrote {page}: the same with plots and {len(found.shown())} rewrites")


def _say(found: "HeldOutReport") -> None:
    """A short summary."""
    from rich.table import Table
    from rich.text import Text

    from masker.show.diff import diff_plain, diff_rich

    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("method", "lines", "before", "style", "real", "self-BLEU", "left alone"):
        table.add_column(name, justify="right", no_wrap=True)
    for d in found.directions:
        figures: list[Any] = [d.before, d.style.value, d.real, d.self_bleu.value, d.left_alone.value]
        table.add_row(f"{d.from_} to {d.to}", d.method, str(len(d.rewrites)), *(f"{value:.0f}" for value in figures))
    err.print(table)
    say(
        f"style: lines in % that a judge takes for the target domain, before and after, and of real lines; it learnt "
        f"from {found.judge_lines:,} held-out lines and is right on {found.judge_accuracy:.0f} %"
        + ("" if found.reliable else ": too little to go by, read the rewrites instead")
    )
    for rewrite in found.shown(4):
        shown = diff_rich(rewrite) if err.is_terminal else Text(diff_plain(rewrite))
        err.print(Text("  ").append_text(shown), soft_wrap=True)
