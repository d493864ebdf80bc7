"""Corpora of domains: refusing bad ones with one clear line, telling them apart, and setting lines aside."""

import os
import random
import time
import warnings
from pathlib import Path

import pytest

from masker.data import corpora
from masker.data.corpora import (
    hold_out,
    is_judge_line,
    load_domains,
    read_corpus,
    separability,
    warn_if_inseparable,
)
from masker.errors import MaskerError

needs_data = pytest.mark.skipif("MASKER_DATA" not in os.environ, reason="set MASKER_DATA to the data folder")
if "MASKER_DATA" not in os.environ:  # louder than an "s" among the dots
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


def test_same_lines_in_another_order(tmp_path: Path) -> None:
    lines = numbered("bad", 10)
    paths = {"a": write(tmp_path / "a.txt", lines), "b": write(tmp_path / "b.txt", [*lines[::-1], lines[0]])}
    assert "'a' and 'b' hold the same lines" in refuse_domains(paths)


@pytest.mark.parametrize("name", ["", "two words", "naïve", "a]", "a\n", "\u212a"])
def test_bad_domain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(MaskerError, match="cannot name a domain"):
        load_domains({name: write(tmp_path / "a.txt", numbered("bad", 10))})


# Separability


def sentences(words: list[str], count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(words, k=8)) for _ in range(count)]


COMMON = [f"word{index}" for index in range(50)]
BAD, GOOD = [*COMMON, *["awful", "rude"] * 5], [*COMMON, *["great", "kind"] * 5]


def test_different_corpora_get_no_warning() -> None:
    domains = {"bad": sentences(BAD, 300, 1), "good": sentences(GOOD, 300, 2)}
    assert separability(domains) > 0.8
    assert warn_if_inseparable(domains) is None


@pytest.mark.parametrize("size", [30, 300])
def test_random_halves_get_a_warning_with_the_figures(size: int) -> None:
    for seed in range(3):
        lines = sentences(BAD, 2 * size, seed)
        domains = {"a": lines[:size], "b": lines[size:]}
        warning = warn_if_inseparable(domains)
        assert warning is not None
        assert f"{separability(domains):.1%} of {2 * size} held-out lines, and chance is 50.0%" in warning


def test_two_alike_are_found_beside_a_third_that_differs() -> None:
    lines = sentences(BAD, 400, 1)
    domains = {"good": sentences(GOOD, 200, 2), "bad": lines[:200], "worse": lines[200:]}
    warning = warn_if_inseparable(domains)
    assert warning is not None
    assert "'bad' from 'worse'" in warning


def test_chance_is_one_over_the_number_of_domains_however_unequal() -> None:
    lines = sentences(COMMON, 1600, 1)
    domains = {"a": lines[:1000], "b": lines[1000:1300], "c": lines[1300:]}
    assert separability(domains) == pytest.approx(1 / 3, abs=0.08)


def test_copies_of_a_line_are_no_evidence() -> None:
    lines = sentences(COMMON, 60, 1)
    warning = warn_if_inseparable({"a": lines[:30] * 50, "b": lines[30:] * 50})
    assert warning is not None
    assert "of 60 held-out lines" in warning


def test_shared_lines_give_chance_and_not_less() -> None:
    lines = sentences(COMMON, 100, 1)
    assert separability({"a": lines, "b": lines[::-1]}) == pytest.approx(0.5, abs=0.02)


def test_case_and_punctuation_are_style() -> None:
    lines = sentences(COMMON, 200, 1)
    assert separability({"plain": lines[:100], "loud": [line.upper() for line in lines[100:]]}) > 0.9
    assert separability({"plain": lines[:100], "keen": [f"{line} !" for line in lines[100:]]}) > 0.9


def test_seed_decides_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "SAMPLE", 50)
    domains = {"bad": sentences(BAD, 300, 1), "good": sentences(GOOD, 300, 2)}
    figures = [separability(domains, seed=seed) for seed in range(5)]
    assert figures == [separability(domains, seed=seed) for seed in range(5)]
    assert len(set(figures)) > 1


def test_nothing_to_tell_apart() -> None:
    assert warn_if_inseparable({"only": numbered("bad", 20)}) is None
    assert warn_if_inseparable({"a": ["one"], "b": ["two"]}) is not None  # one line cannot be held out


def test_long_texts_do_not_make_it_slow() -> None:
    book = " ".join(sentences(COMMON, 2000, 1))  # 16,000 words
    domains = {name: [f"{name}{index} {book}" for index in range(200)] for name in ("a", "b")}
    started = time.perf_counter()
    separability(domains)
    assert time.perf_counter() - started < 5  # 6.4 million words would take longer


@needs_data
def test_yelp_is_separable_quickly() -> None:
    domains = {"negative": yelp("sentiment.train.0.gz")[:2000], "positive": yelp("sentiment.train.1.gz")[:2000]}
    assert separability(domains) > 0.85
    started = time.perf_counter()  # only now, with sklearn imported
    assert warn_if_inseparable(domains) is None
    assert time.perf_counter() - started < 3


@needs_data
@pytest.mark.parametrize("size", [30, 2000])
def test_random_halves_of_yelp_are_not(size: int) -> None:
    lines = random.Random(size).sample(yelp("sentiment.train.0.gz"), 2 * size)
    assert warn_if_inseparable({"a": lines[:size], "b": lines[size:]}) is not None


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
