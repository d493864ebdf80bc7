"""Attribute markers by salience."""

import pytest

from masker.baselines.markers import Markers

CORPORA = {
    "negative": ["the food was so bad ."] * 20 + ["we had pizza ."] * 30,
    "positive": ["the food was so good ."] * 20 + ["we had pizza ."] * 30 + ["bad weather"],
}


def test_salience_is_the_ratio_of_smoothed_counts() -> None:
    salience = Markers.fit(CORPORA, above=5).salience["negative"]
    assert salience["bad"] == pytest.approx(21 / 2)  # it is once in the other domain
    assert salience["so bad"] == salience["was so bad ."] == 21
    assert "pizza" not in salience
    assert "the food was so bad" not in salience  # five words
    assert list(salience.values()) == sorted(salience.values(), reverse=True)


def test_the_threshold_and_the_number_of_markers_are_kept_to() -> None:
    assert "bad" not in Markers.fit(CORPORA).salience["negative"]
    assert "so bad" in Markers.fit(CORPORA).salience["negative"]
    assert len(Markers.fit(CORPORA, at_most=2).salience["positive"]) == 2


def test_counts_by_levels_are_those_of_all_ngrams() -> None:
    lines = {"a": ["x y z x y z w", "y z w", "x y"] * 3, "b": ["z w", "x"] * 2}
    found = Markers.fit(lines, above=1).salience["a"]
    assert found["x y"] == (9 + 1) / (0 + 1)
    assert found["y z w"] == (6 + 1) / (0 + 1)
    assert found["z w"] == (6 + 1) / (2 + 1)


def test_the_longest_marker_from_the_left_is_found() -> None:
    markers = Markers({"a": {"so": 20.0, "so bad": 20.0, "bad and rude": 20.0, "rude": 20.0}})
    words = ["so", "bad", "and", "rude", "here", "so"]
    assert markers.find(words, "a") == [(0, 2), (3, 4), (5, 6)]
    assert markers.find(words, "a", longest=1) == [(0, 1), (3, 4), (5, 6)]
