"""What comes out: edits with their reasons, and the rewrites that they make."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """`source[start:end]`, which is `old`, becomes `new`; and the scores that made it so.

    The two of the paper are those of its infill; a student has none, and its score is how sure it is: a probability.
    """

    start: int
    end: int
    old: str
    new: str
    score: float
    target_score: float | None = None
    source_score: float | None = None

    def apply(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]

    def to_dict(self) -> dict[str, Any]:
        return rounded({name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True)
class Rewrite:
    """A rewritten text: applying `edits` to `source` gives `text`. `reason` says why where nothing was changed.

    `method` is the name of the editor that made it; `error` says why it could make none. `confidence` is how probably a
    reader accepts it, where the model has a critic that can tell.

    `str(rewrite)` is the text; `rewrite.diff()` shows what has changed, and so does a notebook.
    """

    source: str
    text: str
    from_: str | None
    to: str
    edits: tuple[Edit, ...] = ()
    alternatives: tuple["Rewrite", ...] | None = None
    reason: str | None = None
    method: str | None = None
    error: str | None = None
    confidence: float | None = None

    @property
    def score(self) -> float:
        return sum((edit.score for edit in self.edits), 0.0)

    def revised(self, **fields: Any) -> "Rewrite":
        """The same with other fields: as `dataclasses.replace`, in a tenth of its time."""
        other = object.__new__(Rewrite)
        other.__dict__.update(self.__dict__, **fields)
        return other

    def to_dict(self) -> dict[str, Any]:
        """As in JSONL."""
        record: dict[str, Any] = {"source": self.source, "text": self.text, "from": self.from_, "to": self.to}
        record["edits"] = [edit.to_dict() for edit in self.edits]
        if self.alternatives is not None:
            record["alternatives"] = [
                {"text": a.text, "score": round(a.score, 6), "edits": [e.to_dict() for e in a.edits]}
                for a in self.alternatives
            ]
        if self.reason is not None:
            record["reason"] = self.reason
        if self.method is not None:
            record["method"] = self.method
        if self.confidence is not None:
            record["confidence"] = round(self.confidence, 4)
        if self.error is not None:
            record["error"] = self.error
        return record

    def diff(self) -> str:
        """Old and new words side by side: in colours on a terminal, as [-old-] and {+new+} elsewhere."""
        from masker.show.diff import diff_text

        return diff_text(self)

    def __str__(self) -> str:
        return self.text

    def __rich__(self) -> Any:
        from masker.show.diff import diff_rich

        return diff_rich(self)

    def _repr_html_(self) -> str:
        from masker.show.diff import diff_html

        return diff_html(self)


def rounded(record: dict[str, Any]) -> dict[str, Any]:
    """Numbers as they are printed: six digits are more than any of them is good for."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in record.items()}


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """A text with edits made that are in order and apart."""
    parts, at = list[str](), 0
    for edit in edits:
        parts += [source[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, source[at:]])


def disjoint(edits: Sequence[Edit]) -> list[Edit]:
    """Edits in order, without those that touch the one before: a capital may have reached into the next."""
    kept: list[Edit] = []
    for edit in edits:
        if not kept or kept[-1].end < edit.start:
            kept.append(edit)
    return kept


def inserted(edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Where the new words of edits stand in the edited text."""
    ranges, shift = [], 0
    for edit in edits:
        ranges.append((edit.start + shift, edit.start + shift + len(edit.new)))
        shift += len(edit.new) - (edit.end - edit.start)
    return ranges


def compose(before: Rewrite, edit: Edit) -> tuple[Edit, ...]:
    """The edits of a rewrite and one more, made in its text, as edits of the source. Those that touch become one."""
    if not before.edits:
        return (edit,)
    placed = list(zip(before.edits, inserted(before.edits), strict=True))
    touching = [(known, a, b) for known, (a, b) in placed if a <= edit.end and edit.start <= b]
    start = min([edit.start, *(a for _, a, _ in touching)])
    end = max([edit.end, *(b for _, _, b in touching)])
    new = before.text[start : edit.start] + edit.new + before.text[edit.end : end]
    # the text is longer than the source by what the edits before `start`, and then those before `end`, have grown it
    back = sum(len(known.new) - len(known.old) for known, (_, b) in placed if b < start)
    start, end = start - back, end - back - sum(len(known.new) - len(known.old) for known, _, _ in touching)
    merged = [edit, *(known for known, _, _ in touching)]
    sums = (_sum([getattr(e, name) for e in merged]) for name in ("score", "target_score", "source_score"))
    apart = [known for known, (a, b) in placed if b < edit.start or edit.end < a]
    union = Edit(start, end, before.source[start:end], new, *sums)
    return tuple(sorted([*apart, union], key=lambda e: (e.start, e.end)))


def _sum(scores: Sequence[float | None]) -> Any:
    """None if one of them is."""
    return None if None in scores else sum(score for score in scores if score is not None)
