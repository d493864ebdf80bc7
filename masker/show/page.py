"""An explanation as a page, or in a notebook: the rewrite, where the domains disagree, why, and the candidates."""

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from masker.core.edits import Edit, Rewrite
from masker.show.diff import marked, rewrite_html
from masker.show.heat import grid_html, words_html
from masker.show.style import in_notebook, whole_page
from masker.show.words import CHECKS, TERMS, chances, check_value, summary, tried_by

if TYPE_CHECKING:
    from masker.core.account import Account, DraftRow, SegmentAccount, TagRound
    from masker.core.explanation import Explanation, SpanRow

FIRST = 8  # candidates that are shown before the others are asked for


def page(explanation: "Explanation") -> str:
    """A file that needs nothing else."""
    ways = " → ".join(name for name in (explanation.from_, explanation.to) if name)
    head = f"<h1>Mas<b>k</b>er<small>{_e(ways)}, by the method {_e(explanation.method)}</small></h1>"
    return whole_page(f"Masker: {explanation.rewrite.text[:60]}", head + body(explanation))


def fragment(explanation: "Explanation") -> str:
    """The same in a notebook."""
    return in_notebook(body(explanation))


def body(explanation: "Explanation") -> str:
    status = f'<p class="status">{_e(summary(explanation))}</p>'
    parts = [
        _card("Rewrite", rewrite_html(explanation.rewrite) + status),
        *(_account(explanation.account, explanation.to) if explanation.account else ()),
        _card(
            "Where the domains disagree",
            '<p class="help">Each word is tinted by the domain it speaks for, where it stands.</p>'
            + words_html(explanation)
            + _folded(
                "The Score of every span, by its first word and the number of words it deletes", grid_html(explanation)
            ),
        ),
        _card("Candidates of the paper’s method", _candidates(explanation)),
    ]
    return "".join(parts)


# -- what the method tells ---------------------------------------------------------------------------------------------


def _account(account: "Account", to: str) -> Iterator[str]:
    for number, one in enumerate(account.segments, 1):
        title = "Why" if len(account.segments) == 1 else f"Why: part {number} of {len(account.segments)}"
        yield _card(title, _segment(one, to))
    for number, tags in enumerate(account.rounds, 1):
        yield _card("What the student says" + (f", round {number}" if number > 1 else ""), _tags(tags))


def _segment(one: "SegmentAccount", to: str) -> str:
    parts = [
        f'<p class="prose small">{_e(one.text)}</p>',
        f'<p class="status">{_e(one.reason[:1].upper() + one.reason[1:])}. {_e(chances(one, to))}.</p>',
    ]
    if one.student is not None:
        rows = [[CHECKS[c.name], check_value(c), "yes" if c.passed else "no"] for c in one.checks]
        lines = "".join(
            f"<tr><td>{_e(name)}</td><td>{_e(value)}</td><td class={ok}>{ok}</td></tr>" for name, value, ok in rows
        )
        parts.append(f'<h3>{tried_by(one).capitalize()}’s rewrite</h3><p class="prose small">{_e(one.student)}</p>')
        parts.append(f'<div class="scroll"><table class="narrow"><tbody>{lines}</tbody></table></div>')
    if one.as_it_is is not None and one.drafts:
        parts.append("<h3>Drafts, the best first</h3>" + _drafts(one, one.as_it_is))
    return "".join(parts)


def _drafts(one: "SegmentAccount", as_it_is: "DraftRow") -> str:
    names = one.terms
    heads = "".join(f'<th title="{_e(TERMS[name][1])}">{_e(TERMS[name][0])}</th>' for name in names)
    rows = ""
    for row in (*one.drafts, as_it_is):
        kind = "chosen" if row.chosen else "" if row.edits else "idle"
        values = [row.score, *(row.terms.get(name) for name in names), row.total]
        cells = "".join(f"<td>{'' if value is None else f'{value:.2f}'}</td>" for value in values)
        rows += f'<tr class="{kind}"><th>{_draft(one, row)}</th>{cells}</tr>'
    head = f"<thead><tr><th>draft</th><th>score</th>{heads}<th>total</th></tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'


def _draft(one: "SegmentAccount", row: "DraftRow") -> str:
    """What a draft changes."""
    if not row.edits:
        return "as it is"
    start = min(one.start, row.edits[0].start)
    source = one.text if start == one.start else row.edits[0].old[: one.start - start] + one.text
    edits = tuple(Edit(e.start - start, e.end - start, e.old, e.new, e.score) for e in row.edits)
    return marked(Rewrite(source, row.text, None, "", edits))


def _tags(tags: "TagRound") -> str:
    items = "".join(
        f'<li class="{row.tag}">{_added(row.added)}{_word(row.word, row.tag)}'
        f"<small>{_e(row.tag)} {row.probability:.2f}</small></li>"
        for row in tags.tags
    )
    said = "Each word is kept or deleted, and may get words before it; the number is how sure the student is."
    return f'<p class="help">{said}</p><ul class="tags">{items}</ul>'


def _added(words: str) -> str:
    return f"<ins>{_e(words)}</ins> " if words else ""


def _word(word: str, tag: str) -> str:
    return f"<del>{_e(word)}</del>" if tag == "delete" else _e(word or "(end)")


# -- the paper's table -------------------------------------------------------------------------------------------------


def _candidates(explanation: "Explanation") -> str:
    ranked = sorted(explanation.spans, key=lambda row: (not row.candidate, -row.score))
    first = [row for row in ranked if row.candidate and row.score > 0][:FIRST]
    rest = [row for row in ranked if not any(row is shown for shown in first)]
    said = (
        "L1 is the likelihood of the new words in the target domain, L2 that of the words that stand there; L3 and L4 "
        "are the same two in the source domain. Target = L1 − L2, Source = −max(0, L3 − L4), and Score is their sum."
    )
    more = _folded(f"{len(rest)} other spans", _spans(rest, explanation)) if rest else ""
    return f'<p class="help">{said}</p>' + (_spans(first, explanation) if first else "") + more


def _spans(rows: "Sequence[SpanRow]", explanation: "Explanation") -> str:
    names = ("edit", "Score", "Target", "Source", "L1", "L2", "L3", "L4")
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = []
    for row in rows:
        values = (row.score, row.target_score, row.source_score, row.L1, row.L2, row.L3, row.L4)
        cells = "".join(f"<td>{'' if value is None else f'{value:.3f}'}</td>" for value in values)
        kind = "chosen" if row is explanation.chosen else "" if row.candidate else "idle"
        lines.append(f'<tr class="{kind}"><th>{_change(row, explanation)}</th>{cells}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _change(row: "SpanRow", explanation: "Explanation") -> str:
    old = explanation.source[row.start : row.end].strip()
    if not row.candidate or row.new is None:
        return f"{_e(old) or 'nothing'} stays"
    both = f"<del>{_e(old)}</del> " if old else ""
    new = f"<ins>{_e(row.new.strip())}</ins>" if row.new.strip() else ""
    where = ""
    if not row.words:  # an insertion alone does not say where it goes
        where = f" before “{explanation.words[row.i]}”" if row.i < len(explanation.words) else " at the end"
    return f"{both}{new}{f'<small>{_e(where)}</small>' if where else ''}"


def _card(title: str, inside: str) -> str:
    return f'<section class="card"><h2>{_e(title)}</h2>{inside}</section>'


def _folded(title: str, inside: str) -> str:
    return f'<details><summary>{_e(title)}</summary><div class="scroll">{inside}</div></details>' if inside else ""


def _e(text: str) -> str:
    return html.escape(text)
