"""Which words AC-MLM's three selectors choose."""

import numpy as np

from masker.baselines.markers import Markers
from masker.baselines.selectors import AttentionBased, FrequencyRatio, Fusion


class Looks:
    """A classifier that looks at long words."""

    domains = ("a", "b")

    def attend(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        share = np.array([1.0 if len(word) > 8 else 0.01 for word in words])
        return share / share.sum(), np.zeros(2)


MARKERS = Markers({"a": {"so bad": 20.0, "bad": 20.0, "it was so": 16.0}})
ATTENTION = AttentionBased(Looks())  # type: ignore[arg-type]


def test_frequency_takes_all_words_of_the_markers() -> None:
    assert FrequencyRatio(MARKERS).select(["the", "food", "was", "so", "bad", "."], "a") == {3, 4}


def test_frequency_takes_a_word_at_random_where_nothing_is_salient() -> None:
    selector = FrequencyRatio(MARKERS)
    texts = [["nothing", "here", f"{k}", "."] for k in range(40)]
    chosen = [selector.select(words, "a") for words in texts]
    assert {next(iter(one)) for one in chosen} == {0, 1, 2}  # all but the mark
    assert chosen == [selector.select(words, "a") for words in texts]
    assert selector.select(["..."], "a") == selector.select([], "a") == set()


def test_attention_takes_what_is_looked_at_more_than_on_average() -> None:
    assert ATTENTION.select(["it", "disappointed", "us", "frightfully", "."], "a") == {1, 3}
    assert ATTENTION.select(["ab", "cd"], "a") == {0}  # nobody is above the average: the first of the most
    assert ATTENTION.select([], "a") == set()


def test_fusion_takes_markers_and_attention_where_there_are_none() -> None:
    fusion = Fusion(MARKERS, ATTENTION)
    assert fusion.select(["the", "food", "here", "was", "so", "bad", "that", "day", "."], "a") == {4, 5}
    assert fusion.select(["they", "disappointed", "us", "on", "that", "day", "."], "a") == {1}


def test_fusion_masks_shorter_ngrams_where_too_few_words_would_be_left() -> None:
    fusion = Fusion(MARKERS, ATTENTION)
    assert fusion.select(["it", "was", "so", "frightful", "and", "dull", "."], "a") == {3}  # three of seven: attention
    assert fusion.select(["a", "very", "so", "bad", "tale", "."], "a") == {3}  # "bad" alone
    assert fusion.select(["bad", "disappointed", "us", "."], "a") == {1}  # four words: attention
