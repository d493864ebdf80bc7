"""A folder for what is about to be made: seen to be free and writable before hours of work, and one run's at a time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from masker.data.output import locked, writing
from masker.errors import MaskerError
from masker.model.folder import CARD, CARDS, CONFIG, STYLE, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS

RUN = "checkpoints"  # in the folder of a run that is not finished
# what is written besides the cards; a folder that has one of these and no card is somebody else's
WRITTEN = (
    CARD, CONFIG, TOKENIZER, TOKENIZER_CONFIG, STYLE, *WEIGHTS, "metrics.jsonl", "report.html", "vocabulary.json",
    "tensorboard", "silver",
)  # fmt: skip


_held: set[Path] = set()  # by this process, which may claim them again


@contextmanager
def claimed(folder: Path, card: str) -> Iterator[None]:
    """The folder is there, can be written to, and is this run's as long as this lasts; `card` is what is to be made.

    Refused is one that holds something else of Masker's, or files of the user's that would be overwritten.
    """
    if str(folder) == "-":
        raise MaskerError("`out` is a folder, and - is none; give its name")
    folder = folder.expanduser().absolute()
    if folder in _held or os.environ.get("RANK") not in (None, "", "0"):  # of several processes one claims it for all
        yield
        return
    with writing(folder):
        check_free(folder, card)
        fresh = not folder.exists()
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        with locked(folder / "masker"):
            _held.add(folder)
            yield
    finally:
        _held.discard(folder)
        if fresh:
            with suppress(OSError):  # it is empty only if nothing was made
                folder.rmdir()


def check_free(folder: Path, card: str) -> None:
    """Refuse a folder in which something would be lost."""
    for above in (folder, *folder.absolute().parents):
        if above.exists() and not above.is_dir():
            raise MaskerError(f"{above} is a file; give another folder")
    if not folder.is_dir():
        return
    if not os.access(folder, os.R_OK | os.X_OK):
        raise MaskerError(f"cannot read {folder}: Permission denied; give another folder")
    there = {path.name for path in folder.iterdir()}
    for other in CARDS.keys() & there - {card}:
        raise MaskerError(f"{folder} is {CARDS[other]}; give another folder for {CARDS[card]}")
    theirs = [name for name in WRITTEN if name in there]
    if theirs and card not in there and RUN not in there:
        raise MaskerError(
            f"{folder} has a {theirs[0]} that would be overwritten, and is not {CARDS[card]}; give another folder"
        )


def is_begun(folder: Path) -> bool:
    """Whether a run in this folder can be gone on with."""
    return any((folder.expanduser() / RUN).glob("step-*"))


def check_begun(folder: Path, *, resume: bool) -> None:
    """Refuse to begin where a run can be gone on with: its checkpoints would be lost."""
    if not resume and is_begun(folder):
        run = folder.expanduser() / RUN
        raise MaskerError(f"{folder} has an unfinished run; go on with `resume`, or remove {run} to start anew")
