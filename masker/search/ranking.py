"""By what the search editor ranks drafts: the sum of

    encoder * min(log p, log strength)       p: how sure the encoder's classifier is of the target domain
    bag_of_words * min(log q, log strength)  q: how sure its words alone are (`BagOfWords`)
    likelihood * log Lt      of the infills in the target domain
    similarity * F           of the words that the text shares with its source: a word lost counts for `lost` times as
                             much as a word added
    coherence * coherence    how much less likely the words that stay have become, in nats: they do not go with an
                             edit, or still speak for the source domain (`coherence`)
    residue * residue        how much some of them still speak for the source domain, by themselves as well as where
                             they stand now: the text is turned only in part (`coherence`)
    sure                     if p and q both reach strength

All of it is computed for many drafts at a time. What costs passes of the model (p, coherence, residue) can only
lower a rank, so that without them it is an upper bound.
"""

from collections.abc import Sequence

import numpy as np

from masker.model.settings import SearchSettings
from masker.search.lexicon import Lexicon

Count = np.ndarray | int
Number = np.ndarray | float


def style_term(s: SearchSettings, log_p: np.ndarray) -> np.ndarray:
    """[..., 2] what both classifiers say -> what that is worth."""
    worth = np.minimum(log_p, s.enough) @ np.array([s.encoder, s.bag_of_words])
    return np.asarray(worth + s.sure * (np.minimum(log_p[..., 0], log_p[..., 1]) >= s.enough))


def rank(s: SearchSettings, log_p: np.ndarray, likelihood: Number, similarity: Number) -> np.ndarray:
    """The sum above, without a close look."""
    return np.asarray(style_term(s, log_p) + s.likelihood * likelihood + s.similarity * similarity)


def terms(
    s: SearchSettings,
    log_p: np.ndarray | Sequence[float],
    likelihood: float,
    similarity: float,
    coherence: float = 0.0,
    residue: float = 0.0,
) -> dict[str, float]:
    """Each summand above by its name, of one draft: `log_p` [2]."""
    encoder, bag_of_words = np.minimum(log_p, s.enough).tolist()
    return {
        "encoder": s.encoder * encoder,
        "bag_of_words": s.bag_of_words * bag_of_words,
        "likelihood": s.likelihood * likelihood,
        "similarity": s.similarity * similarity,
        "coherence": s.coherence * coherence,
        "residue": s.residue * residue,
        "sure": s.sure * bool(min(log_p) >= s.enough),
    }


def bound(s: SearchSettings, likelihood: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """What it is at most, whatever the classifiers will say."""
    return rank(s, np.zeros(2), likelihood, similarity)


def promise(
    s: SearchSettings, now: np.ndarray, odds: np.ndarray, likelihood: np.ndarray, similarity: np.ndarray
) -> np.ndarray:
    """What infills will probably be worth: the domains' own odds stand in for the classifiers.

    `now` are the text's log-odds, and `odds` by how much the infills, and the words that go, speak for the target.
    """
    log_p = -np.logaddexp(0.0, -np.clip(now + odds, -30.0, 30.0))
    style = (s.encoder + s.bag_of_words) * np.minimum(log_p, s.enough)
    return np.asarray(style + s.likelihood * likelihood + s.similarity * similarity)


def f_score(shared: Count, new: Count, old: Count, lost: float) -> np.ndarray:
    """F of `shared` words of a text of `new` words and a source of `old`: recall counts for `lost` times as much."""
    return np.asarray((1 + lost) * shared / np.maximum(1, new + lost * old))


def matches(removed: np.ndarray, added: np.ndarray) -> np.ndarray:
    """[N, R] and [N, A] words, 0 where there is none -> [N] how many of the added ones were removed, each once."""
    columns, words = np.ascontiguousarray(removed.T), np.where(added.T > 0, added.T, -1)
    alike, count = np.zeros(len(removed), bool), np.zeros(len(removed), np.int64)
    for word in words:
        for old in columns:
            alike |= old == word
    some = np.flatnonzero(alike)  # a few of many
    columns, words = columns[:, some], words[:, some]
    for word in words:
        for old in columns:
            found = old == word
            old[found], word[found] = 0, -1
            count[some] += found
    return count


def doubles(rows: np.ndarray, lexicon: Lexicon) -> np.ndarray:
    """[N, L] words -> [N] how many of them follow themselves."""
    row, column = np.nonzero((rows[:, 1:] == rows[:, :-1]) & (rows[:, 1:] > 0))
    return np.bincount(row[lexicon.alpha(rows[row, column])], minlength=len(rows))
