"""What an editor tells of its work on a text: what it considered, and why it made of it what it made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masker.core.edits import Edit


@dataclass(frozen=True)
class TagRow:
    """What a student says of a word: what becomes of it, what is added before it, and how likely it finds that.

    `source[start:end]` is the word; after the last one stands the end of the text, where something may be added.
    """

    start: int
    end: int
    word: str
    tag: str
    added: str
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "start": self.start, "end": self.end, "word": self.word, "tag": self.tag, "added": self.added,
            "probability": round(self.probability, 6),
        }  # fmt: skip


@dataclass(frozen=True)
class TagRound:
    """The tags of a text, which in a second round is what the first one has made."""

    text: str
    tags: tuple[TagRow, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "tags": [row.to_dict() for row in self.tags]}


@dataclass(frozen=True)
class Check:
    """Something that was asked of a student's rewrite: `value` had to be at least `bar`, or for `at_most` at most."""

    name: str
    value: float
    bar: float
    passed: bool
    at_most: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "value": round(self.value, 6), "bar": round(self.bar, 6), "passed": self.passed}


@dataclass(frozen=True)
class DraftRow:
    """A draft that was considered, and each term of its rank: `total` is their sum, `score` the gain over leaving the
    text alone, which is the draft without edits. A critic chooses among drafts, but adds nothing to the score.
    """

    text: str
    edits: tuple[Edit, ...]
    terms: Mapping[str, float]
    total: float
    score: float
    chosen: bool = False

    def to_dict(self) -> dict[str, Any]:
        edits = [{"start": e.start, "end": e.end, "old": e.old, "new": e.new} for e in self.edits]
        terms = {name: round(value, 6) for name, value in self.terms.items()}
        numbers = {"terms": terms, "total": round(self.total, 6), "score": round(self.score, 6)}
        return {"text": self.text, "edits": edits, **numbers, "chosen": self.chosen}


@dataclass(frozen=True)
class SegmentAccount:
    """What became of a stretch of a text, `source[start:end]`: whose edits were taken, and why.

    `method` is None where it was left alone. `probabilities` are what the classifiers say of it as it is; `checks` what
    was asked of the student's rewrite; `drafts` what the search editor considered, the best first, with `as_it_is` to
    compare with.
    """

    start: int
    end: int
    text: str
    method: str | None
    reason: str
    probabilities: Mapping[str, float]
    student: str | None = None
    checks: tuple[Check, ...] = ()
    as_it_is: DraftRow | None = None
    drafts: tuple[DraftRow, ...] = ()

    @property
    def terms(self) -> list[str]:
        """The names of the terms that ranks have; not every draft has all."""
        rows = (*self.drafts, self.as_it_is) if self.as_it_is else self.drafts
        return list(dict.fromkeys(name for row in rows for name in row.terms))

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "start": self.start, "end": self.end, "text": self.text, "method": self.method, "reason": self.reason,
            "probabilities": {name: round(value, 6) for name, value in self.probabilities.items()},
        }  # fmt: skip
        if self.student is not None or self.checks:
            record |= {"student": self.student, "checks": [check.to_dict() for check in self.checks]}
        if self.as_it_is is not None:
            record |= {"as_it_is": self.as_it_is.to_dict(), "drafts": [draft.to_dict() for draft in self.drafts]}
        return record


@dataclass(frozen=True)
class Account:
    """What a method tells: the tags of a student, and what became of the stretches that a text was searched in."""

    rounds: tuple[TagRound, ...] = ()
    segments: tuple[SegmentAccount, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = {}
        if self.rounds:
            record["rounds"] = [one.to_dict() for one in self.rounds]
        if self.segments:
            record["segments"] = [one.to_dict() for one in self.segments]
        return record
