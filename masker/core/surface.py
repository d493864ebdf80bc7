"""How an infill is written into a text: its spaces and capitals (the model itself may know neither).

The words of the span and the white space around them are written anew; white space that stays the same is trimmed off
again, so an edit holds no more than it changes, and every character outside it stays as it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from masker.core.spans import Span
from masker.core.text import Text, is_clitic, is_punctuation, split_words

_CLOSING = re.compile(r"[.,!?;:%)\]}»”…]+")
_OPENING = re.compile(r"[(\[{«“¿¡$£€#]+")
_SENTENCE_END = re.compile(r"[.!?…]+")
_AROUND = re.compile(r"[\"'`‘’“”«»()\[\]{}¿¡*]+")  # may stand between a full stop and the sentence after it
_CLITIC = re.compile(r"(?<!\S)(?:(\w*n) (['’]) (t)|(['’]) (s|m|re|ve|ll|d))(?!\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Replacement:
    """`source[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def replacement(text: Text, span: Span, infill: str, *, fixed: Sequence[bool]) -> Replacement:
    """Write the decoded pieces `infill` in the place of `span`. Words that are `fixed` never change their case."""
    words, heir = _with_case(text, span, infill_words(infill), fixed)
    begin = text.words[span.start - 1].end if span.start else 0
    finish = text.words[span.stop].start if span.stop < len(text.words) else len(text.source)
    new = _with_spaces(text, span, words, begin, finish)
    if heir is not None:  # a word after the span changes its case, so the edit reaches up to it
        k, word = heir
        new += text.source[finish : text.words[k].start] + word
        finish = text.words[k].end
    while begin < finish and new and text.source[begin] == new[0] and new[0].isspace():
        begin, new = begin + 1, new[1:]
    while begin < finish and new and text.source[finish - 1] == new[-1] and new[-1].isspace():
        finish, new = finish - 1, new[:-1]
    return Replacement(begin, finish, new)


@lru_cache(maxsize=65_536)
def infill_words(infill: str) -> tuple[str, ...]:
    """The words of decoded pieces. WordPiece gives `n ' t`, `_ num _`, `2 . 5`, `so - so` for `n't`, `_num_` ..."""
    if infill.replace(" ", "").isalpha():
        return tuple(infill.split())
    infill = _CLITIC.sub(lambda m: "".join(filter(None, m.groups())), infill)
    infill = re.sub(r"(?<!\S)([a-z]) (['’]) (?=\w)", r"\1\2", infill)  # o'clock, c'mon
    infill = re.sub(r"(?<!\S)_ (\w+) _(?!\S)", r"_\1_", infill)
    infill = re.sub(r"(\d) ([.,:]) (?=\d)", r"\1\2", infill)
    infill = re.sub(r"(?<=\w) ([-/]) (?=\w)", r"\1", infill)
    infill = re.sub(r"(?<!\S)(?:\. \. \.|` `|' ')(?!\S)", lambda m: m.group().replace(" ", ""), infill)
    return tuple(infill[a:b] for a, b in split_words(infill))


# -- spaces ------------------------------------------------------------------------------------------------------------


def is_tokenised(text: Text) -> bool:
    """Whether punctuation and clitics stand apart in a text, as in `do n't go .`, more often than not."""
    apart = [
        1 if text.words[i].start > text.words[i - 1].end else -1
        for i in range(1, len(text.words))
        if _kind(text.word(i)) == "closing"
    ]
    return sum(apart) > 0


def _with_spaces(text: Text, span: Span, words: list[str], begin: int, finish: int) -> str:
    """The infilled words with the white space between and around them: all that comes between both neighbours."""
    left = text.word(span.start - 1) if span.start else None
    right = text.word(span.stop) if span.stop < len(text.words) else None
    if span.start == span.stop:
        gap = text.source[begin:finish]
        return _inserted(gap, left, words, right, natural=not is_tokenised(text)) if words else gap
    first, last = text.word(span.start), text.word(span.stop - 1)
    before = text.source[begin : text.words[span.start].start]
    after = text.source[text.words[span.stop - 1].end : finish]
    if words:
        alike = _kind(first) == _kind(words[0]) and _kind(last) == _kind(words[-1])
        if alike and len(words) == 1:
            return before + words[0] + after
        natural = not is_tokenised(text)
        if _kind(first) != _kind(words[0]) and left is not None:
            before = _between(left, words[0], before, holds=_is_mark(left) and not _is_mark(first), natural=natural)
        if _kind(last) != _kind(words[-1]) and right is not None:
            after = _between(words[-1], right, after, holds=_is_mark(right) and not _is_mark(last), natural=natural)
        return before + _joined(words, natural) + after
    if left is None or right is None:
        return before if left is None else after
    if _is_mark(right) and not _is_mark(last):
        return after  # a mark stands to the words around it as it did
    if _is_mark(left) and not _is_mark(first):
        return before
    nothing = "" if _is_mark(right) or _kind(left) == "opening" else " "
    return after if "\n" in after else before or after or nothing


