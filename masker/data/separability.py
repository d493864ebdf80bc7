"""What tells corpora apart: how well a quick classifier does it, by which words, and whether it is the topic."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masker.core.text import split_words

SAMPLE = 2000  # lines per domain that are looked at
SAMPLE_CHARS = 1000  # and characters per line, so that a corpus of whole books is checked as fast as one of reviews
SUBJECTS = 10  # that lines are described by when it is asked whether they differ in topic
FREQUENT = 50  # words that are taken for function words in languages other than English
# Words of style that scikit-learn's list does not have: as subjects they would make "thou" and "you" two topics.
_STYLE_WORDS = ["thou", "thee", "thy", "thine", "hath", "hast", "doth", "dost", "art", "shalt", "wilt", "ye", "u", "ur",
                "da", "ya", "gonna", "wanna", "gotta", "im", "dont"]  # fmt: skip


def separability(corpora: Mapping[str, Sequence[str]], *, seed: int = 0) -> float:
    """How well a quick bag-of-bigrams classifier tells the domains apart: accuracy on held-out lines (5 folds).

    Every domain gives the same number of lines, at most 2,000, so chance is 1 / number of domains.
    """
    return _accuracy(samples(corpora, seed), seed)


def inseparable(accuracy: float, lines: int, first: str, second: str) -> str | None:
    """A warning, if so many lines told apart so well may be luck, or nearly."""
    error = (accuracy * (1 - accuracy) / max(lines, 1)) ** 0.5
    if accuracy - 2 * error > 0.5 + 0.05:
        return None
    return (
        f"a quick classifier can hardly tell '{first}' from '{second}': it is right on {accuracy:.1%} of {lines}"
        " held-out lines, and chance is 50.0%; check the corpora, or give more text"
    )


def samples(corpora: Mapping[str, Sequence[str]], seed: int) -> list[list[str]]:
    """Equally many lines of every domain, each line once: copies would pass for more evidence than there is."""
    distinct = [list(dict.fromkeys(line.strip()[:SAMPLE_CHARS] for line in lines)) for lines in corpora.values()]
    size = min([SAMPLE, *map(len, distinct)])
    return [random.Random(seed).sample(lines, size) for lines in distinct]


def telling_words(first: Sequence[str], second: Sequence[str], count: int = 8) -> tuple[list[str], list[str]]:
    """The words, marks included, that speak most for the one and for the other of two equally large samples.

    By the z-score of their log-odds in lines, shrunk towards what both together have (Monroe et al. 2008).
    """
    one, other = (_lines_with(lines) for lines in (first, second))

    def z(word: str) -> float:
        prior = max(0.5, 0.02 * (one[word] + other[word]))
        a, b = one[word] + prior, other[word] + prior
        odds = math.log(a / (len(first) + 2 * prior - a + 1)) - math.log(b / (len(second) + 2 * prior - b + 1))
        return odds / math.sqrt(1 / a + 1 / b)

    ranked = sorted(one | other, key=lambda word: (z(word), word))
    return [w for w in ranked[::-1][:count] if z(w) > 1], [w for w in ranked[:count] if z(w) < -1]


def _lines_with(lines: Sequence[str]) -> Counter[str]:
    return Counter(word for line in lines for word in {line[a:b].lower() for a, b in split_words(line)})


def topic_share(first: Sequence[str], second: Sequence[str], *, english: bool, seed: int = 0) -> float | None:
    """How much of what tells two samples apart is what their lines are about, from 0 to 1; None if it cannot be told.

    The ten main subjects of all lines together are found without the domains (latent semantic analysis, function words
    and marks aside). How well they tell the domains apart is compared with how well all words do: sentiment reaches
    0.55, comments that are toxic and not 0.26, split and fused sentences 0; music and geography 1, novels and film
    reviews 0.95. Where no list of function words is at hand, the most frequent words are taken for them.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    from sklearn.preprocessing import normalize

    lines, labels = [*first, *second], [0] * len(first) + [1] * len(second)
    words = _weighted(lines, token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), min_df=2)
    everything = 0.0 if words is None else _cross_validated(words, labels, seed)
    if everything < 0.6:
        return None
    stops = [*ENGLISH_STOP_WORDS, *_STYLE_WORDS] if english else None
    content = _weighted(lines, token_pattern=r"[^\W\d_]{2,}", min_df=3, stop_words=stops)
    if content is not None:
        counts = [np.asarray((part > 0).sum(0)).ravel() for part in (content[: len(first)], content[len(first) :])]
        rare = (counts[0] <= len(first) / 2) & (counts[1] <= len(second) / 2)  # what is in most lines is no subject
        if not english:
            rare[np.argsort(-(counts[0] + counts[1]), kind="stable")[:FREQUENT]] = False
        content = content[:, np.flatnonzero(rare)]
    if content is None or content.shape[1] < 20 * SUBJECTS:
        return None  # with so few words every word is a subject
    subjects = normalize(TruncatedSVD(SUBJECTS, random_state=seed).fit_transform(content))
    return min(1.0, max(0.0, (_cross_validated(subjects, labels, seed) - 0.5) / (everything - 0.5)))


def _weighted(lines: Sequence[str], **options: Any) -> Any:
    """Which words are in each line, the rare ones weighing more, as a sparse matrix; None if no words are left."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        return TfidfVectorizer(binary=True, **options).fit_transform(lines)
    except ValueError:  # how scikit-learn says so
        return None


def _cross_validated(features: Any, labels: Sequence[int], seed: int) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import LinearSVC

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return float(cross_val_score(LinearSVC(C=0.1, random_state=seed), features, labels, cv=folds).mean())


def _accuracy(samples: list[list[str]], seed: int) -> float:
    """Cross-validated accuracy of a linear classifier between equally large samples."""
    if len(samples) < 2 or len(samples[0]) < 2:  # nothing to tell apart, or nothing to hold out
        return 1 / max(len(samples), 1)

    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.svm import LinearSVC

    lines = [line for sample in samples for line in sample]
    labels = [domain for domain, sample in enumerate(samples) for _ in sample]
    # Punctuation and case are style as well, so both are kept.
    words = HashingVectorizer(n_features=2**18, ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", lowercase=False)
    # A line found in two domains is held out of both at once: learnt from one, it would be wrong for the other,
    # and identical corpora would come out far below chance.
    folds = StratifiedGroupKFold(min(5, len(samples[0])), shuffle=True, random_state=seed)
    guesses = cross_val_predict(LinearSVC(random_state=seed), words.transform(lines), labels, groups=lines, cv=folds)
    return sum(int(guess == label) for guess, label in zip(guesses, labels, strict=True)) / len(labels)
