import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from masker.api import Masker
from masker.cli import main
from masker.core.edits import Rewrite
from masker.data.formats.text import as_record
from masker.data.output import locked
from masker.errors import MaskerError
from masker.scale import parallel
from masker.scale.job import Job, render


@dataclass(frozen=True)
class Toy(Job):
    """Turns texts round. Some texts ask for more."""

    def load(self, device: str | None = None, *, keep_going: bool = False) -> Any:
        return self

    def edit(self, texts: list[str]) -> list[Rewrite]:
        for k, text in enumerate(texts, 1):
            if text == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if text.startswith("die once") and not Path(text[9:]).exists():
                Path(text[9:]).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if len(text.split()) > self.max_words:
                raise MaskerError(f"text {k} has {len(text.split())} words")
        time.sleep(0.5 if "slow" in texts else float(self.options.get("sleep", 0)))
        return [Rewrite(text, text[::-1], None, self.to) for text in texts]


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are there at once; that they can be spawned, the command line's test shows."""
    monkeypatch.setattr(parallel, "START", "fork")
    monkeypatch.setattr(parallel, "BLOCK", 16)


JOB = Toy("positive")
LINES = [f"line {k} {'é' * (k % 7)}\tx" + ("\r\n" if k % 5 == 0 else "\n") for k in range(100)]


def edit_file(job: Job, lines: Iterable[str], out: Path, **options: Any) -> int:
    return parallel.edit_file(job, map(as_record, lines), out, **options)


def wanted(lines: list[str], format: str = "lines") -> bytes:
    rendered = []
    for line in lines:
        text = line.rstrip("\r\n")
        rendered.append(render(Rewrite(text, text[::-1], None, "positive"), line[len(text) :], format))
    return "".join(rendered).encode()


@pytest.mark.parametrize("format", ["lines", "tsv", "jsonl"])
@pytest.mark.parametrize("workers", [1, 3])
def test_lines_come_out_in_order(tmp_path: Path, format: str, workers: int) -> None:
    out = tmp_path / "out"
    lines = [*LINES, "no newline at the end"]
    edit_file(JOB, lines, out, format=format, workers=workers, device="cpu")
    assert out.read_bytes() == wanted(lines, format)
    assert os.listdir(tmp_path) == ["out"]


def test_nothing_in_nothing_out(tmp_path: Path) -> None:
    edit_file(JOB, [], tmp_path / "out", workers=2, device="cpu")
    assert (tmp_path / "out").read_bytes() == b""


