"""Silver data: aligned pairs that Masker writes out of unaligned text, for students to learn from.

A run can be killed at any moment. Pairs go to OUT.part; after every group of lines OUT.json says how many lines are
done and how long the file then was. What was written after that is cut off when the run is resumed.
"""

import fcntl
import itertools
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from masker.core.editing import Rewrite
from masker.data.formats.decoding import numbered_lines
from masker.data.formats.text import tsv_line
from masker.errors import MaskerError, unknown

if TYPE_CHECKING:
    from masker.api import Masker
    from masker.evaluation.judges.base import Judge

SIDES = ("input", "target")
COLUMNS = ("source", "target", "score", "similarity", "line", "edits")
REASONS = {  # why a line gave no pair, in the order of the tests
    "blank": "no words",
    "too_long": "more words than --max-words",
    "unchanged": "Masker changed nothing",
    "score": "Score not above --min-score",
    "similarity": "below --min-similarity",
    "style": "not judged to be of the target domain",
}
GROUP = 256  # lines between two saved states, on a CPU


@dataclass(frozen=True)
class SilverSettings:
    """Between which domains, which side the rewritten text is put on, which pairs are kept.

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
        if not 0 <= self.min_similarity <= 1:
            raise MaskerError(f"min_similarity is {self.min_similarity}; it must be between 0 and 1")


@dataclass(frozen=True)
class SilverReport:
    """How many lines were read, how many pairs kept, and why the other lines gave none."""

    lines: int
    kept: int
    dropped: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _State:
    """What OUT.json says; `check` is the checksum of the lines that are done."""

    settings: dict[str, Any]
    lines: int = 0
    check: int = 0
    bytes: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    complete: bool = False

    @property
    def report(self) -> SilverReport:
        return SilverReport(self.lines, self.kept, self.dropped)


def write_silver(
    masker: "Masker",
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
    corpus, out = Path(corpus).expanduser(), Path(out).expanduser().resolve()  # what a link points to is replaced
    if out.exists() and not out.is_file():
        raise MaskerError(f"{out} is no plain file, so that a run could not be resumed; give a file name")
    part, card = out.with_name(out.name + ".part"), out.with_name(out.name + ".json")
    state: _State | None = None
    known = json.loads(json.dumps({**asdict(settings), "judge": judge is not None}))
    try:
        state = _begun(card, known, resume=resume)
        if state and state.complete and not part.exists():
            if not _there(out, state.bytes):
                raise MaskerError(f"{out} is gone or cut short; remove {card} to start anew")
            return state.report
        if state is None:
            card.unlink(missing_ok=True)  # first, so that a state never speaks of the pairs of another run
        with open(part, "a+b") as file:
            _lock(file, part)
            if state is None:
                file.truncate(0)
                file.write(tsv_line(COLUMNS).encode())
                file.flush()
                state = _save(_State(known, bytes=file.tell()), card)
            elif not _there(part, state.bytes):
                raise MaskerError(f"{part} is gone or cut short; remove {card} to start anew")
            file.truncate(state.bytes)
            lines = _rest(corpus, encoding, state, card)
            while numbered := list(itertools.islice(lines, group)) if not state.complete else []:
                state = _save(_step(masker, judge, settings, state, numbered, file), card)
                if on_progress:
                    on_progress(state.report)
            state = _save(replace(state, complete=True), card)
            os.replace(part, out)
        return state.report
    except OSError as error:
        raise MaskerError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        if state is not None and state.lines == 0 and not state.complete:  # nothing is lost with them
            card.unlink(missing_ok=True)
            part.unlink(missing_ok=True)


def group_size(masker: "Masker") -> int:
    """Lines between two saved states: enough of them to keep a GPU busy."""
    return max(GROUP, 2 * masker._runtime.chunk)


def similarity(a: str, b: str) -> float:
    """F1 of the words that two texts share, whatever their order and case; from 0 to 1."""
    one, other = Counter(a.lower().split()), Counter(b.lower().split())
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _step(
    masker: "Masker",
    judge: "Judge | None",
    settings: SilverSettings,
    state: _State,
    numbered: Sequence[tuple[int, str]],
    file: BinaryIO,
) -> _State:
    """Rewrite some lines, write the pairs that are kept, and account for all of them."""
    check, dropped, texts = state.check, Counter(state.dropped), []
    for number, line in numbered:
        check = zlib.crc32(line.encode(), check)
        text = line.rstrip("\r\n").replace("\t", " ")
        if not text.strip():
            dropped["blank"] += 1
        elif len(text.split()) > masker.max_words:
            dropped["too_long"] += 1
        else:
            texts.append((number, text))
    options = dict(settings.options)
    if settings.min_score is not None and settings.min_score < 0:  # edits that would not be made otherwise
        options["min_score"] = settings.min_score
    rewrites = masker.edit_stream([text for _, text in texts], settings.to, settings.from_, **options)
    rows = []
    for (number, text), rewrite in zip(texts, rewrites, strict=True):
        alike = similarity(text, rewrite.text)
        if rewrite.text == text:
            dropped["unchanged"] += 1
        elif settings.min_score is not None and not rewrite.score > settings.min_score:
            dropped["score"] += 1
        elif alike < settings.min_similarity:
            dropped["similarity"] += 1
        else:
            rows.append((number, rewrite, alike))
    if judge is not None and rows:
        verdicts = judge.predict([rewrite.text for _, rewrite, _ in rows])
        flipped = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict == settings.to]
        dropped["style"] += len(rows) - len(flipped)
        rows = flipped
    file.write("".join(as_row(*row, settings.synthetic) for row in rows).encode())
    file.flush()
    os.fsync(file.fileno())
    return replace(
        state, lines=numbered[-1][0], check=check, bytes=file.tell(), kept=state.kept + len(rows), dropped=dict(dropped)
    )


def as_row(number: int, rewrite: Rewrite, alike: float, synthetic: str) -> str:
    sides = [rewrite.text, rewrite.source]
    edits = json.dumps(rewrite.to_dict()["edits"], ensure_ascii=False)
    figures = (f"{rewrite.score:.6g}", f"{alike:.4f}", str(number))
    return tsv_line([*(sides if synthetic == "input" else reversed(sides)), *figures, edits])


def _rest(corpus: Path, encoding: str, state: _State, card: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not done yet; those that are must be what they were."""
    check = 0
    lines = numbered_lines(corpus, encoding)
    for number, line in lines if state.lines else ():
        check = zlib.crc32(line.encode(), check)
        if number == state.lines:
            break
    if check != state.check:
        raise MaskerError(f"the first {state.lines:,} lines of {corpus} are not those that the run was begun with; "
                          f"give the same corpus, or remove {card} to start anew")  # fmt: skip
    yield from lines


def _begun(card: Path, known: dict[str, Any], *, resume: bool) -> _State | None:
    """Where an earlier run stopped; None if there was none, or if it is complete and not to be resumed."""
    if not card.exists():
        return None
    try:
        state = _State(**json.loads(card.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise MaskerError(f"{card} is not the state of a run ({error}); remove it to start anew") from error
    if not resume:
        if state.lines and not state.complete:
            raise MaskerError(f"{card} is of an unfinished run; continue it with --resume, or remove it to start anew")
        return None
    if other := [name for name in known if known[name] != state.settings.get(name)]:
        name = other[0]
        was = f"{name.strip('_')} {json.dumps(state.settings.get(name))}, now {json.dumps(known[name])}"
        raise MaskerError(f"the run was begun with {was}; resume it with the same, or remove {card} to start anew")
    return state


def _lock(file: BinaryIO, part: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise MaskerError(f"another run is writing {part}; wait for it, or choose another --out") from error


def _there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size >= size


def _save(state: _State, card: Path) -> _State:
    """Put the state in its place whole, after the pairs that it speaks of."""
    scratch = card.with_name(card.name + ".new")
    with open(scratch, "w", encoding="utf-8") as file:
        json.dump(asdict(state), file, indent=1, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, card)
    return state
