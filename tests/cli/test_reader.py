"""masker reader, masker fit --reader, and what else on the command line has to do with causal LMs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from masker.model.reader import ReaderCard
from masker.students.base import Student

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
DOMAINS = ("--domain", "negative=negative.txt", "--domain", "positive=positive.txt")
TEXTS = b"the food was terrible .\nThe staff was rude!\n"


@pytest.fixture
def model(here: Path, fitted: Path, reader_folder: Path) -> Path:
    """A model with a reader of its own."""
    folder = shutil.copytree(fitted, here / "model")
    shutil.copytree(reader_folder, folder / "reader")
    return folder


def test_a_reader_is_fitted(masker: Cli, here: Path, causal: Path) -> None:
    options = ("--steps", "4", "--batch-size", "8", "--eval-every", "2", "--device", "cpu")
    result = masker("reader", "--base", causal, *DOMAINS, "--out", "reader", *options)
    assert (result.code, result.out) == (0, b""), result.err
    lines = result.err.splitlines()
    assert lines[0].startswith("reader 2/4  loss ")
    assert "told apart" in lines[0]
    assert lines[-1].startswith("wrote reader: tells ")
    card = ReaderCard.read(here / "reader")
    assert card.domains == ("negative", "positive")
    assert card.made["command"].startswith("masker reader --base")


def test_what_is_wrong_shows_before_anything_is_read(fails: Fails, here: Path, causal: Path) -> None:
    assert "no model folder" in fails("reader", "--base", "./nowhere", *DOMAINS, "--out", "reader")
    (here / "file").touch()
    assert "give another folder" in fails("reader", "--base", causal, *DOMAINS, "--out", "file")
    assert "--window is 0" in fails("reader", "--base", causal, *DOMAINS, "--out", "reader", "--window", "0")


def test_fit_makes_a_model_with_a_reader(masker: Cli, here: Path, base: Path, causal: Path) -> None:
    fit = ("fit", *DOMAINS, "--base", base, "--steps", "2", "--batch-size", "8", "--out", "model", "--reader", causal)
    result = masker(*fit)
    assert result.code == 0, result.err
    assert "wrote model/reader: tells" in result.err
    told = masker("info", "model")
    assert f"{causal}, 0.1M parameters, tells " in told.text


def test_edit_reads_with_the_models_own_reader_or_another_or_none(
    masker: Cli, fails: Fails, model: Path, fitted: Path, tmp_path: Path
) -> None:
    def scores(*options: str | Path) -> list[float]:
        result = masker("edit", "--to", "positive", "--format", "jsonl", *options, stdin=TEXTS)
        assert result.code == 0, result.err
        rows = [json.loads(line) for line in result.text.splitlines()]
        return [round(sum(edit["score"] for edit in row["edits"]), 4) for row in rows]

    own, without = scores("--model", model), scores("--model", model, "--reader", "none")
    assert own != without
    assert without == scores("--model", fitted)
    assert scores("--model", fitted, "--reader", model / "reader") == own
    assert "holds no reader" in fails("edit", "--to", "positive", "--reader", tmp_path, stdin=TEXTS)
    wrong = fails("edit", "--to", "positive", "--method", "paper", "--reader", tmp_path, stdin=TEXTS)
    assert wrong == "--reader belongs to the method auto or search; leave it out with the method paper"


def test_an_lm_is_taught_backwards_and_writes_what_the_next_one_learns_from(
    masker: Cli, fails: Fails, here: Path, fitted: Path, causal: Path, reader_folder: Path
) -> None:
    silver = ("silver", "positive.txt", "--to", "negative", "--reverse", "--out")
    assert masker(*silver, "silver.tsv", "--model", fitted).code == 0
    head, *rows = [line.split("\t") for line in (here / "silver.tsv").read_text().splitlines()]
    at = {name: k for k, name in enumerate(head)}
    people = (here / "positive.txt").read_text().splitlines()
    assert {row[at["target"]] for row in rows} <= {*people}
    assert {row[at["to"]] for row in rows} == {"positive"}
    quick = ("--steps", "3", "--batch-size", "8", "--device", "cpu", "--silver", "silver.tsv")
    result = masker("distill", "--student", "lm", "--base", causal, "--beams", "2", *quick, "--out", "student")
    assert result.code == 0, result.err
    assert Student.from_pretrained("student").beams == 2  # type: ignore[attr-defined]
    for options in ((), ("--reader", reader_folder)):
        edited = masker("edit", "--model", "student", "--to", "positive", *options, stdin=TEXTS)
        assert (edited.code, edited.text.count("\n")) == (0, 2), edited.err
    again = masker("silver", "negative.txt", "--to", "positive", "--from", "negative", "--reverse",
                   "--model", "student", "--out", "second.tsv")  # fmt: skip
    assert again.code == 0, again.err
    written = [line.split("\t") for line in (here / "second.tsv").read_text().splitlines()][1:]
    assert all(row[at["to"]] == "negative" for row in written)


def test_contradictions_and_what_a_kind_does_not_have(fails: Fails, here: Path, causal: Path) -> None:
    silver = fails("silver", "positive.txt", "--to", "negative", "--reverse", "--synthetic", "target", "--out", "s.tsv")
    assert "--synthetic target does not; drop one" in silver
    (here / "pairs.tsv").write_text("a\tb\nb\ta\n")
    gold = ("--gold", "pairs.tsv", "--out", "student")
    assert "name" in fails("distill", "--student", "lm", *gold)
    wrong = fails("distill", "--student", "felix", "--beams", "3", *gold)
    assert wrong == "--beams is for a bert2bert or lm, not for felix; drop it"


def test_a_reader_is_exported_into_its_folder(masker: Cli, fails: Fails, here: Path, reader_folder: Path) -> None:
    shutil.copytree(reader_folder, here / "reader")
    assert "drop --out" in fails("export", "reader", "--out", "elsewhere")
    result = masker("export", "reader")
    assert result.code == 0, result.err
    assert (here / "reader" / "graphs.safetensors").is_file()
