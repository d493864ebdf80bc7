"""Edit by edit: a question about each, on the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from masker.cli._checking import Rewritten
from masker.cli._output import err
from masker.data.documents import Finding, decided

if TYPE_CHECKING:
    from masker.core.edits import Edit
    from masker.data.documents import DocumentRewrite

AROUND = 60  # characters that are shown either side
HELP = "y: yes   n: no   1, 2, ...: that one instead   a: yes to all that follow   q: no to all that follow"


def ask_about(done: Sequence[Rewritten]) -> "Iterator[tuple[Rewritten, DocumentRewrite]]":
    """Each file with the edits that were wanted, when all of its questions are answered."""
    answers = Answers()
    for one in done:
        chosen: dict[tuple[int, int], Edit] = {}
        for finding in one.done.findings():
            if (edit := answers.about(one, finding)) is not None:
                chosen[finding.place] = edit
        yield one, decided(one.done, chosen)


class Answers:
    """What the user says; `rest` is what was said once for all that follows."""

    def __init__(self) -> None:
        self.rest: str | None = None

    def about(self, one: Rewritten, finding: Finding) -> "Edit | None":
        if self.rest is None:
            _show(one, finding)
        while True:
            said = self.rest or self._read(len(finding.edits))
            if said in ("a", "q"):
                self.rest = said
            if said in ("y", "a"):
                return finding.edits[0]
            if said in ("n", "q"):
                return None
            if said.isascii() and said.isdigit() and 0 < int(said) <= len(finding.edits):
                return finding.edits[int(said) - 1]
            err.print(HELP, markup=False, soft_wrap=True)

    def _read(self, count: int) -> str:
        numbers = f"/1-{count}" if count > 1 else ""
        err.print(f"  change it? [y/n{numbers}/a/q] ", end="", markup=False)
        try:
            return input().strip().lower() or "?"
        except EOFError:  # nobody is there any more
            err.print()
            return "q"


def _show(one: Rewritten, finding: Finding) -> None:
    source = one.done.source
    shift = int(source.startswith("\ufeff"))
    start, end = finding.start + shift, finding.end + shift
    before = source[max(0, start - AROUND) : start].rpartition("\n")[2]
    after = source[end : end + AROUND].partition("\n")[0].rstrip("\r")
    text = Text(f"{one.name}:{finding.line}:{finding.column}\n  {before}")
    text.append(finding.old.rstrip(), "red strike")
    text.append(" ")
    text.append(finding.replacements[0].strip() or "(nothing)", "bold green")
    text.append(after)
    for number, new in enumerate(finding.replacements[1:], 2):
        text.append(f"\n  {number}: ")
        text.append(new.strip() or "(nothing)", "green")
    err.print(text, soft_wrap=True)