def _inserted(gap: str, left: str | None, words: list[str], right: str | None, *, natural: bool) -> str:
    """Words inserted where only white space was, or nothing: there a mark holds on to one of its neighbours."""
    before, after = gap, " "
    if right is None and left is not None:
        before, after = " ", gap
    elif not gap and left is not None and right is not None:
        to_right = _is_mark(left) and (not _is_mark(right) or _kind(left) == "opening")
        before, after = ("", " ") if to_right else (" ", "")
    if left is not None and not _space(left, words[0], natural):
        before = ""
    if natural and right is not None and _kind(words[-1]) == "opening":
        after = ""
    return before + _joined(words, natural) + after


def _between(left: str, right: str, gap: str, *, holds: bool, natural: bool) -> str:
    """White space between a neighbour and an infill of another kind than what stood there."""
    if holds:  # a mark that stood there holds on to what comes, or keeps its distance
        return gap
    return gap or " " if _space(left, right, natural) else ""


def _joined(words: Sequence[str], natural: bool) -> str:
    return words[0] + "".join(_space(a, b, natural) + b for a, b in pairwise(words))


def _space(left: str, right: str, natural: bool) -> str:
    clings = _kind(right) == "closing" and not (is_clitic(right) and _is_mark(left))
    return "" if natural and (clings or _kind(left) == "opening") else " "


@lru_cache(maxsize=65_536)
def _kind(word: str) -> str:
    if is_clitic(word) or _CLOSING.fullmatch(word):
        return "closing"
    if _OPENING.fullmatch(word):
        return "opening"
    return "mark" if _is_mark(word) else "word"


def _is_mark(word: str) -> bool:
    return all(map(is_punctuation, word))


# -- case --------------------------------------------------------------------------------------------------------------


def _with_case(
    text: Text, span: Span, words: Sequence[str], fixed: Sequence[bool]
) -> tuple[list[str], tuple[int, str] | None]:
    """Infilled words in the case of their place; and the next word of the text, with its index, if its case changes."""
    if not any(map(str.isupper, text.source)):
        return [w.lower() for w in words], None
    if _is_shouted(text.source):
        return [w.upper() for w in words], None
    now = [text.word(i) for i in range(len(text.words))]
    old = [w for w in now[span.start : span.stop] if w.upper() != w.lower()]
    if old and all(map(_is_shouted, old)):
        words = [w.upper() for w in words]
    names = {now[i].lower(): now[i] for i in range(span.start, span.stop) if not _starts_sentence(now, i)}
    words = [names.get(w, "I" + w[1:] if re.fullmatch(r"i(['’]\w+)?", w) else w) for w in words]
    sentences = next(filter(str.isalpha, text.source), "").isupper()  # do they begin with a capital here?
    first = next((w for w in now[span.start :] if _is_spoken(w)), "")
    capital = _starts_sentence(now, span.start) and (first[0].isupper() if first[:1].isalpha() else sentences)
    new: list[str] = []
    for word in words:
        if capital and _is_spoken(word):
            word, capital = word[0].upper() + word[1:], False
        new.append(word)
        capital = capital or bool(sentences and word != "..." and _SENTENCE_END.fullmatch(word))

    k = next((k for k in range(span.stop, len(now)) if _is_spoken(now[k])), None)
    if k is None or any(fixed[span.stop : k + 1]):
        return new, None
    before = [*now[: span.start], *new, *now[span.stop : k]]
    was_first, is_first = _starts_sentence(now, k), _starts_sentence(before, len(before))
    heir = now[k]
    if capital and is_first and not was_first:  # a deleted first word hands its capital on
        heir = heir[0].upper() + heir[1:]
    elif was_first and not is_first and _may_be_lowered(now, k):
        heir = heir[0].lower() + heir[1:]
    return new, (k, heir) if heir != now[k] else None


def _is_spoken(word: str) -> bool:
    return any(map(str.isalnum, word))


def _is_shouted(words: str) -> bool:
    return words.isupper() and sum(map(str.isalpha, words)) > 1


def _starts_sentence(words: Sequence[str], i: int) -> bool:
    """Whether word i is the first of the text or of a sentence, marks before it aside."""
    for k in range(i - 1, -1, -1):
        if _SENTENCE_END.fullmatch(words[k]):
            return True
        if not _AROUND.fullmatch(words[k]):
            return not any(map(_is_spoken, words[:i]))
    return True


def _may_be_lowered(words: Sequence[str], i: int) -> bool:
    """A sentence's first word loses its capital unless it looks like its own: `I`, `NASA`, a name seen elsewhere."""
    word = words[i]
    if not word[:1].isupper() or any(c.isupper() or c.isdigit() for c in word[1:]) or re.match(r"I(?!\w)", word):
        return False
    return not any(other == word and not _starts_sentence(words, k) for k, other in enumerate(words) if k != i)
