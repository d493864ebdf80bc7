"""Edits as suggestions: what a checker tells of a place that reads like the source domain, whoever it tells."""

import re
from dataclasses import dataclass

from masker.core.edits import Edit, Rewrite
from masker.core.text import split_words

MOST = 5  # suggestions for a place


@dataclass(frozen=True)
class Rule:
    """What a checker looks for: wording of one domain where another is wanted."""

    from_: str | None
    to: str

    @property
    def source(self) -> str:
        return self.from_ or "something else"

    @property
    def id(self) -> str:
        return re.sub(r"\W+", "_", f"MASKER_{self.from_ or 'ANY'}_TO_{self.to}").upper()

    @property
    def title(self) -> str:
        return f"Reads {self.source}"

    @property
    def description(self) -> str:
        return f"Wording that reads {self.source} rather than {self.to}"

    def message(self, old: str, *suggestions: str) -> str:
        """One line, the best suggestion first."""
        said = " or ".join(f"“{_line(new)}”" if new.strip() else "nothing" for new in suggestions)
        return f"“{_line(old)}” reads {self.source}; for {self.to}: {said}"


def _line(text: str) -> str:
    return re.sub(r"(?<!\s)[^\S\r\n]*+[\r\n]\s*+", " ", text.strip())


def alternatives(rewrite: Rewrite, edit: Edit) -> list[Edit]:
    """An edit, and others of the same place that were found with it, the best first."""
    others = [e for draft in rewrite.alternatives or () for e in draft.edits]
    found = {edit.new: edit}
    for other in others:
        if (other.start, other.end) == (edit.start, edit.end):
            found.setdefault(other.new, other)
    return list(found.values())


def widened(text: str, edit: Edit) -> tuple[int, int, str, str]:
    """The place of an edit, with a word beside it where it has none: editors cannot mark what is not there.

    Also what is written before and after the new words then.
    """
    if text[edit.start : edit.end].strip():
        return edit.start, edit.end, "", ""
    words = split_words(text)
    if not words:
        return edit.start, edit.end, "", ""
    a, b = min(words, key=lambda word: (min(abs(word[1] - edit.start), abs(word[0] - edit.end)), word[0] < edit.start))
    start, end = min(a, edit.start), max(b, edit.end)
    return start, end, text[start : edit.start], text[edit.end : end]
