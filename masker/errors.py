"""The one exception that users see: a single clear line that names the remedy."""

import difflib
import math
from collections.abc import Iterable
from pathlib import Path

MOST = 2**31 - 1  # of any whole number: more is a slip, and more than arrays can count
MOST_SEED = 2**32 - 1  # of a seed, for scikit-learn


class MaskerError(Exception):
    """Something the user can mend. The command line prints it as one line and exits with code 2.

    Parameters are written in backquotes, `max_words`; the command line writes them as its options, --max-words.
    """


def unknown(kind: str, name: object, known: Iterable[str]) -> MaskerError:
    """An error for a misspelt name that lists the known ones, and says which of them is meant where that is clear."""
    known = list(known)
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.7)
    meant = f"; did you mean '{folded[close[0]]}'?" if close else ""
    return MaskerError(f"unknown {kind} '{name}'; known: {', '.join(known) or 'none'}{meant}")


def missing(extra: str, what: str) -> MaskerError:
    """An error for what cannot be done because an optional package is not there, naming the extra that brings it."""
    return MaskerError(f"{what} needs packages that are not installed; pip install 'masker-nlp[{extra}]'")


def check_whole(least: int, *, most: int = MOST, **values: object) -> None:
    """Whole numbers from `least` to `most`, by the names of the parameters; an error names the first that is none."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise MaskerError(f"`{name}` is {value!r:.60}: it is a whole number")
        if value < least:
            raise MaskerError(f"`{name}` is {value}: need at least {least}")
        if value > most:
            raise MaskerError(f"`{name}` is {value!r:.60}: need at most {most}")


def check_number(*, finite: bool = False, **values: object) -> None:
    """Numbers, by the names of the parameters; an error that names the first that is none, or not `finite`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise MaskerError(f"`{name}` is {value!r:.60}: it is a number")
        if finite and math.isinf(value):
            raise MaskerError(f"`{name}` is {value}: it is a finite number")


def check_name(**values: object) -> None:
    """Names of folders or models, by the names of the parameters; an error that names the first that is none."""
    for name, value in values.items():
        if not isinstance(value, str | Path):
            raise MaskerError(f"`{name}` is {value!r:.60}: give a folder, or the name of a model")
