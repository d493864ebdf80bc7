import numpy as np
from toy import CORPORA

from masker.model.bag_of_words import BagOfWords


def test_words_tell_domains_apart_and_survive_being_stored() -> None:
    words = BagOfWords.fit(list(CORPORA.values()))
    for k, texts in enumerate(CORPORA.values()):
        log_p = words.log_probs(texts)
        np.testing.assert_allclose(np.exp(log_p).sum(1), 1, atol=1e-5)
        assert (log_p.argmax(1) == k).all()
    again = BagOfWords.from_state(words.state())
    np.testing.assert_array_equal(again.log_probs(["the food was great ."]), words.log_probs(["the food was great ."]))
    assert words.log_probs([]).shape == (0, 2)
    assert np.isfinite(words.log_probs([""])).all()


def test_any_number_of_domains_weighs_alike() -> None:
    corpora = [["a b c"] * 40, ["d e f"] * 4, ["g h i"] * 10]
    words = BagOfWords.fit(corpora)
    assert words.log_probs(["a b c", "d e f", "g h i"]).argmax(1).tolist() == [0, 1, 2]
    assert abs(np.exp(words.log_probs(["unknown"]))[0] - 1 / 3).max() < 0.2


def test_pairs_of_words_count_and_case_does_not() -> None:
    words = BagOfWords.fit([["not good", "good thing"] * 5, ["good not", "thing good"] * 5])
    assert words.log_probs(["Not Good", "good NOT"]).argmax(1).tolist() == [0, 1]
