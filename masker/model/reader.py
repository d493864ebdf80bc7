"""What a reader is told and shown: a causal LM that has read texts as people write them, each after its domain."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from masker.core.prose import as_written
from masker.data.checked import checked, read_versioned
from masker.errors import MaskerError, check_whole, unknown
from masker.model.causal import CausalVocabulary
from masker.model.folder import READER_CARD

_FORMAT = 1
WINDOW = 256  # pieces of a text that are read
NO_READER = "none"  # in the place of a folder


@dataclass(frozen=True)
class ReaderCard:
    """What reader.json says: the domains, how many pieces of a text are read, and how the reader was made."""

    domains: tuple[str, ...]
    window: int = WINDOW
    made: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "ReaderCard":
        if not is_reader(folder):
            raise MaskerError(f"{folder} holds no reader ({READER_CARD} is missing); make one with masker reader")
        where = folder / READER_CARD
        card = checked(cls, read_versioned(where, _FORMAT), where)
        return replace(card, domains=tuple(card.domains))

    def __post_init__(self) -> None:
        check_whole(1, window=self.window)

    def write(self, folder: Path) -> None:
        fields = {"format": _FORMAT, "domains": list(self.domains), "window": self.window, "made": self.made}
        (folder / READER_CARD).write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", "utf-8")

    def check_domain(self, name: str) -> str:
        if name not in self.domains:
            raise unknown("domain of the reader", name, list(self.domains))
        return name


def is_reader(folder: str | Path) -> bool:
    return (Path(folder).expanduser() / READER_CARD).is_file()


def prefix(vocabulary: CausalVocabulary, domain: str) -> list[int]:
    """What stands before a text of a domain: `positive:`."""
    return [vocabulary.start, *vocabulary.pieces(f"{domain}:")]


def shown(text: str) -> str:
    """A text as the LM is shown it, after a colon."""
    return " " + as_written(" ".join(text.split()))
