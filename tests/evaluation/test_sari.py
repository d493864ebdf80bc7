"""SARI by hand. F1 is 2PR / (P + R), and 0/0 is 1."""

import pytest

from masker.evaluation.sari import sari


def test_the_reference_itself_is_perfect() -> None:
    result = sari("a b c d e", "a b x d e", ["a b x d e"])
    assert result.score == result.lasertagger == 1


def test_one_reference() -> None:
    result = sari("a b c", "a b d", ["a b c d e"])
    # n = 1: adds d of {d, e}: P 1, R 1/2; keeps {a, b} of {a, b, c}: P 1, R 2/3; deletes c, which was to stay
    # n = 2: adds "b d" in vain; keeps "a b" of {"a b", "b c"}: P 1, R 1/2; deletes "b c", which was to stay
    # n = 3: adds and deletes in vain, keeps nothing of "a b c"; n = 4: there is nothing to keep or delete, but to add
    assert result.add == pytest.approx((2 / 3 + 0 + 0 + 0) / 4)
    assert result.keep == pytest.approx((4 / 5 + 2 / 3 + 0 + 1) / 4)
    assert result.delete == pytest.approx((0 + 0 + 0 + 1) / 4)
    assert result.score == pytest.approx((1 / 6 + 37 / 60 + 1 / 4) / 3)


def test_references_that_disagree_count_by_share() -> None:
    result = sari("a b", "a", ["a", "a b"])
    # n = 1: keeps a (wanted by all) and not b (wanted by half): P 1, R 1 / 1.5; deletes b: P 0.5, R 0.5 / 0.5
    # n = 2: only the second reference has a bigram, "a b", and the output lost it; n > 2: nothing to do
    assert result.add == 1
    assert result.keep == pytest.approx((4 / 5 + 0 + 1 + 1) / 4)
    assert result.delete == pytest.approx((1 / 2 + 0 + 1 + 1) / 4)
    assert result.delete_f1 == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)
    assert result.score == pytest.approx(0.775)
    assert result.lasertagger == pytest.approx((1 + 0.7 + 2 / 3) / 3)


def test_copying_deletes_precisely_but_recalls_nothing() -> None:
    result = sari("a b c d", "a b c d", ["a b c x"])
    assert result.delete == 1
    assert result.delete_f1 == 0
    assert result.add == 0


def test_repeated_words_count_once() -> None:
    assert sari("a a a b", "a a a b", ["a b"]).keep == sari("a b", "a b", ["a b"]).keep * (1 + 2 / 3 + 0 + 0) / 4
