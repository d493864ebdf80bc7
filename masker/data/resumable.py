"""A file that is written over hours by a run that may be killed at any moment, and then be continued.

What is written is OUT.part. Beside it a card, in JSON, says how the run was begun, how many records of the input are
done, what their checksum is and how long the file then was. When all has gone well OUT.part takes the place of OUT.
"""

import itertools
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from masker.data.checked import checked, read_object
from masker.data.formats import Record
from masker.data.output import is_special, locked, put, target, writing
from masker.errors import MaskerError, check_whole

STATE = ("settings", "lines", "check", "bytes", "complete")  # what every card says
PAUSE = 1.0  # seconds between two states of a run that its file tells about as well


@dataclass(frozen=True)
class RunState:
    """How far a run has come. `tally` is whatever else the run counts."""

    settings: dict[str, Any]
    lines: int = 0
    check: int = 0
    bytes: int = 0
    tally: dict[str, Any] = field(default_factory=dict)
    complete: bool = False

    def to_json(self) -> str:
        fields = {"settings": self.settings, "lines": self.lines, "check": self.check, "bytes": self.bytes}
        return json.dumps({**fields, **self.tally, "complete": self.complete}, indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, path: Path) -> "RunState":
        fields = read_object(path)
        ours: dict[str, Any] = {name: fields.pop(name) for name in STATE if name in fields}
        if wrong := next((name for name in STATE if name not in ours), None):
            raise MaskerError(f"{path} has no '{wrong}'")
        return checked(cls, {**ours, "tally": fields}, path)

    def __post_init__(self) -> None:
        check_whole(0, most=2**63, lines=self.lines, check=self.check, bytes=self.bytes)


