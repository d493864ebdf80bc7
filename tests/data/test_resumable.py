"""A run that is broken off and continued: the file itself says how far it has come, or its card does.

Real kills are in tests/scale, with the runs that write such files.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from masker.data import resumable
from masker.data.formats import Record
from masker.data.resumable import ResumableFile, RunState
from masker.errors import MaskerError

RECORDS = [Record(f"line {k}") for k in range(10)]
WHOLE = "".join(f"{record.text.upper()}\n" for record in RECORDS)


class Killed(BaseException):
    """The end of a run."""


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "PAUSE", 0.0)


def write(out: Path, *, at_most: int = 99, records: list[Record] = RECORDS, resume: bool = True, **options: Any) -> int:
    """Two records at a time; gives how many. After `at_most` the run is ended."""
    done = 0
    with ResumableFile(out, {"to": "upper"}, resume=resume, **options) as part:
        if part.complete:
            return 0
        rest = list(part.rest(records, "in.txt"))
        for k in range(0, len(rest), 2):
            if done >= at_most:
                raise Killed
            block = rest[k : k + 2]
            part.write("".join(f"{record.text.upper()}\n" for record in block), block, tally={"seen": part.lines})
            done += len(block)
    return done


KINDS: list[dict[str, Any]] = [{}, {"line_per_record": False, "keep_card": True}]


@pytest.mark.parametrize("options", KINDS)
def test_a_run_goes_on_where_it_was(tmp_path: Path, options: dict[str, Any]) -> None:
    out = tmp_path / "out"
    for at_most in (0, 4, 2):
        with pytest.raises(Killed):
            write(out, at_most=at_most, **options)
        assert not out.exists()
    assert write(out, **options) == 4
    assert out.read_text() == WHOLE
    assert sorted(os.listdir(tmp_path)) == (["out", "out.json"] if options else ["out"])


def test_nothing_is_left_of_a_run_that_did_nothing(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        write(tmp_path / "out", at_most=0)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("cut", [1, 3, 8, 20, 32])
def test_lost_lines_are_done_again(tmp_path: Path, cut: int) -> None:
    """Where the lines count themselves, whatever the card says."""
    out, part = tmp_path / "out", tmp_path / "out.part"
    with pytest.raises(Killed):
        write(out, at_most=6)
    os.truncate(part, part.stat().st_size - cut)
    assert write(out) == 4 + -(-cut // 7)
    assert out.read_text() == WHOLE


def test_lines_that_the_card_does_not_know_of_are_done(tmp_path: Path) -> None:
    """The card is saved now and then, the lines are written at once."""
    out, card = tmp_path / "out", tmp_path / "out.part.json"
    with pytest.raises(Killed):
        write(out, at_most=2)
    early = card.read_bytes()
    with pytest.raises(Killed):
        write(out, at_most=4)
    card.write_bytes(early)
    assert write(out) == 4
    assert out.read_text() == WHOLE


def test_what_the_card_does_not_know_of_is_cut_off(tmp_path: Path) -> None:
    """Where it alone can tell how far a run has come."""
    out, options = tmp_path / "out", KINDS[1]
    with pytest.raises(Killed):
        write(out, at_most=4, **options)
    with open(tmp_path / "out.part", "a") as file:
        file.write("HALF A PA")
    assert write(out, **options) == 6
    assert out.read_text() == WHOLE
    assert json.loads((tmp_path / "out.json").read_text())["seen"] == 8
    os.truncate(out, 3)
    with pytest.raises(MaskerError, match="gone or cut short"):
        write(out, **options)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("moved", [False, True])
def test_killed_between_the_last_steps(tmp_path: Path, options: dict[str, Any], moved: bool) -> None:
    out, card = tmp_path / "out", tmp_path / ("out.json" if options else "out.part.json")
    with pytest.raises(Killed):
        write(out, at_most=8, **options)
    state = json.loads(card.read_text())
    write(out, **options)
    os.replace(out, out if moved else tmp_path / "out.part")
    check = json.loads(card.read_text())["check"] if options else 0
    card.write_text(json.dumps({**state, "lines": 10, "check": check, "bytes": len(WHOLE), "complete": True}))
    if not moved:
        with pytest.raises(MaskerError, match="unfinished run"):
            write(out, resume=False, **options)
    assert write(out, **options) == 0
    assert out.read_text() == WHOLE
    assert sorted(os.listdir(tmp_path)) == (["out", "out.json"] if options else ["out"])


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("lost", [0, 9])
def test_what_is_done_must_be_what_it_was(tmp_path: Path, options: dict[str, Any], lost: int) -> None:
    """The rest may differ. Lines that were lost are compared too, though they are done again."""
    out, part = tmp_path / "out", tmp_path / "out.part"
    with pytest.raises(Killed):
        write(out, at_most=6, **options)
    if not options:
        os.truncate(part, part.stat().st_size - lost)
    before = part.read_bytes()
    others = [
        [Record("another"), *RECORDS[1:]],
        [*RECORDS[:5], Record("another"), *RECORDS[6:]],
        [Record(RECORDS[0].text, "\r\n"), *RECORDS[1:]],
        [Record("one more"), *RECORDS],
        RECORDS[:5],
        [],
    ]
    for other in others:
        with pytest.raises(
            MaskerError, match=r"the first 6 lines of in\.txt are not those that the run was begun with"
        ):
            write(out, records=other, **options)
        assert part.read_bytes().startswith(before[: len(before) // 7 * 7])
    write(out, records=[*RECORDS[:6], Record("other")], **options)
    assert out.read_text() == WHOLE[:42] + "OTHER\n"


def test_an_input_that_is_shorter_than_what_is_done(tmp_path: Path) -> None:
    """Also where the card does not know of the last lines."""
    out, card = tmp_path / "out", tmp_path / "out.part.json"
    with pytest.raises(Killed):
        write(out, at_most=2)
    early = card.read_bytes()
    with pytest.raises(Killed):
        write(out, at_most=4)
    card.write_bytes(early)
    with pytest.raises(MaskerError, match="the first 6 lines"):
        write(out, records=RECORDS[:4])


@pytest.mark.parametrize("options", KINDS)
def test_without_resume(tmp_path: Path, options: dict[str, Any]) -> None:
    out = tmp_path / "out"
    with pytest.raises(Killed):
        write(out, at_most=4, resume=False, **options)
    with pytest.raises(
        MaskerError, match=r"out\S*\.json is of an unfinished run; continue it with `resume`, or remove"
    ):
        write(out, resume=False, **options)
    assert write(out, **options) == 6
    assert write(out, resume=False, **options) == 10


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("resume", [False, True])
def test_a_file_that_is_no_runs_is_left_alone(tmp_path: Path, options: dict[str, Any], resume: bool) -> None:
    for notes in ("no end of line", "some\nlines\n"):
        (tmp_path / "out.part").write_text(notes)
        with pytest.raises(MaskerError, match=r"out\.part would be overwritten, but out\S*\.json is missing"):
            write(tmp_path / "out", resume=resume, **options)
        assert (tmp_path / "out.part").read_text() == notes
        assert os.listdir(tmp_path) == ["out.part"]


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MaskerError, match=r"cannot write .*out: No space left on device"):
        write(tmp_path / "out")


def test_what_a_run_has_counted_may_be_more_than_other_numbers() -> None:
    state = RunState({}, lines=2**32, check=2**32 - 1, bytes=2**40)
    assert json.loads(state.to_json())["bytes"] == 2**40
