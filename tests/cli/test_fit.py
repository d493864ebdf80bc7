import csv
import gzip
import io
import json
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import toy
from toy import CORPORA, hears_ctrl_c

from masker import runtime
from masker.model.light import LightModel

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
TWO = ("--domain", "negative=negative.txt", "--domain", "positive=positive.txt", "--out", "model")
QUICK = ("--steps", "2", "--batch-size", "8")


@pytest.fixture
def fit(masker: Cli, base: Path, here: Path) -> Cli:
    return lambda *arguments: masker("fit", "--base", base, *QUICK, *arguments)


@pytest.fixture
def fit_fails(fails: Fails, base: Path, here: Path) -> Fails:
    """A refusal before any training: no folder is made."""

    def run(*arguments: str | Path) -> str:
        error = fails("fit", "--base", base, *QUICK, *arguments)
        assert not (here / "model").exists()
        return error

    return run


def settings(folder: Path) -> dict:  # type: ignore[type-arg]
    return json.loads((folder / "masker.json").read_text())


def test_a_model_is_made(fit: Cli, masker: Cli, here: Path) -> None:
    result = fit(*TWO, "--licence", "negative=CC0", "--steps", "10")
    assert result.code == 0, result.err
    assert result.out == b""
    assert next(line for line in result.err.splitlines() if line.startswith("step")).startswith("step 1/10  loss ")
    assert re.fullmatch(r"wrote model: span accuracy \d+\.\d\d after 10 steps.*, \d+ s", result.err.splitlines()[-1])
    assert not (here / "model" / "checkpoints").exists()
    assert "`negative`, `positive`" in (here / "model" / "README.md").read_text()
    assert masker("edit", "--model", "model", "--to", "positive", stdin=b"it was terrible .").code == 0
    made = settings(here / "model")["made"][-1]
    assert [d["licence"] for d in made["data"]] == ["CC0", "not stated"]
    assert "masker fit --base" in made["command"]


@pytest.mark.parametrize("weight", [0, 0.3])
def test_a_style_weight_of_0_fits_no_classifier(weight: float, fit: Cli, masker: Cli, here: Path) -> None:
    assert fit(*TWO, "--style", str(weight)).code == 0
    assert (here / "model" / "style.safetensors").exists() == bool(weight)
    searched = masker("edit", "--model", "model", "--to", "positive", "--method", "search", stdin=b"it was terrible .")
    assert (searched.code == 0) == bool(weight)


def test_every_kind_of_corpus_gives_the_same_model(fit: Cli, here: Path) -> None:
    def write(kind: str, lines: list[str]) -> bytes:
        if kind.startswith(".jsonl"):
            return "".join(json.dumps({"id": 1, "review": line}) + "\n" for line in lines).encode()
        if kind == ".csv":
            file = io.StringIO()
            csv.writer(file).writerows([["id", "review"], *([1, line] for line in lines)])
            return file.getvalue().encode()
        return "".join(line + "\n" for line in lines).encode()

    models = set()
    for kind in (".txt", ".txt.gz", ".txt.xz", ".jsonl", ".jsonl.gz", ".csv"):
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(Path(kind).suffix, bytes)
        for name, lines in CORPORA.items():
            (here / f"{name}{kind}").write_bytes(pack(write(kind, lines)))
        domains = [x for name in CORPORA for x in ("--domain", f"{name}={name}{kind}")]
        column = [] if ".txt" in kind else ["--column", "review"]
        result = fit(*domains, *column, "--out", f"model{kind}")
        assert result.code == 0, result.err
        models.add((here / f"model{kind}" / "model.safetensors").read_bytes())
    assert len(models) == 1


def test_from_scratch(fit: Cli, here: Path) -> None:
    assert fit(*TWO, "--size", "tiny", "--n-p", "3", "--window", "20").code == 0
    made = settings(here / "model")
    assert (made["n_p"], made["window"]) == (3, 20)
    assert len(made["made"]) == 1
    assert "from scratch, size tiny" in made["made"][0]["base"]
    assert json.loads((here / "model" / "config.json").read_text())["hidden_size"] == 128


