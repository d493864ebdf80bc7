import gzip
import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from masker.students.base import Student

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
SUBJECTS = ("the food", "the staff", "the service", "it", "she", "he", "marie", "paris", "london", "the people")
ROWS = [
    (f"{subject} {verb} really {word} {end}", f"{subject} {verb} {word} {end}")
    for subject, verb, word, end in itertools.product(SUBJECTS, ("was", "is"), ("good", "rude", "nice"), (".", "!"))
]
QUICK = ("--steps", "80", "--batch-size", "32", "--lr", "3e-3", "--eval-every", "40", "--device", "cpu")


@pytest.fixture
def files(here: Path) -> Path:
    """silver.tsv as masker silver writes it, and gold.tsv.gz with two columns."""
    header = "source\ttarget\tscore\tsimilarity\tline\tedits\n"
    silver = header + "".join(f"{a}\t{b}\t0.5\t0.9\t{k}\t[]\n" for k, (a, b) in enumerate(ROWS))
    (here / "silver.tsv").write_text(silver)
    (here / "gold.tsv.gz").write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in ROWS[:60]).encode()))
    return here


@pytest.fixture
def distill(masker: Cli, base: Path, files: Path) -> Cli:
    return lambda *arguments: masker(
        "distill", "--student", "lasertagger", "--base", base, *QUICK, "--out", "student", *arguments
    )


@pytest.fixture
def distill_fails(fails: Fails, base: Path, files: Path) -> Fails:
    """A refusal before any training: no folder is made."""

    def run(*arguments: str | Path) -> str:
        error = fails("distill", "--base", base, *QUICK, *arguments)
        assert not (files / "student").exists()
        return error

    return run


def test_a_student_learns_from_silver_then_from_gold(distill: Cli, files: Path) -> None:
    result = distill("--silver", "silver.tsv", "--gold", "gold.tsv.gz", "--phrases", "7")
    assert (result.code, result.out) == (0, b""), result.err
    lines = result.err.splitlines()
    assert lines[0] == "0 phrases cover 100.0 % of 180 pairs"
    assert re.fullmatch(r"silver 40/80  loss \d\.\d{3}  Exact \S+ \(best \S+\)  kept \S+ %", lines[1])
    assert [line.split("  ")[0] for line in lines[1:-1]] == ["silver 40/80", "silver 80/80", "gold 40/80", "gold 80/80"]
    assert lines[-1] == "wrote student: Exact 100.00, KEEP only 0.0 % of held-out pairs"
    student = Student.from_pretrained("student", device="cpu")
    assert student.edit(["it was really nice ."]) == ["it was nice ."]
    assert [made["stage"] for made in student.card["made"]] == ["silver", "gold"]
    assert student.card["command"].startswith("masker distill --student lasertagger")


def test_either_stage_alone_and_pairs_to_measure_on(distill: Cli, files: Path) -> None:
    (files / "dev.tsv").write_text("she was really so .\tshe was so .\n")
    options = ("--decoder", "autoregressive", "--dev", "dev.tsv", "--steps", "2")
    assert distill("--gold", "gold.tsv.gz", *options).code == 0
    card = json.loads((files / "student" / "student.json").read_text())
    assert card["decoder"] == "autoregressive"
    assert [(made["stage"], made["pairs"], made["held_out"]) for made in card["card"]["made"]] == [("gold", 60, 1)]
    assert distill("--silver", "silver.tsv", "--steps", "2").code == 0  # in the place of the first
    card = json.loads((files / "student" / "student.json").read_text())
    assert card["decoder"] == "feedforward"


def test_gold_has_epochs_of_its_own(masker: Cli, base: Path, files: Path) -> None:
    pairs = ("--silver", "silver.tsv", "--gold", "gold.tsv.gz", "--epochs", "1", "--gold-epochs", "4")
    assert masker("distill", "--student", "lasertagger", "--base", base, "--out", "student", *pairs).code == 0
    made = json.loads((files / "student" / "student.json").read_text())["card"]["made"]
    assert [stage["steps"] for stage in made] == [1, 4]  # either is less than two batches of 64


