"""Scripts without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

ICU cuts them into words, BudouX Japanese into phrases, if they are there.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff\u19e0-\u19ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_WIDE = "\u3001-\u3004\u3008-\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # marks: 、 。 「 （ ！
_JOINING = "\u0300-\u036f\u200b-\u200d\ufe00-\ufe0f"  # accents, invisible joints, variants: part of what they follow
_UNSPACED = re.compile(f"[{SCRIPTS}]")
_TIGHT = re.compile(f"[{SCRIPTS}{_WIDE}]")
_RUN = re.compile(f"([{SCRIPTS}][{SCRIPTS}{_JOINING}]*)|([{_WIDE}])\\2*|[^{SCRIPTS}{_WIDE}]+")
_KANA = re.compile("[\u3041-\u30ff]")
_PARTICLES = frozenset("はがをにでともへのやかよね")
_INVISIBLE = re.compile(f"[{_JOINING}]+")


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of such a script."""
    return not text.isascii() and bool(_UNSPACED.search(text))


def is_tight(character: str) -> bool:
    """Whether a character, a letter of such a script or one of its marks, is written without spaces around it."""
    return bool(_TIGHT.match(character))


@cache
def segmenter() -> str | None:
    """What cuts words out of such text, with versions; None if the packages are not installed."""
    try:
        import budoux
        import icu4py
    except ImportError:
        return None
    return f"ICU {icu4py.icu_version}, BudouX {budoux.__version__}"


def stretches(chunk: str) -> Iterator[tuple[int, int, bool]]:
    """The words of such scripts in a chunk, and what lies between them: start, end, and whether it may have more words.

    Nothing is cut, with a warning, where the packages are missing.
    """
    if segmenter() is None:
        _warn()
        yield 0, len(chunk), True
        return
    for run in _RUN.finditer(chunk):
        if run[1]:
            yield from ((run.start() + a, run.start() + b, False) for a, b in _cut(run[1]))
        else:
            yield run.start(), run.end(), not run[2]


@lru_cache(maxsize=4096)
def _cut(run: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the words of a run of letters."""
    icu, budoux = _libraries()
    ends = _ends(icu(run, "und"))  # the offsets that ICU gives are of UTF-16, so the words are counted
    if _KANA.search(run):
        # ICU takes Japanese verbs apart, BudouX leaves particles with their nouns
        phrases = _ends(budoux.parse(run))
        ends = sorted({*phrases, *(end - 1 for end in phrases if run[end - 1] in _PARTICLES and end - 1 in ends)})
    return tuple(pairwise([0, *ends]))


def _ends(words: Iterable[str]) -> list[int]:
    """Where words end; an invisible joint belongs to the one before."""
    ends = list[int]()
    at = 0
    for word in words:
        at += len(word)
        if ends and _INVISIBLE.fullmatch(word):
            ends.pop()
        ends.append(at)
    return ends


@cache
def _libraries() -> tuple[Any, Any]:
    import budoux
    from icu4py.breakers import WordBreaker

    return WordBreaker, budoux.load_default_japanese_parser()


@cache
def _warn() -> None:
    logging.getLogger("masker").warning(
        "masker: warning: text without spaces is not cut into words, so nothing in it is replaced; "
        "pip install 'masker-nlp[languages]'"
    )