def test_three_domains_and_one(fit: Cli, here: Path) -> None:
    (here / "other.txt").write_text("".join(f"marie was born in {x} .\n" for x in "abcdefghijkl"))
    assert fit(*TWO, "--domain", "other=other.txt", "--counterpart", "other=negative").code == 0
    assert settings(here / "model")["domains"] == {"negative": None, "positive": None, "other": "negative"}
    assert fit("--domain", "only=positive.txt", "--out", "model").code == 0
    assert settings(here / "model")["domains"] == {"only": None}


def test_pretrain_then_fit(masker: Cli, fit: Cli, base: Path, here: Path) -> None:
    result = masker(
        "pretrain", "negative.txt", "positive.txt", "--base", base, "--out", "plain", "--licence", "CC0", *QUICK
    )
    assert result.code == 0, result.err
    plain = settings(here / "plain")
    assert plain["domains"] == {}
    assert [(d["name"], d["lines"], d["licence"]) for d in plain["made"][0]["data"]] == [
        ("negative.txt", 80, "CC0"), ("positive.txt", 80, "CC0"),
    ]  # fmt: skip
    assert fit(*TWO, "--base", "plain").code == 0
    assert [stage["stage"] for stage in settings(here / "model")["made"]] == ["pretrain", "fit"]


def test_pretrain_counts_files_of_the_same_name_apart(masker: Cli, base: Path, here: Path) -> None:
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "text").write_text("".join(f"it was {folder} {x} .\n" for x in "abcdef"))
    result = masker("pretrain", "a/text", "b/text", "--base", base, "--out", "plain", *QUICK)
    assert result.code == 0, result.err
    assert [d["lines"] for d in settings(here / "plain")["made"][0]["data"]] == [6, 6]


def test_corpora_that_look_alike_get_a_warning(fit: Cli, here: Path) -> None:
    lines = random.Random(1).sample(CORPORA["negative"], 80)
    for k, name in enumerate(("negative", "positive")):
        (here / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines[k::2]))
    result = fit(*TWO)
    assert result.code == 0
    assert "masker: warning: a quick classifier can hardly tell 'negative' from 'positive'" in result.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([*TWO[:4], "--domain", "negative=positive.txt", "--out", "model"], "names 'negative' twice"),
        (["--domain", "a=negative.txt", "--domain", "b=negative.txt", "--out", "model"], "same file"),
        (["--domain", "a=negative.txt", "--domain", "b=copy.txt", "--out", "model"], "same lines"),
        (["--domain", "a=empty.txt", "--domain", "b=negative.txt", "--out", "model"], "empty"),
        (["--domain", "a=short.txt", "--domain", "b=negative.txt", "--out", "model"], "at least 10"),
        (["--domain", "a=latin.txt", "--domain", "b=negative.txt", "--out", "model"], "line 1: byte 3 (0xe9)"),
        (["--domain", "a=binary.txt", "--domain", "b=negative.txt", "--out", "model"], "binary"),
        (["--domain", "a=nofile", "--domain", "b=negative.txt", "--out", "model"], "nofile"),
        (["--domain", "negative.txt", "--out", "model"], "--domain wants NAME=VALUE, not 'negative.txt'"),
        (["--domain", "a b=negative.txt", "--out", "model"], "cannot name a domain"),
        ([*TWO, "--column", "x"], "no column 'x'"),
        ([*TWO, "--counterpart", "negative=x"], "unknown domain 'x'"),
        ([*TWO, "--counterpart", "negative=negative"], "own counterpart"),
        ([*TWO, "--licence", "negativ=CC0"], "unknown corpus 'negativ'; known: negative, positive"),
        ([*TWO, "--n-p", "0"], "--n-p is 0"),
        ([*TWO, "--n-p", "-1"], "--n-p is -1"),
        ([*TWO, "--window", "0"], "--window 0"),
        ([*TWO, "--window", "4000"], "--window is 4000, but the model has room for"),
        ([*TWO, "--size", "huge"], "known: tiny, mini, small, base"),
        ([*TWO, "--steps", "0"], "--steps is 0"),
        ([*TWO, "--epochs", "inf"], "--epochs is inf"),
        ([*TWO, "--lr", "nan"], "--lr is nan"),
        ([*TWO, "--dropout", "1"], "--dropout is 1.0"),
        ([*TWO, "--seed", "-1"], "--seed is -1"),
        (
            [*TWO, "--batch-size", "10", "--accumulate", "3"],
            "--batch-size is 10 but must be a multiple of 3 (--accumulate 3)",
        ),
        ([*TWO, "--precision", "fp8"], "auto, fp32, bf16, fp16"),
        ([*TWO, "--base", "./nowhere"], "no model folder at nowhere"),
        ([*TWO, "--student", "--style", "0"], "--student needs two domains or more"),
        ([*TWO, "--resume"], "no checkpoint to resume in model; start a new run, without --resume"),
    ],
)
def test_refused_before_training(fit_fails: Fails, here: Path, arguments: list[str], named: str) -> None:
    (here / "copy.txt").write_text("".join(f"{line}\n" for line in reversed(CORPORA["negative"])))
    (here / "empty.txt").write_text("\n \n")
    (here / "short.txt").write_text("it was bad .\n" * 100)
    (here / "latin.txt").write_bytes(b"caf\xe9\n" * 20)
    (here / "binary.txt").write_bytes(bytes(256) * 20)
    assert named in fit_fails(*arguments)


