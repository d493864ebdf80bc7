"""The one exception that users see: a single clear line that names the remedy."""

import difflib
from collections.abc import Iterable


class MaskerError(Exception):
    """Something the user can mend. The command line prints it as one line and exits with code 2.

    Parameters are written in backquotes, `max_words`; the command line writes them as its options, --max-words.
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> MaskerError:
    """An error for a misspelt name that lists the known ones, and says which of them is meant where that is clear."""
    known = list(known)
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    meant = f"; did you mean '{folded[close[0]]}'?" if close else ""
    return MaskerError(f"unknown {kind} '{name}'; known: {', '.join(known) or 'none'}{meant}")


def missing(extra: str, what: str) -> MaskerError:
    """An error for what cannot be done because an optional package is not there, naming the extra that brings it."""
    return MaskerError(f"{what} needs packages that are not installed; pip install 'masker-nlp[{extra}]'")
