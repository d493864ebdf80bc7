"""The paper's Figure 1 as HTML: words by the domain that they speak for, and the Score of every span."""

import html
import math
from typing import TYPE_CHECKING

from masker.show.style import shade

if TYPE_CHECKING:
    from masker.core.explanation import Explanation, SpanRow

LEAST = 1e-4  # likelihoods below this are noise
STRONG = 4.0  # nats of disagreement that get the full colour
WIDEST = 80  # words: of a longer text the grid could not be read


def disagreement(explanation: "Explanation") -> list[float | None]:
    """How much more likely each word is in the target domain than in the source: nats, None where nobody was asked."""
    single = {row.i: row for row in explanation.spans if row.words == 1}
    found = [single.get(i) for i in range(len(explanation.offsets))]
    return [None if row is None or row.L4 is None else math.log((row.L2 + LEAST) / (row.L4 + LEAST)) for row in found]


def told(word: str, heat: float | None, explanation: "Explanation") -> str:
    """The same in words."""
    if heat is None:
        return f"“{word}” is never changed"
    times = math.exp(abs(heat))
    if times < 1.2:
        return f"“{word}” is as likely in both"
    side = explanation.to if heat > 0 else explanation.from_
    return (
        f"“{word}” is {times:.0f} times as likely in {side}"
        if times >= 10
        else f"“{word}” is {times:.1f} times as likely in {side}"
    )


def words_html(explanation: "Explanation") -> str:
    """The words of a text, each tinted by the domain that it speaks for."""
    source, at, out = explanation.source, 0, list[str]()
    for (start, end), heat in zip(explanation.offsets, disagreement(explanation), strict=True):
        word = source[start:end]
        title = html.escape(told(word, heat, explanation), quote=True)
        tint = shade(heat, STRONG) if heat is not None else ""
        out += [html.escape(source[at:start]), f'<span class="word {tint}" title="{title}">{html.escape(word)}</span>']
        at = end
    return f'<p class="prose">{"".join(out)}{html.escape(source[at:])}</p>{_legend(explanation)}'


def _legend(explanation: "Explanation") -> str:
    if explanation.from_ is None:
        return ""
    names = html.escape(explanation.from_), html.escape(explanation.to)
    return f'<p class="legend"><span>{names[0]}</span><i></i><span>{names[1]}</span></p>'


def grid_html(explanation: "Explanation") -> str:
    """Score by the first word of a span (columns) and the number of words it deletes (rows)."""
    spans, words = explanation.spans, explanation.words
    if not spans or len(words) > WIDEST:
        return ""
    strongest = max(0.01, *(abs(row.score) for row in spans))
    known = {(row.words, row.i): row for row in spans}
    lines = []
    for count in range(max(row.words for row in spans) + 1):
        cells = [_cell(known.get((count, i)), strongest, explanation) for i in range(len(words) + 1)]
        lines.append(f"<tr><th>{count or 'insert'}</th>{''.join(cells)}</tr>")
    names = "".join(f"<th>{html.escape(word)}</th>" for word in [*words, "(end)"])
    foot = f'<tfoot><tr><td class="none"></td>{names}</tr></tfoot>'
    return f'<table class="grid"><tbody>{"".join(lines)}</tbody>{foot}</table>'


def _cell(row: "SpanRow | None", strongest: float, explanation: "Explanation") -> str:
    if row is None:
        return '<td class="none"></td>'
    tint = shade(row.score, strongest) + (" chosen" if row is explanation.chosen else "")
    new = (
        html.escape(f"{explanation.source[row.start : row.end].strip()} → {row.new.strip()}", quote=True)
        if row.new
        else ""
    )
    return f'<td class="{tint}" title="{new}">{f"{row.score:.2f}" if abs(row.score) >= 0.1 * strongest else ""}</td>'