def test_out_that_cannot_be_a_folder(fails: Fails, base: Path, here: Path) -> None:
    (here / "file").write_text("precious")
    for out in ("file", "file/model"):
        assert "file" in fails("fit", "--base", base, *QUICK, *TWO[:4], "--out", out)
    assert (here / "file").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "corpus"),
        (["nofile"], "nofile"),
        (["empty.txt"], "0 different lines"),
        (["same.txt"], "1 different lines"),
        (["negative.txt", "negative.txt"], "twice"),
    ],
)
def test_pretrain_refuses(masker: Cli, base: Path, here: Path, arguments: list[str], named: str) -> None:
    (here / "empty.txt").write_text("")
    (here / "same.txt").write_text("it was bad .\n" * 100)
    result = masker("pretrain", *arguments, "--base", base, "--out", "model", *QUICK)
    assert result.code == 2
    assert named in result.err
    assert not (here / "model").exists()


def test_no_space_for_the_model(masker: Cli, base: Path, here: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        result = masker("fit", "--base", base, *QUICK, *TWO, "--eval-every", "2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert result.code == 2
    error = result.err.splitlines()[-1]
    assert error.startswith("masker: ")
    assert "best.safetensors" in error
    assert not list((here / "model").glob("*.safetensors"))
    assert not list((here / "model" / "checkpoints").glob("*"))


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(base: Path, masker: Cli, here: Path) -> None:
    arguments = [
        "fit",
        "--base",
        str(base),
        *TWO,
        "--steps",
        "200",
        "--batch-size",
        "8",
        "--eval-every",
        "20",
        "--patience",
        "99",
    ]
    command = [sys.executable, "-m", "masker", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c) as process:
        for _ in range(600):
            if list((here / "model" / "checkpoints").glob("step-*")):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    *_, last = err.splitlines()
    assert last == "masker: interrupted; the run so far is in model: the same command with --resume goes on"
    assert not (here / "model" / "model.safetensors").exists()

    result = masker(*arguments, "--resume")
    assert result.code == 0, result.err
    assert not result.err.startswith("step 20/")
    unbroken = masker(
        *arguments[:-6], "--batch-size", "8", "--eval-every", "20", "--patience", "99", "--out", "unbroken"
    )
    assert unbroken.code == 0
    first, second = ((here / name / "model.safetensors").read_bytes() for name in ("model", "unbroken"))
    assert first == second
    steps = [json.loads(line)["step"] for line in (here / "model" / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(20, 201, 20))


def test_two_processes(base: Path, masker: Cli, here: Path) -> None:
    """Through `accelerate launch`: one of them speaks and writes, and the loss is that of one process."""
    arguments = [
        "fit",
        "--base",
        str(base),
        *TWO[:4],
        "--steps",
        "20",
        "--eval-every",
        "10",
        "--batch-size",
        "16",
        "--dropout",
        "0",
    ]
    launch = ["-m", "accelerate.commands.accelerate_cli", "launch", "--cpu", "--num_processes", "2"]
    command = [sys.executable, *launch, "--main_process_port", "0", "-m", "masker", *arguments, "--out", "two"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("wrote two") == 1
    assert masker(*arguments, "--out", "one").code == 0
    one, two = (
        [json.loads(line) for line in (here / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    )
    assert [m["step"] for m in two] == [10, 20]
    for a, b in zip(one, two, strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-3)
        assert b["held_out_loss"] == pytest.approx(a["held_out_loss"], abs=1e-3)


@pytest.fixture
def enough(here: Path) -> Path:
    """Corpora of which lines can be set aside."""
    for name, adjectives in (("negative", ("terrible", "rude", "slow")), ("positive", ("great", "good", "nice"))):
        (here / f"{name}.txt").write_text("".join(f"{line}\n" for line in toy.lines(*adjectives)))
    return here


def test_a_fit_ends_with_a_report(fit: Cli, masker: Cli, enough: Path) -> None:
    result = fit(*TWO)
    assert result.code == 0, result.err
    for told in ("words a line", "speak for negative", " others are set aside to measure with", "s on this machine",
                 "wrote model: span accuracy", "negative to positive", "wrote model/report.html"):  # fmt: skip
        assert told in result.err, told
    assert (enough / "model" / "report.html").read_text("utf-8").startswith("<!doctype html>")
    assert isinstance(runtime.load("model", "cpu"), LightModel)
    card = (enough / "model" / "README.md").read_text("utf-8")
    assert "## How it rewrites" in card
    made = settings(enough / "model")["made"][-1]
    assert [d["lines"] for d in made["data"]] == [90, 90]
    assert len(made["report"]["rewrites"]) == 20
    written = {line for name in CORPORA for line in (enough / f"{name}.txt").read_text().splitlines()}
    assert {r["source"] for r in made["report"]["rewrites"]} <= written
    # what is fitted on from it has a report of its own, or none
    assert fit(*TWO[:4], "--out", "next", "--base", "model", "--no-report").code == 0
    assert all("report" not in stage for stage in settings(enough / "next")["made"])
    assert not (enough / "next" / "report.html").exists()
    assert [d["lines"] for d in settings(enough / "next")["made"][-1]["data"]] == [120, 120]


@pytest.mark.slow
def test_a_student_comes_with_it_and_is_gone_on_with(fit: Cli, masker: Cli, enough: Path) -> None:
    arguments = [*TWO, "--student", "--steps", "300", "--batch-size", "32", "--lr", "3e-3", "--dropout", "0"]
    result = fit(*arguments)
    assert result.code == 0, result.err
    assert (enough / "model" / "student" / "student.json").is_file()
    assert (enough / "model" / "student" / "graphs.safetensors").is_file()
    methods = [d["method"] for d in settings(enough / "model")["made"][-1]["report"]["directions"]]
    assert methods == ["auto", "auto", "fast", "fast"]
    edited = masker("edit", "--model", "model", "--to", "positive", "--format", "jsonl", stdin=b"it was terrible .\n")
    assert edited.code == 0, edited.err
    assert json.loads(edited.text)["method"] in ("fast", "search")

    weights = (enough / "model" / "model.safetensors").read_bytes()
    again = fit(*arguments, "--resume")  # all that is done stays done
    assert again.code == 0, again.err
    assert "step 300/300" not in again.err
    assert (enough / "model" / "model.safetensors").read_bytes() == weights
    assert fit(*TWO).code == 0  # another model in its place: the student was not this one's
    assert not (enough / "model" / "student").exists()
