"""What no edit may touch, whatever the style: numbers, links, names of people's accounts, code."""

import re
from collections.abc import Collection, Iterable

from masker.core.matching import Pattern, compiled
from masker.core.text import not_unicode
from masker.core.unspaced import SCRIPTS, is_unspaced
from masker.errors import MaskerError

_W = rf"(?:(?![{SCRIPTS}])\w)"  # where words are not parted by spaces, a number ends where they begin
# a run of characters is looked at from its beginning alone: from every place in it would take the square of its length
STANDARD = re.compile(
    rf"https?://(?:(?![{SCRIPTS}])\S)+|www\.(?:(?![{SCRIPTS}])\S)+"  # links
    r"|(?<![\w-])[\w-]+\.(?:com|org|net|edu|gov|io|de|fr|uk)\b(?:/\S*)?"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w"  # addresses
    rf"|(?<!\w)[@#](?:{_W}+|\w+)"  # accounts and tags
    r"|`[^`\n]+`"  # code
    rf"|(?:(?<!\S)[+−-])?(?:[$£€¥]\s?)?\d(?:(?:{_W}|[.,:/%°-])*(?:{_W}|[%°]))?"  # numbers, amounts, dates
    r"|[¼-¾⅐-↉①-⓿]+"  # fractions, Roman and circled numbers
    r"|(?<=[\w,;:] )[\"“][A-Z][^\"”\n]{0,60}[\"”]"  # quoted names, not where a sentence begins
)
SIGN = re.compile(r"[\d@#`:\"“¼-¾⅐-↉①-⓿]|\.\S")  # without one of these, nothing of it is there
NAMES = re.compile(r"(?<=[\w,;:] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")  # not where a sentence begins


def patterns(protect: "str | re.Pattern[str] | None", keep: Collection[str], *, standard: bool) -> tuple[Pattern, ...]:
    """The patterns of a task: "none" is nothing at all, "names" the standard and capitalised names, any other pattern
    is added to the standard; so are the terms to `keep`, as whole words in any case.
    """
    found = [Pattern(STANDARD, sign=SIGN)] if standard and protect != "none" else []
    if protect == "names":
        found.append(Pattern(NAMES))
    elif protect and protect != "none":
        found.append(compiled(protect))
    if kept := [_term(term.strip()) for term in sorted(keep, key=len, reverse=True) if term.strip()]:
        found.append(Pattern(re.compile("|".join(kept), re.IGNORECASE)))
    return tuple(found)


def terms(name: str, given: Collection[str]) -> list[str]:
    """What was given as words, or as one of them, for the parameter of this name, checked."""
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for term in found:
        if not isinstance(term, str):
            raise MaskerError(f"`{name}` has {term!r:.60}; give words as text")
        if why := not_unicode(term):
            raise MaskerError(f"`{name}` has a word that is {why}")
    return found


def _term(term: str) -> str:
    """A term as a whole word, where words are parted by spaces."""
    return re.escape(term) if is_unspaced(term) else rf"(?<!{_W}){re.escape(term)}(?!{_W})"
