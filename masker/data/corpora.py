"""Corpora: the texts of domains, whether they can be trained on, and which lines are set aside."""

import hashlib
import itertools
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from masker.data.formats import read_records
from masker.errors import MaskerError

MIN_LINES = 10  # fewer different lines than this cannot be split into training and held-out lines
SAMPLE = 2000  # lines per domain that the separability check looks at
SAMPLE_CHARS = 1000  # and characters per line, so that a corpus of whole books is checked as fast as one of reviews


def read_corpus(path: str | Path, *, column: str | None = None, encoding: str = "utf-8") -> Iterator[str]:
    """Stream the texts of a file, whatever its format (see `formats.read_records`). Blank texts are skipped."""
    for record in read_records(path, column=column, encoding=encoding):
        if record.text.strip():
            yield record.text.rstrip("\r\n")


def load_domains(
    domains: Mapping[str, str | Path], *, column: str | None = None, encoding: str = "utf-8"
) -> dict[str, list[str]]:
    """The texts of each named domain. What would make training pointless is an error here, before it starts."""
    paths: dict[Path, str] = {}
    for name, path in domains.items():
        if not re.fullmatch(r"[a-z0-9_-]+", name, re.IGNORECASE | re.ASCII):
            raise MaskerError(f"'{name}' cannot name a domain; use letters a-z, digits, '_' and '-'")
        twin = paths.setdefault(Path(os.path.expanduser(path)).resolve(), name)
        if twin != name:
            raise MaskerError(
                f"domains '{twin}' and '{name}' are the same file {path}; give each domain its own corpus"
            )

    corpora: dict[str, list[str]] = {}
    contents: dict[frozenset[str], str] = {}
    for name, path in domains.items():
        corpora[name] = list(read_corpus(path, column=column, encoding=encoding))
        content = frozenset(line.strip() for line in corpora[name])
        if not content:
            raise MaskerError(
                f"the corpus of domain '{name}' is empty: {path}; give a file with at least {MIN_LINES} lines"
            )
        if len(content) < MIN_LINES:
            raise MaskerError(
                f"domain '{name}' has {len(content)} different lines in {path}; at least {MIN_LINES} are needed"
            )
        twin = contents.setdefault(content, name)
        if twin != name:
            raise MaskerError(f"domains '{twin}' and '{name}' hold the same lines; give each domain its own corpus")
    return corpora


def separability(corpora: Mapping[str, Sequence[str]], *, seed: int = 0) -> float:
    """How well a quick bag-of-bigrams classifier tells the domains apart: accuracy on held-out lines (5 folds).

    Every domain gives the same number of lines, at most 2,000, so chance is 1 / number of domains.
    """
    return _accuracy(_samples(corpora, seed), seed)


def warn_if_inseparable(corpora: Mapping[str, Sequence[str]], *, seed: int = 0) -> str | None:
    """A warning about the two domains most alike, if a classifier is not clearly better than chance on them."""
    results = []
    # Pair by pair: among three domains, two that are the same would hide behind a third that differs.
    for names in itertools.combinations(corpora, 2):
        samples = _samples({name: corpora[name] for name in names}, seed)
        results.append((_accuracy(samples, seed), sum(map(len, samples)), *names))
    if not results:
        return None
    accuracy, lines, first, second = min(results)
    error = (accuracy * (1 - accuracy) / max(lines, 1)) ** 0.5
    if accuracy - 2 * error > 0.5 + 0.05:
        return None
    return (
        f"a quick classifier can hardly tell '{first}' from '{second}': it is right on {accuracy:.1%} of {lines}"
        " held-out lines, and chance is 50.0%; check the corpora, or give more text"
    )


def is_judge_line(line: str) -> bool:
    """Whether a Yelp training line belongs to the quarter kept for the style judges.

    Nothing shipped ever sees these lines: a judge that shared its training text with the model would flatter it.
    A hash of the line decides, so that every script and machine agrees without a list.
    """
    return int.from_bytes(hashlib.sha256(line.strip().encode()).digest()[:4], "big") % 4 == 0


def hold_out(
    lines: Sequence[str], *, share: float = 0.02, at_most: int = 1000, at_least: int = 20, seed: int
) -> tuple[list[str], list[str]]:
    """Split lines into (train, held out); never more than half is held out, and no held-out line stays in train.

    A seeded hash of the line chooses, so the same lines are held out on every machine and in every order.
    """
    distinct = dict.fromkeys(line.strip() for line in lines)
    size = min(max(round(share * len(distinct)), at_least), at_most, len(distinct) // 2)
    held = set(sorted(distinct, key=lambda line: hashlib.sha256(f"{seed} {line}".encode()).digest())[:size])
    return [line for line in lines if line.strip() not in held], [line for line in distinct if line in held]


def _samples(corpora: Mapping[str, Sequence[str]], seed: int) -> list[list[str]]:
    """Equally many lines of every domain, each line once: copies would pass for more evidence than there is."""
    distinct = [list(dict.fromkeys(line.strip()[:SAMPLE_CHARS] for line in lines)) for lines in corpora.values()]
    size = min([SAMPLE, *map(len, distinct)])
    return [random.Random(seed).sample(lines, size) for lines in distinct]


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
