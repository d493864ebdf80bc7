"""Silver data: aligned pairs that Masker writes out of unaligned text, for students to learn from.

A run can be killed at any moment. After every group of lines OUT.json says how many of them are done; what was written
after that is cut off when the run is resumed.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.core.editor import edit_stream
from masker.core.edits import Rewrite
from masker.core.guarded import Guarded, refusal
from masker.data.formats.text import Lines, tsv_line
from masker.data.resumable import ResumableFile
from masker.data.words import whitespace_words
from masker.errors import MaskerError, check_number, unknown

if TYPE_CHECKING:
    from masker.api import Masker
    from masker.evaluation.judges.base import Judge
    from masker.students.base import Student

SIDES = ("input", "target", "both")
COLUMNS = ("source", "target", "score", "similarity", "line", "edits", "to")
REASONS = {  # why a line gave no pair, in the order of the tests
    "blank": "no words",
    "too_long": "more words than `max_words`",
    "failed": "could not be edited",
    "unchanged": "Masker changed nothing",
    "score": "Score not above `min_score`",
    "similarity": "below `min_similarity`",
    "style": "not judged to be of the target domain",
}
GROUP = 256  # lines between two saved states, on a CPU


@dataclass(frozen=True)
class SilverSettings:
    """Between which domains, which side the rewritten text is put on, which pairs are kept.

    With `synthetic` "both" a rewrite gives two pairs: the rewrite as the target, and as the input of the way back.
    `options` are those of Masker.edit_stream. Whatever tells one run from another (the model's name, say) may stand in
    `made_by`: a run is only resumed with the same settings.
    """

    to: str
    from_: str | None = None
    synthetic: str = "input"
    min_score: float | None = None
    min_similarity: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)
    made_by: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.synthetic not in SIDES:
            raise unknown("side", self.synthetic, list(SIDES))
        if self.min_score is not None:
            check_number(min_score=self.min_score)
        if not 0 <= self.min_similarity <= 1:
            raise MaskerError(f"`min_similarity` is {self.min_similarity}; it must be between 0 and 1")


@dataclass(frozen=True)
class SilverReport:
    """How many lines were read, how many pairs kept, and why the other lines gave none; `now`: lines of this run."""

    lines: int
    kept: int
    dropped: dict[str, int]
    now: int = field(default=0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {"lines": self.lines, "kept": self.kept, "dropped": self.dropped}


class Taught:
    """A student in the place of Masker: what it writes is what the next student learns from."""

    def __init__(self, student: "Student", max_words: int) -> None:
        self.student, self.max_words = student, max_words

    def edit_stream(
        self, texts: Iterable[str], to: str, from_: str | None = None, *, keep_going: bool = True,
        min_score: float = 0.0, confidence: bool = False, **options: Any,
    ) -> Iterator[Rewrite]:  # fmt: skip
        """Rewrite texts as they come. Without `from_` they are taken to be of the other domain that it can write."""
        from masker.students.base import StudentEditor

        if options:
            raise MaskerError(f"a student has no `{next(iter(options))}`; it writes what it was taught")
        others = [name for name in getattr(self.student, "targets", ()) if name != to]
        editor = StudentEditor(self.student, to, from_ or (others[0] if len(others) == 1 else None))
        return edit_stream(Guarded(editor, to, editor.from_, lambda text: refusal(text, self.max_words)), texts)


def write_silver(
    masker: "Masker | Taught",
    corpus: str | Path,
    out: str | Path,
    settings: SilverSettings,
    *,
    judge: "Judge | None" = None,
    resume: bool = False,
    encoding: str = "utf-8",
    group: int = GROUP,
    on_progress: Callable[[SilverReport], None] | None = None,
) -> SilverReport:
    """Rewrite the lines of `corpus` (gz and xz too, - is standard input) into aligned pairs, a TSV with COLUMNS.

    `edits` is JSON: what turns the line into its rewrite, whichever side that is on. With `judge`, a rewrite must be
    judged to be of the domain `to`. `resume` goes on where a killed run stopped; what is done is not done again.
    """
    if judge is not None and settings.to not in judge.domains:
        raise unknown("domain of the judge", settings.to, list(judge.domains))
    corpus = Path(corpus).expanduser()
    known = {**asdict(settings), "judge": judge is not None}
    with ResumableFile(out, known, resume=resume, line_per_record=False, keep_card=True) as part:
        records = iter(()) if part.complete else part.rest(Lines().read(corpus, None, encoding), str(corpus))
        if not part.state.bytes:
            part.write(tsv_line(COLUMNS), tally={"kept": 0, "dropped": dict.fromkeys(REASONS, 0)})
        before, report = part.lines, SilverReport(part.lines, **part.state.tally)
        while taken := list(itertools.islice(records, group)):
            rows, dropped = _pairs(masker, judge, settings, part.lines + 1, [record.text for record in taken])
            counts = {why: count + dropped[why] for why, count in report.dropped.items()}
            part.write("".join(rows), taken, tally={"kept": report.kept + len(rows), "dropped": counts})
            report = SilverReport(part.lines, **part.state.tally, now=part.lines - before)
            if on_progress:
                on_progress(report)
        return report


def group_size(masker: "Masker | Taught") -> int:
    """Lines between two saved states: enough of them to keep a GPU busy."""
    return max(GROUP, masker.student.chunk if isinstance(masker, Taught) else 2 * masker._runtime.chunk)


def similarity(a: str, b: str) -> float:
    """F1 of the words that two texts share, whatever their order and case; from 0 to 1. A word ends at white space."""
    one, other = (Counter(whitespace_words(text.lower())) for text in (a, b))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def why_no_pair(rewrite: Rewrite, settings: SilverSettings) -> str | None:
    """Which of REASONS speaks against a rewrite, as far as it can be told without a judge."""
    if not rewrite.source.strip():
        return "blank"
    if rewrite.error:
        return "failed"
    if rewrite.text == rewrite.source:
        return "unchanged"
    if settings.min_score is not None and not rewrite.score > settings.min_score:
        return "score"
    return "similarity" if similarity(rewrite.source, rewrite.text) < settings.min_similarity else None


def as_rows(number: int, rewrite: Rewrite, synthetic: str) -> str:
    """A pair, or two, as lines with COLUMNS."""
    edits = json.dumps(rewrite.to_dict()["edits"], ensure_ascii=False)
    figures = (f"{rewrite.score:.6g}", f"{similarity(rewrite.source, rewrite.text):.4f}", str(number), edits)
    sides = {
        "target": (rewrite.source, rewrite.text, *figures, rewrite.to),
        "input": (rewrite.text, rewrite.source, *figures, rewrite.from_ or ""),
    }
    return "".join(tsv_line(row) for side, row in sides.items() if synthetic in (side, "both"))


def _pairs(
    masker: "Masker | Taught", judge: "Judge | None", settings: SilverSettings, first: int, texts: Sequence[str]
) -> tuple[list[str], Counter[str]]:
    """The rows that some lines give, and why the others give none. `first` is the number of the first line."""
    dropped: Counter[str] = Counter()
    numbered = []
    for number, text in enumerate(texts, first):
        text = text.replace("\t", " ")
        if not text.strip():
            dropped["blank"] += 1
        elif len(whitespace_words(text)) > masker.max_words:
            dropped["too_long"] += 1
        else:
            numbered.append((number, text))
    options = {"confidence": False, **settings.options, "keep_going": True}
    if "method" not in options:
        options["min_score"] = 0.0  # no option of a student: students learn from teachers
    if settings.min_score is not None and settings.min_score < 0:  # edits that would not be made otherwise
        options["min_score"] = settings.min_score
    rewrites = masker.edit_stream([text for _, text in numbered], settings.to, settings.from_, **options)
    found = []
    for (number, _), rewrite in zip(numbered, rewrites, strict=True):
        if why := why_no_pair(rewrite, settings):
            dropped[why] += 1
        else:
            found.append((number, rewrite))
    if judge is not None and found:
        verdicts = judge.predict([rewrite.text for _, rewrite in found])
        dropped["style"] += sum(verdict != settings.to for verdict in verdicts)
        found = [pair for pair, verdict in zip(found, verdicts, strict=True) if verdict == settings.to]
    return [as_rows(number, rewrite, settings.synthetic) for number, rewrite in found], dropped
