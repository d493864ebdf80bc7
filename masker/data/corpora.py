"""Text in: reading corpora, checking that they can be trained on, and setting lines aside."""

import csv
import gzip
import hashlib
import io
import itertools
import json
import lzma
import os
import random
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from masker.errors import MaskerError

MIN_LINES = 10  # fewer different lines than this cannot be split into training and held-out lines
SAMPLE = 2000  # lines a domain that the separability check looks at
SAMPLE_CHARS = 1000  # and characters a line, so that a corpus of whole books is checked as fast as one of reviews


def read_corpus(path: str | Path, *, column: str | None = None, encoding: str = "utf-8") -> Iterator[str]:
    """Stream the texts of a file: .jsonl, .csv or .tsv, otherwise plain lines; or gz or xz of these.

    Without `column` the field `text` is read, or else the only one there is. Blank texts are skipped.
    """
    path = Path(os.path.expanduser(path))  # no shell expands the ~ of `--domain negative=~/neg.txt`
    kind = _suffix(path.with_suffix("") if _suffix(path) in (".gz", ".xz") else path)
    lines = numbered_lines(path, encoding)
    if kind in (".jsonl", ".json"):
        texts = _json_texts(path, lines, column)
    elif kind in (".csv", ".tsv"):
        texts = _table_texts(path, _csv_rows(path, lines) if kind == ".csv" else _tsv_rows(lines), column)
    elif column is not None:
        hint = "drop --column, or name it .jsonl, .csv or .tsv"
        raise MaskerError(f"{path} is read as plain lines, which have no column '{column}'; {hint}")
    else:
        texts = (line for _, line in lines)
    for text in texts:
        if text.strip():
            yield text.rstrip("\r\n")


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


def _suffix(path: Path) -> str:
    return path.suffix.lower()


def numbered_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """The decoded lines of a file, or of standard input for `-`, with their numbers, newlines kept."""
    try:
        newline = "\n".encode(encoding)
    except (LookupError, ValueError) as error:
        raise MaskerError(
            f"unknown encoding '{encoding}'; use one that Python knows, e.g. --encoding latin-1"
        ) from error
    # Where a newline is one byte, lines can be decoded one by one and an error knows its place; in UTF-16 it is not.
    decode = _decode_lines if newline == b"\n" else _decode_stream
    try:
        with _open(path) as stream:
            for number, line in decode(path, stream, encoding):
                yield number, line.removeprefix("\ufeff") if number == 1 else line
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise MaskerError(f"{path} is not a whole {path.suffix} file ({error}); pack or copy it again") from error
    except OSError as error:
        raise MaskerError(f"cannot read {path}: {error.strerror or error}; give a readable file") from error


def _open(path: Path) -> IO[bytes]:
    if str(path) == "-":
        return sys.stdin.buffer
    if _suffix(path) == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return lzma.open(path) if _suffix(path) == ".xz" else open(path, "rb")


def _decode_lines(path: Path, stream: IO[bytes], encoding: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(stream, 1):
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            # Most binary files break UTF-8 a little before their first NUL byte.
            _refuse_binary(path, number, raw + stream.read(2**16))
            bad = f"byte {error.start} (0x{raw[error.start]:02x})"
            hint = "give the file's encoding, e.g. --encoding latin-1"
            raise MaskerError(f"{path}, line {number}: {bad} is not {encoding}; {hint}") from error
        _refuse_binary(path, number, raw)
        yield number, line


def _decode_stream(path: Path, stream: IO[bytes], encoding: str) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(io.TextIOWrapper(stream, encoding, newline="\n"), 1):
            yield number, line
    except UnicodeError as error:  # it was decoded block by block, so the line is known only roughly
        raise MaskerError(f"{path} is not {encoding} text after line {number}; try another --encoding") from error


def _refuse_binary(path: Path, number: int, raw: bytes) -> None:
    if b"\0" in raw:
        hint = "give a text file, or --encoding utf-16 if it is one"
        raise MaskerError(f"{path} is binary (a NUL byte in or soon after line {number}); {hint}")


def _json_texts(path: Path, lines: Iterator[tuple[int, str]], column: str | None) -> Iterator[str]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MaskerError(f"{path}, line {number}: bad JSON ({error}); write one object a line") from error
        if not isinstance(record, dict):
            raise MaskerError(f"{path}, line {number}: not a JSON object; write one object a line")
        if column is None:
            # a null may be a text that is missing in this record only
            column = _default_column(path, [key for key, value in record.items() if isinstance(value, str | None)])
        if column not in record:
            raise _unknown_column(path, number, column, list(record))
        text = record[column]
        if text is None:
            continue
        if not isinstance(text, str):
            kind = type(text).__name__
            raise MaskerError(
                f"{path}, line {number}: column '{column}' holds {kind}, not text; choose another --column"
            )
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise MaskerError(f"{path}, line {number}: half of a surrogate pair; mend or remove this line")
        yield text


def _csv_rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(2**31 - 1)  # the default, 128 KiB, is shorter than some texts
    rows = csv.reader((line for _, line in lines), strict=True)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise MaskerError(f"{path}, line {rows.line_num}: bad CSV ({error}); is a quote left open?") from error


def _tsv_rows(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    # No quoting in TSV: a text that merely begins with a quote would swallow the lines after it.
    return ((number, line.rstrip("\r\n").split("\t")) for number, line in lines)


def _table_texts(path: Path, rows: Iterator[tuple[int, list[str]]], column: str | None) -> Iterator[str]:
    header: list[str] = []
    for number, row in rows:
        if not any(row):
            continue
        if not header:
            header = row
            column = column or _default_column(path, header)
            if column not in header:
                raise _unknown_column(path, number, column, header)
            index = header.index(column)
        elif len(row) != len(header):
            counts = f"{len(row)} columns, but the header has {len(header)}"
            raise MaskerError(f"{path}, line {number}: {counts}; quote texts that hold the delimiter, or use JSONL")
        else:
            yield row[index]


def _default_column(path: Path, columns: list[str]) -> str:
    if "text" in columns:
        return "text"
    if len(columns) == 1:
        return columns[0]
    raise MaskerError(f"which column of {path} is the text? say --column; known: {', '.join(columns) or 'none'}")


def _unknown_column(path: Path, number: int, column: str, columns: list[str]) -> MaskerError:
    return MaskerError(f"{path}, line {number}: no column '{column}'; known: {', '.join(columns)}")
