"""Corpora: the texts of domains, whether they can be trained on, and which lines are set aside."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from masker.data.formats import read_records
from masker.errors import MaskerError

ENOUGH = 100  # different lines of a domain, of which some can be spared to measure with
MIN_LINES = 10  # fewer different lines than this cannot be split into training and held-out lines
REWRITTEN, JUDGING = 100, 4000  # lines per domain that are set aside at most: to rewrite, and for a judge to learn from


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
        twin = paths.setdefault(Path(os.path.realpath(os.path.expanduser(path))), name)
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


@dataclass(frozen=True)
class Parts:
    """Corpora divided by what the lines are for: to train on, for a judge to learn from, to be rewritten as a test.

    No line is in two parts, nor in two domains of the last two; where there are too few lines, those are empty.
    """

    train: dict[str, list[str]]
    judging: dict[str, list[str]]
    rewritten: dict[str, list[str]]

    @property
    def aside(self) -> int:
        """Lines that nothing is trained on."""
        return sum(len(lines) for part in (self.judging, self.rewritten) for lines in part.values())


def use_all(corpora: Mapping[str, Sequence[str]]) -> Parts:
    """All lines to train on, and none to measure with."""
    nothing: dict[str, list[str]] = {name: [] for name in corpora}
    return Parts({name: list(lines) for name, lines in corpora.items()}, nothing, nothing)


def set_aside(corpora: Mapping[str, Sequence[str]], *, seed: int = 0) -> Parts:
    """Keep lines of every domain from training, so that a fitted model can be measured: about a fifth, at most 4,100.

    A twentieth is to be rewritten, the rest for the judge: with a thousand lines of a domain it is right on four of
    five real ones. Of fewer than 100 different lines none can be spared.
    """
    found = Counter(line for lines in corpora.values() for line in {line.strip() for line in lines})
    own = {name: [line for line in lines if found[line.strip()] == 1] for name, lines in corpora.items()}
    if any(len(set(lines)) < ENOUGH for lines in own.values()) or len(corpora) < 2:
        return use_all(corpora)
    train, judging, rewritten = {}, {}, {}
    for name, lines in own.items():
        rest, rewritten[name] = hold_out(lines, share=0.05, at_least=10, at_most=REWRITTEN, seed=seed)
        _, judging[name] = hold_out(rest, share=0.15, at_least=20, at_most=JUDGING, seed=seed)
        held = {*rewritten[name], *judging[name]}
        train[name] = [line for line in corpora[name] if line.strip() not in held]
    return Parts(train, judging, rewritten)
