"""What no edit may touch, whatever the style: numbers, links, names of people's accounts, code."""

import re
from collections.abc import Collection

from masker.core.unspaced import SCRIPTS, is_unspaced
from masker.errors import MaskerError

_W = rf"(?:(?![{SCRIPTS}])\w)"  # where words are not parted by spaces, a number ends where they begin
STANDARD = re.compile(
    rf"https?://(?:(?![{SCRIPTS}])\S)+|www\.(?:(?![{SCRIPTS}])\S)+"  # links
    r"|\b[\w-]+\.(?:com|org|net|edu|gov|io|de|fr|uk)\b(?:/\S*)?"
    r"|[\w.+-]+@[\w-]+\.[\w.-]*\w"  # addresses
    rf"|(?<!\w)[@#](?:{_W}+|\w+)"  # accounts and tags
    r"|`[^`\n]+`"  # code
    rf"|(?:[$£€¥]\s?)?\d(?:(?:{_W}|[.,:/%°-])*(?:{_W}|[%°]))?"  # numbers, amounts, dates
    r"|(?<=[\w,;:] )[\"“][A-Z][^\"”\n]{0,60}[\"”]"  # quoted names, not where a sentence begins
)
NAMES = re.compile(r"(?<=[\w,;:] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")  # not where a sentence begins


def patterns(
    protect: "str | re.Pattern[str] | None", keep: Collection[str], *, standard: bool
) -> tuple[re.Pattern[str], ...]:
    """The patterns of a task: "none" is nothing at all, "names" the standard and capitalised names, any other pattern
    is added to the standard; so are the terms to `keep`, as whole words in any case.
    """
    found = [STANDARD] if standard and protect != "none" else []
    if protect == "names":
        found.append(NAMES)
    elif protect and protect != "none":
        try:
            found.append(re.compile(protect))
        except re.error as error:
            raise MaskerError(f"'{protect}' is no valid pattern: {error}") from error
    if terms := [_term(term.strip()) for term in sorted(keep, key=len, reverse=True) if term.strip()]:
        found.append(re.compile("|".join(terms), re.IGNORECASE))
    return tuple(found)


def _term(term: str) -> str:
    """A term as a whole word, where words are parted by spaces."""
    return re.escape(term) if is_unspaced(term) else rf"(?<!{_W}){re.escape(term)}(?!{_W})"
