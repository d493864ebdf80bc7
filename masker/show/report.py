"""The report of a fitted model as a page: one file that needs no other, light or dark as the reader's screen is."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.errors import MaskerError
from masker.model.card import save_card
from masker.model.folder import staged
from masker.show import svg
from masker.show.diff import marked
from masker.show.look import domain_rows, pair_rows

if TYPE_CHECKING:
    from masker.core.edits import Rewrite
    from masker.data.inspection import Look
    from masker.evaluation.heldout import DirectionFigures, HeldOutReport
    from masker.model.settings import WithDomains

PAGE = "report.html"
STYLE = Path(__file__).with_name("report.css")


@dataclass(frozen=True)
class FitReport:
    """All that the page tells: the corpora, the run (`made` as in the model's settings, `curve` as in metrics.jsonl),
    and how held-out lines are rewritten.
    """

    look: "Look"
    made: Mapping[str, Any]
    curve: Sequence[Mapping[str, float]]
    held_out: "HeldOutReport"


def write_report(model: "WithDomains", look: "Look", held_out: "HeldOutReport") -> Path:
    """Write report.html into the folder of a model, and the figures and rewrites into its card; gives the page."""
    folder, made = model.folder, model.settings.made
    if folder is None or not made:
        raise MaskerError("a report is of a model that was fitted, and loaded from its folder; do that first")
    made[-1]["report"] = held_out.to_dict()
    log = folder / "metrics.jsonl"
    curve = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []
    save_card(model, folder)
    with staged(folder) as stage:
        (stage / PAGE).write_text(report_html(FitReport(look, made[-1], curve, held_out)), "utf-8")
    return folder / PAGE


def report_html(report: FitReport) -> str:
    """The page."""
    names = [domain.name for domain in report.look.domains]
    title = f"Masker: {' and '.join(names)}"
    body = [
        f"<h1>{_e(' ⇄ '.join(names) if len(names) == 2 else ', '.join(names))}</h1>",
        f'<p class="sub">A model fitted by Masker on {_e(report.made["date"])}, and what it does with lines that '
        "nothing was trained on.</p>",
        *_summary(report.held_out),
        "<h2>Rewrites</h2>",
        '<p class="sub">The first held-out lines of each direction, as they come; none was picked. '
        "Hover over an edit to see its score.</p>",
        *_rewrites(report.held_out),
        "<h2>The corpora</h2>", *(f'<p class="warn">{_e(warning)}</p>' for warning in report.look.warnings),
        _table(["", *names], _turned(report)), *_apart(report.look),
        "<h2>Training</h2>", *_training(report),
    ]  # fmt: skip
    style = STYLE.read_text("utf-8")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _summary(held_out: "HeldOutReport") -> list[str]:
    cards = "".join(_card(d) for d in held_out.usual)
    style = {
        f"{d.from_} → {d.to}": {"before": d.before, "after": d.style.value, "real lines": d.real}
        for d in held_out.usual
    }
    chart = f'<div class="card"><h3>Taken for the target domain, in %</h3>{svg.bars(style)}</div>'
    known = (
        f"Style is judged by a classifier of word n-grams that learnt from {held_out.judge_lines:,} other held-out "
        f"lines and is right on {held_out.judge_accuracy:.0f} % of the real lines among those rewritten."
    )
    doubt = (
        "" if held_out.reliable else " It had too little to learn from to be trusted much: read the rewrites instead."
    )
    rows = [
        [f"{d.from_} → {d.to}", d.method, str(len(d.rewrites)), _figure(d.before), _interval(d.style), _figure(d.real),
         _interval(d.self_bleu), _interval(d.left_alone)]
        for d in held_out.directions
    ]  # fmt: skip
    head = ["direction", "method", "lines", "before", "style", "real lines", "self-BLEU", "left alone"]
    told = f"<p>{_e(known + doubt)} In brackets 95 % intervals. Self-BLEU is 100 where nothing was changed.</p>"
    return [
        f'<div class="cards">{cards}{chart}<div class="card"><h3>How this was measured</h3>{told}</div></div><br>',
        _table(head, rows, numbers=True),
    ]


def _card(d: "DirectionFigures") -> str:
    return (
        f'<div class="card"><h3>{_e(d.from_)} → {_e(d.to)}</h3>'
        f'<div class="big">{d.style.value:.0f} % <small>read as {_e(d.to)}</small></div>'
        f"<p>{d.before:.0f} % did before; of real lines of {_e(d.to)} {d.real:.0f} % do. "
        f"{d.left_alone.value:.0f} % were left alone; self-BLEU {d.self_bleu.value:.0f}.</p></div>"
    )


def _rewrites(held_out: "HeldOutReport") -> Iterable[str]:
    shown = held_out.shown()
    for d in held_out.usual:
        found = [rewrite for rewrite in shown if (rewrite.from_, rewrite.to) == (d.from_, d.to)]
        items = "".join(f"<li>{_rewrite(rewrite)}</li>" for rewrite in found)
        yield f'<div class="card"><h3>{_e(d.from_)} → {_e(d.to)}</h3><ol class="rewrites">{items}</ol></div><br>'


def _rewrite(rewrite: "Rewrite") -> str:
    note = rewrite.error or rewrite.reason or ("left alone" if rewrite.text == rewrite.source else "")
    return marked(rewrite) + (f" <small>({_e(note)})</small>" if note else "")


def _turned(report: FitReport) -> list[list[str]]:
    """A row for everything that is known of a corpus."""
    columns = zip(*map(domain_rows, report.look.domains), strict=True)
    return [[rows[0][0], *(value for _, value in rows)] for rows in columns]


def _apart(look: "Look") -> Iterable[str]:
    most = max(domain.words[1] for domain in look.domains)
    lengths = svg.histogram({domain.name: domain.lengths for domain in look.domains}, x="words a line", most=most)
    yield f'<br><div class="charts"><div class="card"><h3>Lengths, % of the lines</h3>{lengths}</div>'
    for pair in look.pairs:
        facts = "".join(f"<li>{_e(name)}: {_e(value)}</li>" for name, value in pair_rows(pair) if "speak" not in name)
        words = "".join(
            f"<p><small>speak for {_e(name)}</small><br>{''.join(f'<span class=word>{_e(w)}</span>' for w in some)}</p>"
            for name, some in ((pair.first, pair.first_words), (pair.second, pair.second_words))
        )
        yield f'<div class="card"><h3>{_e(pair.first)} and {_e(pair.second)}</h3>{words}<ul>{facts}</ul></div>'
    yield "</div>"


def _training(report: FitReport) -> Iterable[str]:
    made = report.made
    named = {"span_accuracy": "span accuracy, %", "style_accuracy": "the model's own style classifier, %"}
    scores = _curves(report.curve, named)
    losses = _curves(report.curve, {"loss": "loss", "held_out_loss": "held-out loss"})
    yield (
        f"<p>{made['steps']:,} steps in {made['seconds']:,} s on {_e(made['device'])}, from the base "
        f"{_e(made['base'])}; the best checkpoint, of step {made['best_step']:,}, was kept.</p>"
    )
    yield f'<div class="charts"><div class="card"><h3>Held-out lines</h3>{scores}</div>'
    yield f'<div class="card"><h3>Loss</h3>{losses}</div></div>'
    if made.get("command"):
        yield f"<pre>{_e(made['command'])}</pre>"
    chosen = ", ".join(f"{name} {value}" for name, value in made["settings"].items() if value is not None)
    yield f"<p><small>{_e(chosen)}</small></p>"


def _curves(curve: Sequence[Mapping[str, float]], names: Mapping[str, str]) -> str:
    found = {label: [(row["step"], row[key]) for row in curve if key in row] for key, label in names.items()}
    return svg.lines({label: points for label, points in found.items() if points}, x="steps")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        right = ' class="n"' if numbers else ""
        return "".join(f"<{tag}{right if k > 1 else ''}>{_e(cell)}</{tag}>" for k, cell in enumerate(cells))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{line(head, "th")}</tr>{body}</table></div>'


def _figure(value: float) -> str:
    return f"{value:.0f}"


def _interval(figure: Any) -> str:
    return f"{figure.value:.0f} ({figure.low:.0f} to {figure.high:.0f})"


def _e(text: str) -> str:
    return html.escape(str(text))
