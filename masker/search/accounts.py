"""What the search editor, and the one that tries a student first, tell of their work on a text."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from masker.core.account import Account, Check, DraftRow, SegmentAccount
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.search.auto import AutoEditor, Tried, inside
from masker.search.editor import SearchEditor
from masker.search.phrases import PHRASES
from masker.search.ranking import terms
from masker.search.segments import Draft, Segment


def search_account(editor: SearchEditor, source: str) -> tuple[Rewrite, Account]:
    """The rewrite of a text, and the drafts that it is the best of."""
    segments = editor.draft(editor.read([source]))
    (rewrite,) = editor.conclude([source], segments)
    return rewrite, Account(segments=tuple(_searched(editor, segment) for segment in segments))


def auto_account(editor: AutoEditor, source: str) -> tuple[Rewrite, Account]:
    """The rewrite of a text, and sentence by sentence why the student's was accepted, or what was found instead."""
    quick = editor.fast.begin([source])()
    (rewrite,), segments, tried = editor.finished(quick)
    refused = {id(one.segment): one for one in tried[::-1] if not one.trusted}
    found = refused | {id(one.segment): one for one in tried if one.is_accepted()}
    told = []
    for segment in segments:
        one = found.get(id(segment))
        edits = one.edits if one else inside(segment, quick[0])
        text = _written(segment, edits)[0]
        if one is not None and one.is_accepted():
            told.append(_accepted(editor, segment, text, one))
        else:
            told.append(_refused(editor, segment, text, edits, one))
    return rewrite, Account(segments=tuple(told))


def _accepted(editor: AutoEditor, segment: Segment, text: str, tried: Tried) -> SegmentAccount:
    start, end = segment.place
    whose = {PHRASES: "the phrase book's", "writer": "a writer's"}.get(tried.by, "the student's")
    return SegmentAccount(
        start, end, _text(segment), tried.by, f"{whose} rewrite passes all checks",
        _probabilities(segment.log_p), text, tuple(tried.checks),
    )  # fmt: skip


def _refused(
    editor: AutoEditor, segment: Segment, text: str, edits: Sequence[Edit], tried: Tried | None
) -> SegmentAccount:
    """What the search editor has made of a segment, and what was wrong with the student's rewrite."""
    most = editor.search.settings.max_edits
    checks = tuple(tried.checks) if tried else ()
    if segment.wanted and len(edits) > most:
        checks = (Check("edits", len(edits), most, False, at_most=True),)
    why = ""
    if segment.wanted:
        why = "the student would keep it as it is; " if not edits else "the student's rewrite does not pass; "
    return _searched(editor.search, segment, why, text if edits and segment.wanted else None, checks)


def _searched(
    editor: SearchEditor, segment: Segment, why: str = "", student: str | None = None, checks: tuple[Check, ...] = ()
) -> SegmentAccount:
    settings, (start, end) = editor.settings, segment.place
    before = terms(settings, segment.log_p, 0.0, 1.0) | _others(editor, None, segment.reading)
    as_it_is = DraftRow(_text(segment), (), before, sum(before.values()), 0.0)
    known, best = editor.allowed(segment), editor.chosen(segment)
    by_text: dict[str, DraftRow] = {}
    for draft in known:  # there may be two ways to the same text: the better one counts
        row = _row(editor, segment, draft, as_it_is, best)
        by_text.setdefault(row.text, row)
    rows = list(by_text.values())
    made = any(row.chosen for row in rows)
    reason = why + _reason(editor, segment, best, made, len(rows))
    chances, method = _probabilities(segment.log_p), editor.name if made else None
    return SegmentAccount(start, end, _text(segment), method, reason, chances, student, checks, as_it_is, tuple(rows))


def _row(editor: SearchEditor, segment: Segment, draft: Draft, as_it_is: DraftRow, best: Draft | None) -> DraftRow:
    values = draft.likelihood, draft.similarity, draft.coherence, draft.residue
    found = terms(editor.settings, draft.log_p, *values) | _others(editor, draft.acceptance, draft.reading)
    score = draft.total - as_it_is.total
    at, source = segment.offset, segment.text.source
    edits = [Edit(r.start + at, r.end + at, source[r.start : r.end], r.new, score) for r in draft.replacements]
    text, sorted_edits = _written(segment, edits)
    chosen = draft is best and score > editor.settings.min_score
    return DraftRow(text, sorted_edits, found, draft.total + (draft.acceptance or 0.0), score, chosen)


def _reason(editor: SearchEditor, segment: Segment, best: Draft | None, made: bool, count: int) -> str:
    to, worst = editor.task.to, float(segment.log_p.min())
    if made:
        return f"the best of {count} draft{'' if count == 1 else 's'} that were looked at closely"
    if worst >= editor.settings.enough:
        return f"it reads as {to} already ({math.exp(worst):.2f})"
    if not segment.wanted:
        return f"it does not speak for {editor.task.from_}, and another part of the text can be turned"
    if count and best is None:
        return f"a few edits cannot make it read as {to}"
    return f"no edit scores above {editor.settings.min_score:g}"


def _others(editor: SearchEditor, acceptance: float | None, reading: float) -> dict[str, float]:
    """What a critic and a reader add, if there are such; a critic reads only the best."""
    found = {} if acceptance is None else {"critic": acceptance}
    return found | ({"reader": reading} if editor.reader else {})


def _probabilities(log_p: np.ndarray) -> Mapping[str, float]:
    encoder, bag_of_words = np.exp(log_p).tolist()
    return {"encoder": encoder, "bag_of_words": bag_of_words}


def _text(segment: Segment) -> str:
    return _written(segment, [])[0]


def _written(segment: Segment, edits: Sequence[Edit]) -> tuple[str, tuple[Edit, ...]]:
    """The words of a segment with edits of the text made in them; and the edits in order."""
    made = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    start, end = segment.place
    start, end = min([start, *(e.start for e in made)]), max([end, *(e.end for e in made)])
    source, at = segment.text.source, segment.offset
    there = [Edit(e.start - start, e.end - start, e.old, e.new, e.score) for e in made]
    return apply_edits(source[start - at : end - at], there), made
