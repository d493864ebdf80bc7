"""What no edit may touch, whatever the style: numbers, links, names of people's accounts, code."""

import re
from collections.abc import Collection

from masker.errors import MaskerError

STANDARD = re.compile(
    r"https?://\S+|www\.\S+|\b[\w-]+\.(?:com|org|net|edu|gov|io|de|fr|uk)\b(?:/\S*)?"  # links
    r"|[\w.+-]+@[\w-]+\.[\w.-]*\w"  # addresses
    r"|(?<!\w)[@#]\w+"  # accounts and tags
    r"|`[^`\n]+`"  # code
    r"|(?:[$£€¥]\s?)?\d(?:[\w.,:/%°-]*[\w%°])?"  # numbers, amounts, dates
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
    if terms := [re.escape(term.strip()) for term in sorted(keep, key=len, reverse=True) if term.strip()]:
        found.append(re.compile(rf"(?<!\w)(?:{'|'.join(terms)})(?!\w)", re.IGNORECASE))
    return tuple(found)
