from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masker.model.settings import SearchSettings
from masker.search.ranking import bound, f_score, matches, promise, rank

WORD = st.integers(1, 5)


def test_a_rank_is_the_sum_that_the_module_tells() -> None:
    s = SearchSettings(strength=0.5, encoder=1, bag_of_words=10, likelihood=100, similarity=1000, sure=1e5)
    enough, log_p = np.log(0.5), np.array([[-2.0, -0.1], [-0.2, -0.1]])
    unsure, sure = rank(s, log_p, np.array([-1.0, -1.0]), np.array([0.5, 0.5]))
    assert np.isclose(unsure, -2 + 10 * enough - 100 + 500)
    assert np.isclose(sure - unsure, enough + 2 + 1e5)


@given(st.floats(-9, 0), st.floats(-9, 0), st.floats(-20, 0), st.floats(0, 1), st.floats(0.01, 0.99))
def test_nothing_ranks_above_its_bound(
    p: float, q: float, likelihood: float, similarity: float, strength: float
) -> None:
    s = SearchSettings(strength=strength)
    values = np.array(likelihood), np.array(similarity)
    assert rank(s, np.array([p, q]), *values) <= rank(s, np.array([0.0, q]), *values) + 1e-9
    assert rank(s, np.array([0.0, q]), *values) <= bound(s, *values) + 1e-9


def test_what_is_lost_counts_for_more_than_what_is_added() -> None:
    def similarity(shared: int, new: int, lost: float = 2.0) -> float:
        return float(f_score(np.array(shared), np.array(new), np.array(4), lost))

    assert similarity(4, 4) == 1
    assert similarity(4, 5) > similarity(3, 3)  # a word added, a word lost
    assert similarity(3, 4) < similarity(4, 5)
    assert similarity(2, 2, 4.0) < similarity(2, 2, 2.0)


@given(st.lists(WORD, max_size=4), st.lists(WORD, max_size=4))
def test_words_that_come_back_are_counted_once(removed: list[int], added: list[int]) -> None:
    tables = (np.array([[*words, *[0] * (4 - len(words))]]) for words in (removed, added))
    assert matches(*tables).tolist() == [(Counter(removed) & Counter(added)).total()]


def test_infills_that_speak_for_the_target_promise_more() -> None:
    s, same = SearchSettings(), np.full(3, -1.0)
    worth = promise(s, np.full(3, -5.0), np.array([0.0, 3.0, 9.0]), same, np.full(3, 0.9))
    assert worth.tolist() == sorted(worth.tolist())
