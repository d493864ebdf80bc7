"""The BLEU of the paper's Yelp table: the script of Wu et al. (2019), inherited from Li et al. (2018).

It is here for parity with the paper and for nothing else: copying the input beats every system on it. Words outside a
fixed dictionary are dropped, the brevity penalty compares the wrong lengths, and references are cased and untokenised.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from masker.errors import MaskerError
from masker.evaluation.tally import Tally, ratio

MISSING = 1e-9  # what an n-gram that the reference lacks counts


def read_dictionary(path: str | Path) -> dict[str, int]:
    """Words and their ids from a file of `word<TAB>id` lines."""
    words = {}
    for number, line in enumerate(Path(path).read_text("utf-8").split("\n"), 1):
        if line:
            word, _, index = line.rpartition("\t")
            if not index.isdecimal():
                raise MaskerError(f"{path}, line {number}: expected a word, a tab and a number")
            words[word] = int(index)
    return words


def paper_bleu(
    sources: Sequence[str], outputs: Sequence[str], references: Sequence[str], *, dictionary: Mapping[str, int]
) -> Tally:
    """The average of sentence scores, raw lines in; of lines that share a source only the last one counts."""
    last = {source: i for i, source in enumerate(sources)}
    counts = np.array([last[source] == i for i, source in enumerate(sources)], dtype=float)
    scores = [sentence_paper_bleu(o, r, dictionary=dictionary) for o, r in zip(outputs, references, strict=True)]
    return ratio(100 * counts * np.array(scores), counts)


def sentence_paper_bleu(output: str, reference: str, *, dictionary: Mapping[str, int]) -> float:
    """The score of one sentence, from 0 to 1."""
    candidate, target = ([dictionary[w] for w in text.split(" ") if w in dictionary] for text in (output, reference))
    c, r = len(candidate), abs(len(target) - len(candidate))
    if not c:
        return 0.0
    log_score = 0.0
    for n in range(1, 5):
        grams, target_grams = _ngrams(candidate, n), _ngrams(target, n)
        matches = sum(min(k, target_grams[g]) if g in target_grams else MISSING for g, k in grams.items())
        if grams:
            log_score += 0.25 * math.log(matches / grams.total())
    return math.exp(log_score + (1 - r / c if c <= r else 0.0))


def _ngrams(ids: Sequence[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(ids[i : i + n]) for i in range(len(ids) - n + 1))