class ResumableFile:
    """OUT.part, open at the end of what is done, if there is anything left to do: a run may be found `complete`.

    `settings` tell one run from another: a run is only resumed with the same.

    With `line_per_record` every record of the input gives one line, so that the whole lines of the file say how far the
    run has come, whatever was lost of it; without, that is what the card says. With `keep_card` the card is OUT.json,
    and stays beside OUT; without, it is OUT.part.json, and goes.
    """

    def __init__(
        self,
        out: str | Path,
        settings: Mapping[str, Any],
        *,
        resume: bool,
        line_per_record: bool = True,
        keep_card: bool = False,
    ) -> None:
        self.out = target(out)
        if is_special(self.out) or str(out) == "-":
            raise MaskerError(f"{out} is no plain file, so that a run could not be continued; give a file name")
        self.path = self.out.with_name(self.out.name + ".part")
        self.card = self.out.with_name(self.out.name + (".json" if keep_card else ".part.json"))
        self.resume, self.line_per_record, self.keep_card = resume, line_per_record, keep_card
        self.state = RunState(json.loads(json.dumps(settings)))
        self.lines = 0  # records of the input that are done
        self.complete = False
        self._file: BinaryIO | None = None
        self._saved, self._behind = 0.0, False  # when the card was, and whether it knows less than there is
        self._stack = ExitStack()
        self._remedy = f"remove {self.card.name} and {self.path.name} to start anew"

    def __enter__(self) -> "ResumableFile":
        with writing(self.out):
            self._stack.enter_context(locked(self.out))
            try:
                self._begin()
            except BaseException:
                self._stack.close()
                raise
        return self

    # -- beginning -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        known = self._known()
        finished = known is not None and known.complete
        size = self.path.stat().st_size if self.path.exists() else None
        if known is None:
            check_ours(self.path, self.card)
        found = _whole_lines(self.path) if self.line_per_record else (known.lines if known else 0, 0)
        if not self.resume:
            if found[0] and not (finished and size is None):
                raise MaskerError(f"{self.card} is of an unfinished run; continue it with `resume`, or {self._remedy}")
            known = None
        elif known is not None:
            self._check_settings(known)
        elif size is None and self.out.exists() and not self.keep_card:
            lines, whole = _whole_lines(self.out)
            self.lines = lines + (whole < self.out.stat().st_size)  # the last may have no end
            self.complete = True
            return
        if known is None:
            self._save()  # first, so that a card never speaks of the file of another run
            self._open(0)
            return
        self.state, self.lines = known, known.lines
        if finished and size is None:
            self._check_size(self.out)
            self.complete = True
        elif self.line_per_record and not (finished and size is not None and size >= known.bytes):
            self.lines = found[0]
            self._open(found[1])
        else:
            self._check_size(self.path)
            self.complete = finished
            self._open(known.bytes)

    def _known(self) -> RunState | None:
        try:
            return RunState.read(self.card) if self.card.exists() else None
        except MaskerError as error:
            raise MaskerError(f"{self.card} is not the state of a run ({error}); {self._remedy}") from error

    def _check_settings(self, known: RunState) -> None:
        for name, now in self.state.settings.items():
            if known.settings.get(name) != now:
                was = f"`{name}` {json.dumps(known.settings.get(name))}, now {json.dumps(now)}"
                raise MaskerError(f"the run was begun with {was}; resume it with the same, or {self._remedy}")

    def _check_size(self, path: Path) -> None:
        if (path.stat().st_size if path.is_file() else 0) < self.state.bytes:
            raise MaskerError(f"{path} is gone or cut short; {self._remedy}")

    def _open(self, length: int) -> None:
        self._file = open(self.path, "ab")  # noqa: SIM115 (it is closed with the stack)
        self._stack.callback(self._file.close)
        self._file.truncate(length)
        self.state = replace(self.state, bytes=length)

    # -- going on ------------------------------------------------------------------------------------------------------

    def rest(self, records: Iterable[Record], source: str) -> Iterator[Record]:
        """The records that are not done yet. Those that are must be what they were; `source` is their name."""
        remaining, known = iter(records), self.state
        check = here = read = 0
        same = known.lines == 0
        again = []  # read to be compared, but not done: the file has lost lines
        for record in itertools.islice(remaining, max(self.lines, known.lines)):
            read += 1
            check = _checksum(record, check)
            if read == known.lines:
                same = check == known.check
            if read == self.lines:
                here = check
            if read > self.lines:
                again.append(record)
        if not (same and read >= self.lines):
            number = max(self.lines, known.lines)
            raise MaskerError(f"the first {number:,} lines of {source} are not those that the run was begun with; "
                              f"give the same input, or {self._remedy}")  # fmt: skip
        self.state = replace(known, lines=self.lines, check=here, complete=False)
        return itertools.chain(again, remaining)

    def write(self, text: str, records: Sequence[Record] = (), tally: Mapping[str, Any] | None = None) -> None:
        """Add what became of some records, which are done with it."""
        assert self._file is not None
        data, check = text.encode(), self.state.check
        for record in records:
            check = _checksum(record, check)
        with writing(self.out):
            self._file.write(data)
            self._file.flush()  # a kill may take any process: what is written is the system's
            self.lines += len(records)
            size = self.state.bytes + len(data)
            tally = self.state.tally if tally is None else dict(tally)
            self.state = replace(self.state, lines=self.lines, check=check, bytes=size, tally=tally)
            if self.line_per_record and time.monotonic() < self._saved + PAUSE:
                self._behind = True
            else:
                self._save()

    def _save(self) -> None:
        """Put the state in its place whole, after the lines that it speaks of."""
        if self._file is not None:
            os.fsync(self._file.fileno())
        scratch = self.card.with_name(f".{self.card.name}.masker.new")
        # a name that is no UTF-8 has half surrogates, which are written as JSON escapes them
        with open(scratch, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(self.state.to_json())
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, self.card)
        self._saved, self._behind = time.monotonic(), False

    # -- ending --------------------------------------------------------------------------------------------------------

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack, writing(self.out):
            if kind is None:
                self._finish()
                return
            if self._behind:
                with suppress(OSError):  # the lines are there without it
                    self._save()
            if self._file is not None:
                self._file.close()
            if self.lines == 0:  # nothing is lost with them
                self.path.unlink(missing_ok=True)
                self.card.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._file is not None:
            self.state = replace(self.state, complete=True)
            self._save()
            self._file.close()  # Windows moves no file that is open
            put(self.path, self.out)
        if not self.keep_card:
            self.card.unlink(missing_ok=True)


def check_ours(path: Path, card: Path) -> None:
    """Refuse to write over a file that is no run's: the card is written first, and goes last."""
    if path.exists() and path.stat().st_size and not card.exists():
        why = f"{card.name} is missing, so it is not known how the run was begun, if it is of one"
        raise MaskerError(f"{path} would be overwritten, but {why}; move it away, or choose another `out`")


def check_finished(out: Path, written: int, records: Iterable[Record], source: str) -> Record | None:
    """A finished run may have left no card: all that tells it from another is that no record is missing in OUT.

    Gives the first record.
    """
    given = iter(records)
    first = next(given, None)
    if (wanted := sum(1 for _ in given) + (first is not None)) != written:
        counts = f"(texts: {written:,} and {wanted:,})"
        raise MaskerError(f"{out} is there already, and not made of {source} {counts}; remove it to start anew")
    return first


def _whole_lines(path: Path) -> tuple[int, int]:
    """How many lines of a file are whole, and where the last of them ends."""
    lines = length = whole = 0
    if path.exists():
        with open(path, "rb") as file:
            while block := file.read(2**20):
                lines += block.count(b"\n")
                whole = length + block.rfind(b"\n") + 1 if b"\n" in block else whole
                length += len(block)
    return lines, whole


def _checksum(record: Record, before: int) -> int:
    return zlib.crc32(record.line.encode(), before)
