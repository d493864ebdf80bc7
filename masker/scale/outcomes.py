"""What becomes of a text in a run over many files: a Rewrite, or a Failure that says why there is none."""

from dataclasses import dataclass
from typing import Any

from masker.core.edits import Rewrite


@dataclass(frozen=True)
class Failure:
    """A text that could not be edited, and why. `key` is that of its element, None if it had none."""

    key: Any
    source: Any
    reason: str

    def to_dict(self) -> dict[str, Any]:
        source = self.source
        if isinstance(source, bytes):
            source = source.decode("utf-8", "backslashreplace")
        known = source is None or isinstance(source, str)
        return {"key": self.key, "source": source if known else repr(source), "reason": self.reason}


@dataclass(frozen=True)
class Unreadable:
    """What stands where a text should be: it becomes a Failure for this reason."""

    source: Any
    reason: str


Outcome = Rewrite | Failure


def no_text(text: Any) -> Failure:
    if isinstance(text, Unreadable):
        return Failure(None, text.source, text.reason)
    return Failure(None, text, f"not a text but {type(text).__name__}")