def test_memory_is_flat(tmp_path: Path) -> None:
    """However slow the first block is, the input is read no further ahead than a few blocks a worker."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for k in range(5000):
            taken += 1
            written = (tmp_path / "out.part").stat().st_size
            assert taken - written // 2 <= (parallel.AHEAD * 2 + 2) * 16, "lines held"
            yield f"{k % 10}\n" if k else "slow\n"

    edit_file(JOB, lines(), tmp_path / "out", workers=2, device="cpu")
    assert taken == 5000


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    lines = [*LINES, f"die once {tmp_path / 'died'}\n", *LINES]
    edit_file(JOB, lines, tmp_path / "out", workers=2, device="cpu")
    assert (tmp_path / "died").exists()
    assert (tmp_path / "out").read_bytes() == wanted(lines)


def test_lines_on_which_every_worker_dies(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match=r"3 workers died at lines 97 to 101 .exit code -9.; .* fewer `workers`"):
        edit_file(JOB, [*LINES, "die\n"], tmp_path / "out", workers=2, device="cpu")
    edit_file(JOB, [*LINES, "live\n"], tmp_path / "out", workers=2, device="cpu", resume=True)
    assert (tmp_path / "out").read_bytes() == wanted([*LINES, "live\n"])


def test_an_error_names_the_line_and_keeps_what_is_done(tmp_path: Path) -> None:
    lines = [*LINES, "one two three four five six\n", *LINES]
    with pytest.raises(MaskerError, match=r"^text 101 has 6 words$"):
        edit_file(Toy("positive", max_words=5), lines, tmp_path / "out", workers=1, device="cpu")
    assert (tmp_path / "out.part").read_bytes() == wanted(lines[:96])
    edit_file(JOB, lines, tmp_path / "out", workers=1, device="cpu", resume=True)
    assert (tmp_path / "out").read_bytes() == wanted(lines)


def test_a_failed_start_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="no model folder"):
        edit_file(Job("positive", model="./nowhere"), LINES, tmp_path / "out", workers=2, device="cpu")
    assert not os.listdir(tmp_path)


def test_workers_and_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "gpus", lambda: 0)
    assert parallel._devices(0, None) == (["cpu"] * len(os.sched_getaffinity(0)), 16)
    assert parallel._devices(3, "cpu") == (["cpu"] * 3, 16)
    monkeypatch.setattr(parallel, "gpus", lambda: 2)
    assert parallel._devices(0, None) == (["cuda:0", "cuda:1"], 4096)
    assert parallel._devices(3, "cuda") == (["cuda:0", "cuda:1", "cuda:0"], 4096)
    assert parallel._devices(2, "cuda:1") == (["cuda:1"] * 2, 4096)
    assert parallel._devices(2, "cpu") == (["cpu"] * 2, 16)
    with pytest.raises(MaskerError, match="-1 workers"):
        parallel._devices(-1, None)


# -- resuming ----------------------------------------------------------------------------------------------------------


def hold(out: Path, pipe: Any) -> None:
    with locked(out):
        pipe.send("locked")
        time.sleep(60)


def begun(tmp_path: Path, done: bytes, source: str = "") -> Path:
    """An unfinished run."""
    lines, job = [*LINES[:16], "a b c d e f\n"], Toy("positive", max_words=5)
    with pytest.raises(MaskerError):
        edit_file(job, lines, tmp_path / "out", workers=1, device="cpu", source=source)
    (tmp_path / "out.part").write_bytes(done)
    return tmp_path / "out"


@pytest.mark.parametrize("cut", [0, 1, 7, 150, 400])
def test_half_a_line_is_done_again(tmp_path: Path, cut: int) -> None:
    out = begun(tmp_path, wanted(LINES)[:cut])
    edit_file(JOB, LINES, out, workers=2, device="cpu", resume=True)
    assert out.read_bytes() == wanted(LINES)


def test_a_run_killed_at_its_very_end(tmp_path: Path) -> None:
    """The file is in its place already, the card is not yet gone."""
    out, card = begun(tmp_path, wanted(LINES)), tmp_path / "out.part.json"
    end = {"lines": len(LINES), "bytes": len(wanted(LINES)), "complete": True}
    card.write_text(json.dumps({**json.loads(card.read_text()), **end}))
    os.replace(tmp_path / "out.part", out)
    assert edit_file(JOB, LINES, out, workers=1, device="cpu", resume=True) == 0
    assert out.read_bytes() == wanted(LINES)
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_refused(tmp_path: Path) -> None:
    def refused(why: str, job: Job = JOB, **options: Any) -> None:
        with pytest.raises(MaskerError, match=why):
            edit_file(job, LINES, out, workers=1, device="cpu", **options)

    out = begun(tmp_path, wanted(LINES[:3]))
    refused("unfinished run; continue it with `resume`")
    refused('begun with `to` "positive", now "negative"', Toy("negative"), resume=True)
    refused('begun with `format` "lines", now "tsv"', format="tsv", resume=True)
    refused('begun with `source` "", now "other.txt"', source="other.txt", resume=True)
    refused('begun with `column` null, now "review"', column="review", resume=True)
    refused('begun with `encoding` "utf-8", now "latin-1"', encoding="latin-1", resume=True)
    refused('begun with `options` {}, now {"max_edits": 2}', Toy("positive", options={"max_edits": 2}), resume=True)
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("fork").Process(target=hold, args=(out, theirs))
    other.start()
    ours.recv()
    refused("another run is writing", resume=True)
    other.kill()
    other.join()
    assert (tmp_path / "out.part").read_bytes() == wanted(LINES[:3])
    (tmp_path / "out.part.json").write_text("{")
    refused("is not the state of a run", resume=True)
    (tmp_path / "out.part.json").unlink()
    refused("it is not known how the run was begun", resume=True)
    (tmp_path / "out.part").unlink()
    out.write_text("done\n")
    refused(r"is there already, and not made of the input \(texts: 1 and 100\)", resume=True)
    assert out.read_text() == "done\n"
    out = tmp_path / "no" / "out"
    refused("there is no folder")
    out = tmp_path
    refused("is a folder")
    out = tmp_path / "pipe"
    os.mkfifo(out)  # not the real /dev/null, which root could replace
    refused("no plain file")


def test_another_input_under_the_same_name(tmp_path: Path) -> None:
    """What is done must be what it was; what comes after may have been mended."""
    out = begun(tmp_path, wanted(LINES[:16]), "in.txt")
    for other in ([*LINES[:3], "changed\n", *LINES[4:]], ["one more\n", *LINES], LINES[:10], []):
        with pytest.raises(
            MaskerError, match=r"the first 16 lines of in\.txt are not those that the run was begun with"
        ):
            edit_file(JOB, other, out, workers=1, device="cpu", resume=True, source="in.txt")
    longer = [*LINES[:16], "mended\n", *LINES]
    edit_file(JOB, longer, out, workers=1, device="cpu", resume=True, source="in.txt")
    assert out.read_bytes() == wanted(longer)


SLOW = Toy("positive", options={"sleep": 0.004})
MANY = [f"line {k}\n" for k in range(12_000)]


def run_in_a_process(out: Path, format: str) -> None:
    parallel.START, parallel.BLOCK = "fork", 16
    edit_file(SLOW, MANY, out, format=format, workers=2, device="cpu", resume=True)


def workers_of(pid: int | None) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(worker) for worker in children.read_text().split()] if children.exists() else []


def lives(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    process = context.Process(target=run_in_a_process, args=(tmp_path / "out", "lines"))
    process.start()
    until = time.monotonic() + 60
    while time.monotonic() < until and len(workers_of(process.pid)) < 2:
        time.sleep(0.01)
    workers = workers_of(process.pid)
    process.kill()
    process.join()
    while time.monotonic() < until and any(map(lives, workers)):
        time.sleep(0.01)
    assert len(workers) == 2
    assert not any(map(lives, workers))


@pytest.mark.parametrize("format", ["lines", "tsv", "jsonl"])
@pytest.mark.slow
def test_killed_at_random_moments_no_line_is_lost_repeated_or_moved(tmp_path: Path, format: str) -> None:
    """SIGKILL to the run or to one of its workers, and bytes cut off the end, again and again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["masker.scale.parallel", "torch"])
    rng, kills, out, part = random.Random(format), 0, tmp_path / "out", tmp_path / "out.part"
    for _ in range(60):
        process = context.Process(target=run_in_a_process, args=(out, format))
        process.start()
        at = part.stat().st_size if part.exists() else 0
        until = time.monotonic() + 60
        while process.is_alive() and time.monotonic() < until and (part.stat().st_size if part.exists() else 0) <= at:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.08)
        if rng.random() < 0.4 and (workers := workers_of(process.pid)):
            os.kill(rng.choice(workers), signal.SIGKILL)
            time.sleep(rng.random() * 0.05)
        if kills < 12:
            process.kill()
        process.join(60)
        if process.exitcode == 0:
            break
        assert process.exitcode == -9, "it failed by itself"
        kills += 1
        if part.exists() and rng.random() < 0.5:
            os.truncate(part, max(0, part.stat().st_size - rng.randint(0, 40)))
    assert kills >= 8
    assert out.read_bytes() == wanted(MANY, format)
    assert os.listdir(tmp_path) == ["out"]


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_command_goes_on(tmp_path: Path, model_folder: Path) -> None:
    """With a real model and spawned workers: what comes out is what one process writes."""
    lines = [f"the food was {word} {k} .\n" for k in range(40) for word in ("terrible", "great", "rude", "nice")]
    (tmp_path / "in.txt").write_text("".join(lines))
    command = [sys.executable, "-m", "masker", "edit", "in.txt", "--to", "positive", "--model", str(model_folder)]
    many = [*command, "--format", "jsonl", "--device", "cpu", "--out", "many.jsonl", "--workers", "2", "--resume"]
    part = tmp_path / "many.jsonl.part"
    process = subprocess.Popen(many, cwd=tmp_path)
    until = time.monotonic() + 120
    while time.monotonic() < until and not (part.exists() and part.stat().st_size):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert part.exists(), "it was over before it could be killed"
    assert not (tmp_path / "many.jsonl").exists()
    subprocess.run(many, cwd=tmp_path, check=True)
    rewrites = Masker.from_pretrained(model_folder, device="cpu").edit_stream([line[:-1] for line in lines], "positive")
    wanted = "".join(render(rewrite, "", "jsonl") for rewrite in rewrites)
    assert (tmp_path / "many.jsonl").read_text() == wanted


def test_workers_need_a_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["masker", "edit", "x", "--to", "positive", "--workers", "2"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "name it with --out" in capsys.readouterr().err.replace("\n", " ")
