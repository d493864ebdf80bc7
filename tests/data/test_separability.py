"""What tells corpora apart: accuracy, words, and whether it is the topic."""

import os
import random
import time
from pathlib import Path

import pytest

from masker.data import separability as module
from masker.data.corpora import read_corpus
from masker.data.inspection import look
from masker.data.separability import separability, telling_words, topic_share

needs_data = pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="set MASKER_DATA to the data folder")


def yelp(name: str) -> list[str]:
    return list(read_corpus(Path(os.environ["MASKER_DATA"]) / "yelp" / name))


def numbered(word: str, count: int) -> list[str]:
    return [f"{word} number {index}" for index in range(count)]


def sentences(words: list[str], count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(words, k=8)) for _ in range(count)]


def hardly(domains: dict[str, list[str]]) -> str | None:
    """What is said of domains that can hardly be told apart, if any are."""
    return next((warning for warning in look(domains).warnings if "can hardly tell" in warning), None)


COMMON = [f"word{index}" for index in range(50)]
BAD, GOOD = [*COMMON, *["awful", "rude"] * 5], [*COMMON, *["great", "kind"] * 5]


def test_different_corpora_get_no_warning() -> None:
    domains = {"bad": sentences(BAD, 300, 1), "good": sentences(GOOD, 300, 2)}
    assert separability(domains) > 0.8
    assert hardly(domains) is None


@pytest.mark.parametrize("size", [30, 300])
def test_random_halves_get_a_warning_with_the_figures(size: int) -> None:
    for seed in range(3):
        lines = sentences(BAD, 2 * size, seed)
        domains = {"a": lines[:size], "b": lines[size:]}
        warning = hardly(domains)
        assert warning is not None
        assert f"{separability(domains):.1%} of {2 * size} held-out lines, and chance is 50.0%" in warning


def test_two_alike_are_found_beside_a_third_that_differs() -> None:
    lines = sentences(BAD, 400, 1)
    domains = {"good": sentences(GOOD, 200, 2), "bad": lines[:200], "worse": lines[200:]}
    warning = hardly(domains)
    assert warning is not None
    assert "'bad' from 'worse'" in warning


def test_chance_is_one_over_the_number_of_domains_however_unequal() -> None:
    lines = sentences(COMMON, 1600, 1)
    domains = {"a": lines[:1000], "b": lines[1000:1300], "c": lines[1300:]}
    assert separability(domains) == pytest.approx(1 / 3, abs=0.08)


def test_copies_of_a_line_are_no_evidence() -> None:
    lines = sentences(COMMON, 60, 1)
    warning = hardly({"a": lines[:30] * 50, "b": lines[30:] * 50})
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
    monkeypatch.setattr(module, "SAMPLE", 50)
    domains = {"bad": sentences(BAD, 300, 1), "good": sentences(GOOD, 300, 2)}
    figures = [separability(domains, seed=seed) for seed in range(5)]
    assert figures == [separability(domains, seed=seed) for seed in range(5)]
    assert len(set(figures)) > 1


def test_nothing_to_tell_apart() -> None:
    assert hardly({"only": numbered("bad", 20)}) is None
    assert hardly({"a": ["one"], "b": ["two"]}) is not None  # one line cannot be held out


def test_long_texts_do_not_make_it_slow() -> None:
    book = " ".join(sentences(COMMON, 2000, 1))  # 16,000 words
    domains = {name: [f"{name}{index} {book}" for index in range(200)] for name in ("a", "b")}
    started = time.perf_counter()
    separability(domains)
    assert time.perf_counter() - started < 5  # 6.4 million words would take longer


@needs_data
def test_yelp_is_separable_quickly() -> None:
    domains = {"negative": yelp("sentiment.train.0.gz")[:2000], "positive": yelp("sentiment.train.1.gz")[:2000]}
    assert hardly(domains) is None
    started = time.process_time()  # only now, with sklearn imported
    assert separability(domains) > 0.85
    assert time.process_time() - started < 3


@needs_data
@pytest.mark.parametrize("size", [30, 2000])
def test_random_halves_of_yelp_are_not(size: int) -> None:
    lines = random.Random(size).sample(yelp("sentiment.train.0.gz"), 2 * size)
    assert hardly({"a": lines[:size], "b": lines[size:]}) is not None


# Words and topic


def test_telling_words_are_those_that_one_has_and_the_other_has_not() -> None:
    bad, good = telling_words(sentences(BAD, 300, 1), sentences(GOOD, 300, 2))
    assert set(bad[:2]) == {"awful", "rude"}
    assert set(good[:2]) == {"great", "kind"}
    assert telling_words(["the same"] * 5, ["the same"] * 5) == ([], [])


FOOD, CARS = ([f"{kind}{a}{b}" for a in "abcdef" for b in "ghijk"] for kind in ("food", "car"))


def about(things: list[str], quality: str, seed: int) -> list[str]:
    """Lines on some subject, with a way to speak about it."""
    rng = random.Random(seed)
    return [f"the {' and the '.join(rng.sample(things, 3))} were {quality} {k}" for k in range(300)]


@pytest.mark.parametrize("english", [True, False])
def test_topic_shows_in_the_subjects_and_style_does_not(english: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREQUENT", 6)  # the vocabulary is small
    monkeypatch.setattr(module, "SUBJECTS", 2)
    both = [*FOOD, *CARS]
    topic = topic_share(about(FOOD, "ok", 1), about(CARS, "ok", 2), english=english)
    style = topic_share(about(both, "not nice .", 1), about(both, "very nice !", 2), english=english)
    assert topic is not None
    assert style is not None
    assert topic > 0.8
    assert style < 0.3


def test_what_cannot_be_told_apart_has_no_topic() -> None:
    assert topic_share(about(FOOD, "ok", 1), about(FOOD, "ok", 2), english=True) is None
    assert topic_share(["a b", "a c"] * 50, ["d b", "d c"] * 50, english=True) is None  # no word is left


@needs_data
def test_sentiment_is_style_and_food_a_topic() -> None:
    negative, positive = (yelp(f"sentiment.train.{k}.gz")[:20_000] for k in (0, 1))
    sentiment = topic_share(negative[:2000], positive[:2000], english=True)
    food = [line for line in negative if {"food", "pizza", "chicken", "salad"} & {*line.split()}]
    others = [line for line in negative if {"store", "car", "hair", "office", "room"} & {*line.split()}]
    topic = topic_share(food[:1000], others[:1000], english=True)
    assert sentiment is not None
    assert topic is not None
    assert sentiment < 0.65 < 0.7 < topic
