"""A rewrite as a diff: in the terminal, in a notebook, in plain text."""

import html
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from masker.show.style import in_notebook

if TYPE_CHECKING:
    from masker.core.edits import Rewrite


def _parts(rewrite: "Rewrite") -> Iterator[tuple[str, str, str]]:
    """The source cut at its edits: (unchanged text, old, new)."""
    at = 0
    for edit in rewrite.edits:
        yield rewrite.source[at : edit.start], edit.old, edit.new
        at = edit.end
    yield rewrite.source[at:], "", ""


def diff_rich(rewrite: "Rewrite") -> Any:
    """Old words struck through in red, new ones in green."""
    from rich.text import Text

    from masker.show.terminal import visible

    text = Text()
    for same, old, new in ([visible(part) for part in parts] for parts in _parts(rewrite)):
        text.append(same)
        text.append(old.rstrip(), "red strike")
        text.append(" " if old.strip() and new.strip() else old[len(old.rstrip()) :])
        text.append(new.strip() if old.strip() else new, "bold green")
        text.append(new[len(new.rstrip()) :] if old.strip() and new.strip() else "")
    return text


def diff_text(rewrite: "Rewrite") -> str:
    """The same for print(): colours on a terminal, [-old-] and {+new+} elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console(soft_wrap=True)
        with console.capture() as capture:
            console.print(diff_rich(rewrite), end="")
        return capture.get()
    return diff_plain(rewrite)


def diff_plain(rewrite: "Rewrite") -> str:
    """Without colours: [-old-] and {+new+}."""
    pieces = []
    for same, old, new in _parts(rewrite):
        pieces += [same, f"[-{old}-]" if old else "", f"{{+{new}+}}" if new else ""]
    return "".join(pieces)


def diff_html(rewrite: "Rewrite") -> str:
    """The same for a notebook, as `explain` and its page show it."""
    reason = rewrite.error or rewrite.reason
    note = f'<p class="status">{html.escape(reason)}</p>' if reason else ""
    return in_notebook(f'<section class="card">{rewrite_html(rewrite)}{note}</section>')


def rewrite_html(rewrite: "Rewrite") -> str:
    """The text with its edits, to be put into a page."""
    return f'<p class="prose">{marked(rewrite)}</p>'


def marked(rewrite: "Rewrite") -> str:
    """The text with its edits as HTML's <del> and <ins>, with the score as a tooltip."""
    scores = [f"{edit.score:.3f}" for edit in rewrite.edits] + [""]
    out = []
    for (same, old, new), score in zip(_parts(rewrite), scores, strict=True):
        title = f'title="Score {score}"'
        out.append(html.escape(same))
        out.append(f"<del {title}>{html.escape(old)}</del>" if old else "")
        out.append(f"<ins {title}>{html.escape(new)}</ins>" if new else "")
    return "".join(out)