def test_a_single_pair_is_enough_to_train_on_but_not_to_measure(distill: Cli, files: Path) -> None:
    (files / "one.tsv").write_text("it was really good .\tit was good .\n")
    assert distill("--gold", "one.tsv", "--steps", "1").err.splitlines()[-1] == "wrote student: too few to measure"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--student", "teacher", "--gold", "gold.tsv.gz"), "unknown student 'teacher'; known: lasertagger, felix"),
        (("--student", "lasertagger"), "nothing to learn from; give pairs with --silver, --gold or both"),
        (("--student", "felix", "--gold", "gold.tsv.gz", "--phrases", "5"), "--phrases is for a lasertagger"),
        (("--student", "lasertagger", "--gold", "none.tsv"), "cannot read none.tsv"),
        (("--student", "lasertagger", "--gold", "negative.txt"), "1 columns where 2 are needed"),
        (("--student", "lasertagger", "--gold", "gold.tsv.gz", "--lr", "0"), "--lr is 0.0 but must be above 0"),
        (("--student", "lasertagger", "--gold", "gold.tsv.gz", "--decoder", "beam"), "unknown decoder 'beam'"),
        (("--student", "lasertagger", "--gold", "gold.tsv.gz", "--device", "moon"), "unknown device 'moon'"),
    ],
)
def test_what_is_wrong_is_said_before_training(distill_fails: Fails, arguments: tuple[str, ...], said: str) -> None:
    assert said in distill_fails(*arguments, "--out", "student")


def test_a_model_is_never_overwritten(distill_fails: Fails, model_folder: Path) -> None:
    pairs = ("--student", "lasertagger", "--gold", "gold.tsv.gz")
    assert "is a model; give another folder" in distill_fails(*pairs, "--out", model_folder)
    assert "is a file; give another folder" in distill_fails(*pairs, "--out", "negative.txt")


def test_one_student_for_two_domains_in_its_models_folder(masker: Cli, fitted: Path, here: Path) -> None:
    model = Path(shutil.copytree(fitted, here / "model"))
    header = "source\ttarget\tto\n"
    for to, old, new in (("positive", "rude", "nice"), ("negative", "nice", "rude")):
        rows = [(a.replace("really good", old), a.replace("really good", new)) for a, _ in ROWS if "good" in a]
        (here / f"{to}.tsv").write_text(header + "".join(f"{a}\t{b}\t{to}\n" for a, b in rows))
    pairs = ("--silver", "positive.tsv", "--silver", "negative.tsv", "--base", model, "--shared", "--layers", "1")
    command = ("distill", "--student", "lasertagger", *QUICK, *pairs)
    refused = masker(*command, "--out", "student")
    assert refused.code == 2
    assert f"lies in it: --out {model / 'student'}" in refused.err
    assert masker(*command, "--rounds", "2", "--keep-bias", "-0.5", "--out", model / "student").code == 0
    card = json.loads((model / "student" / "student.json").read_text())
    assert (card["targets"], card["rounds"], card["keep_bias"]) == (["negative", "positive"], 2, -0.5)
    assert masker("export", model / "student").code == 0
    assert (model / "student" / "graphs.safetensors").is_file()
    assert "drop --out" in masker("export", model / "student", "--out", "elsewhere").err
    student = Student.from_pretrained(model / "student", device="cpu")
    text = "the food was rude ."
    (expected,) = student.edit([text], "positive")
    arguments = ("--to", "positive", "--device", "cpu")
    for way in (("--model", model, "--method", "fast"), ("--model", model / "student")):
        assert masker("edit", *way, *arguments, stdin=f"{text}\n".encode()).text == f"{expected}\n"
    for to in ((), ("--to", "positve")):  # a mistake of the user's, not of a text
        refused = masker("edit", "--model", model / "student", *to, stdin=f"{text}\n".encode())
        assert (refused.code, refused.out) == (2, b"")
    assert "student" in masker("info", model).text
