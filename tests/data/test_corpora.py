"""Corpora of domains: refusing bad ones with one clear line, telling them apart, and setting lines aside."""

import os
import warnings
from pathlib import Path

import pytest

from masker.data.corpora import (
    hold_out,
    is_judge_line,
    load_domains,
    read_corpus,
    set_aside,
)
from masker.errors import MaskerError

needs_data = pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="set MASKER_DATA to the data folder")
if not os.environ.get("MASKER_DATA"):  # louder than an "s" among the dots
    warnings.warn(
        "MASKER_DATA is unset, so the tests on real data are skipped: set it to the data folder", stacklevel=1
    )


def yelp(name: str) -> list[str]:
    return list(read_corpus(Path(os.environ["MASKER_DATA"]) / "yelp" / name))


def numbered(word: str, count: int) -> list[str]:
    return [f"{word} number {index}" for index in range(count)]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


# Domains


def refuse_domains(domains: dict[str, Path]) -> str:
    with pytest.raises(MaskerError) as caught:
        load_domains(domains)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_load_domains_reads_all_in_order(tmp_path: Path) -> None:
    lines = {"positive": numbered("good", 12), "Neg_2-b": numbered("bad", 10)}
    paths = {name: write(tmp_path / f"{name}.txt", texts) for name, texts in lines.items()}
    loaded = load_domains(paths)
    assert loaded == lines
    assert list(loaded) == ["positive", "Neg_2-b"]


def test_load_domains_passes_column_and_encoding_on(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_bytes(("id,review\n" + "".join(f"{i},café {i}\n" for i in range(10))).encode("latin-1"))
    assert load_domains({"a": path}, column="review", encoding="latin-1")["a"][9] == "café 9"


def test_empty_corpus(tmp_path: Path) -> None:
    message = refuse_domains({"a": write(tmp_path / "a.txt", ["", "  "])})
    assert "domain 'a' is empty" in message


def test_too_few_lines_states_both_numbers_and_counts_a_repeated_line_once(tmp_path: Path) -> None:
    message = refuse_domains({"a": write(tmp_path / "a.txt", numbered("bad", 9) * 2)})
    assert "9 different lines" in message
    assert "at least 10" in message


def test_same_path_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", numbered("bad", 10))
    (tmp_path / "link.txt").symlink_to(path)
    assert "'a' and 'b' are the same file" in refuse_domains({"a": path, "b": tmp_path / "link.txt"})


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot read" in refuse_domains({"a": tmp_path / "loop"})


def test_same_lines_in_another_order(tmp_path: Path) -> None:
    lines = numbered("bad", 10)
    paths = {"a": write(tmp_path / "a.txt", lines), "b": write(tmp_path / "b.txt", [*lines[::-1], lines[0]])}
    assert "'a' and 'b' hold the same lines" in refuse_domains(paths)


@pytest.mark.parametrize("name", ["", "two words", "naïve", "a]", "a\n", "\u212a"])
def test_bad_domain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(MaskerError, match="cannot name a domain"):
        load_domains({name: write(tmp_path / "a.txt", numbered("bad", 10))})


# Setting aside


def test_judge_lines_never_change() -> None:
    # Were these to change, shipped models would have seen what the judges are trained on.
    lines = ["i was sadly mistaken .", "excellent food .", "superb customer service .", "ok", "déjà vu", "a", "b"]
    assert [line for line in lines if is_judge_line(line)] == lines[:2]


def test_judge_lines_ignore_outer_whitespace() -> None:
    for line in numbered("line", 20):
        assert is_judge_line(f" {line}\r\n") == is_judge_line(line)


def test_judges_get_a_quarter() -> None:
    assert sum(map(is_judge_line, numbered("line", 10_000))) == pytest.approx(2500, abs=150)


def test_hold_out_splits_without_loss_and_in_order() -> None:
    lines = numbered("line", 5000)
    train, held = hold_out(lines, seed=0)
    assert len(held) == 100
    assert sorted(train + held) == sorted(lines)
    assert train == [line for line in lines if line in set(train)]
    assert held == [line for line in lines if line in set(held)]


@pytest.mark.parametrize(("count", "size"), [(100_000, 1000), (5000, 100), (100, 20), (10, 5), (1, 0), (0, 0)])
def test_hold_out_sizes(count: int, size: int) -> None:
    train, held = hold_out(numbered("line", count), seed=0)
    assert (len(train), len(held)) == (count - size, size)


def test_hold_out_is_the_same_on_every_machine() -> None:
    assert hold_out(numbered("line", 100), at_least=3, seed=7)[1] == [
        "line number 14",
        "line number 35",
        "line number 77",
    ]


def test_hold_out_depends_on_the_seed_and_not_on_the_order() -> None:
    lines = numbered("line", 500)
    held = set(hold_out(lines, seed=0)[1])
    assert set(hold_out(lines[::-1], seed=0)[1]) == held
    assert set(hold_out(lines, seed=1)[1]) != held


def test_no_copy_of_a_held_out_line_stays_in_train() -> None:
    lines = [*numbered("line", 200), *(f"{line} " for line in numbered("line", 200))]
    train, held = hold_out(lines, seed=0)
    assert len(held) == len(set(held)) == 20
    assert not {line.strip() for line in train} & {line.strip() for line in held}
    assert len(train) == 360


def corpora_of(count: int, *, shared: int = 0) -> dict[str, list[str]]:
    both = numbered("both", shared)
    return {name: [*numbered(name, count), *both] for name in ("bad", "good")}


@pytest.mark.parametrize(
    ("count", "rewritten", "judging"), [(99, 0, 0), (100, 10, 20), (500, 25, 71), (4000, 100, 585), (40_000, 100, 4000)]
)
def test_a_fifth_is_set_aside_and_never_too_much(count: int, rewritten: int, judging: int) -> None:
    corpora = corpora_of(count)
    parts = set_aside(corpora)
    for name, lines in corpora.items():
        assert (len(parts.rewritten[name]), len(parts.judging[name])) == (rewritten, judging)
        assert sorted(parts.train[name] + parts.judging[name] + parts.rewritten[name]) == sorted(lines)
    assert parts.aside == 2 * (rewritten + judging)


def test_lines_of_two_domains_and_copies_are_no_test() -> None:
    corpora = corpora_of(300, shared=200)
    corpora["bad"] *= 2
    parts = set_aside(corpora)
    aside = {line for part in (parts.judging, parts.rewritten) for lines in part.values() for line in lines}
    assert len(aside) == parts.aside > 0
    assert not any(line.startswith("both") for line in aside)
    assert not aside & {line for lines in parts.train.values() for line in lines}


def test_one_domain_has_nothing_to_be_measured_with() -> None:
    assert set_aside({"only": numbered("line", 500)}).aside == 0
