"""The one exception that users see: a single clear line that names the remedy."""


class MaskerError(Exception):
    """Something the user can mend. The command line prints it as one line and exits with code 2."""


def unknown(kind: str, name: str, known: list[str]) -> MaskerError:
    """An error for a misspelt name that lists the known ones."""
    listed = ", ".join(known) if known else "none"
    return MaskerError(f"unknown {kind} '{name}'; known: {listed}")


def missing(extra: str, what: str) -> MaskerError:
    """An error for what cannot be done because an optional package is not there, naming the extra that brings it."""
    return MaskerError(f"{what} needs packages that are not installed; pip install 'masker-nlp[{extra}]'")
