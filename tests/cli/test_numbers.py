"""Every number of every verb: one that makes no sense is refused in one line that names its option."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest

from masker.cli import bench, critic, distill, edit, explain, fit, judge, reader, silver, tune

VERBS: dict[str, Callable[..., None]] = {
    "edit": edit.edit, "explain": explain.explain, "silver": silver.silver, "fit": fit.fit, "pretrain": fit.pretrain,
    "distill": distill.distill, "reader": reader.reader, "tune": tune.tune, "bench": bench.bench,
    "critic": critic.critic, "judge fit": judge.fit,
}  # fmt: skip
NEEDED = {
    "edit": ("in.txt", "--to", "positive"),
    "explain": ("bad food", "--to", "positive"),
    "silver": ("in.txt", "--to", "positive", "--out", "out.tsv"),
    "fit": ("--domain", "a=a.txt", "--domain", "b=b.txt", "--out", "out"),
    "pretrain": ("a.txt", "--out", "out"),
    "distill": ("--student", "lasertagger", "--gold", "pairs.tsv", "--out", "out"),
    "reader": ("--domain", "a=a.txt", "--domain", "b=b.txt", "--base", "base", "--out", "out"),
    "tune": ("--domain", "a=a.txt", "--domain", "b=b.txt", "--model", "model"),
    "bench": (),
    "critic": ("ratings.jsonl", "--out", "out"),
    "judge fit": ("--domain", "a=a.txt", "--domain", "b=b.txt", "--out", "out"),
}
ANY = {"--min-score", "--keep-bias"}  # may be below 0
OTHERWISE = {("edit", "--workers"): ("--out", "out.txt"), ("edit", "--top"): ("--format", "jsonl")}


def numbers() -> list[Any]:
    """Verbs, their options that are numbers, and values that make no sense for them."""
    found = []
    for verb, function in VERBS.items():
        for name, parameter in inspect.signature(function).parameters.items():
            if get_origin(parameter.annotation) is not Annotated:
                continue
            kind, option = get_args(parameter.annotation)
            kinds, flag = {kind, *get_args(kind)}, (option.param_decls or [f"--{name.replace('_', '-')}"])[0]
            if kinds & {int, float}:
                late = pytest.mark.slow if flag == "--vocabulary" else ()
                found += [pytest.param(verb, flag, "-3", marks=late)] if flag not in ANY else []
                found += [pytest.param(verb, flag, "nan")] if float in kinds else []
                found += [pytest.param(verb, flag, "-inf")] if flag == "--keep-bias" else []
                found += [pytest.param(verb, flag, "9" * 23, marks=pytest.mark.slow)] if int in kinds else []
    return found


def test_there_are_numbers() -> None:
    found = {number.values for number in numbers()}
    assert {("edit", "--max-edits", "-3"), ("edit", "--min-score", "nan"), ("tune", "--lines", "-3")} <= found


@pytest.mark.parametrize(("verb", "flag", "value"), numbers())
def test_a_number_that_makes_no_sense(masker: Callable[..., Any], here: Path, verb: str, flag: str, value: str) -> None:
    lines = [f"the food was {word} {k} ." for k in range(8) for word in ("bad", "good")]
    for name in ("in.txt", "a.txt", "b.txt"):
        Path(name).write_text("".join(f"{line} {name}\n" for line in lines))
    Path("pairs.tsv").write_text("".join(f"{line}\tthe {line}\n" for line in lines))
    run = masker(*verb.split(), *NEEDED[verb], *OTHERWISE.get((verb, flag), ()), flag, value)
    assert run.code == 2, run
    assert flag in run.err or "workers" in run.err
    assert "should not have happened" not in run.err
    assert not Path("out").exists()
