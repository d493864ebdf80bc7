"""The one exception that users see: a single clear line that names the remedy."""


class MaskerError(Exception):
    """Something the user can mend. The command line prints it as one line and exits with code 2."""


def unknown(kind: str, name: str, known: list[str]) -> MaskerError:
    """An error for a misspelt name that lists the known ones."""
    listed = ", ".join(known) if known else "none"
    return MaskerError(f"unknown {kind} '{name}'; known: {listed}")
