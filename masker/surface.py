"""How an infill is written into a text: its spaces and capitals (the model itself may know neither).

The words of the span and the white space around them are written anew; whatever of that is unchanged is trimmed off
again, so an edit holds no more than it changes, and every character outside it stays as it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from masker.spans import Span
from masker.text import Text, is_clitic, is_punctuation, split_words

_CLOSING = re.compile(r"[.,!?;:%)\]}»”…]+")
_OPENING = re.compile(r"[(\[{«“¿¡]+")
_SENTENCE_END = re.compile(r"[.!?…]+")
_CLITIC = re.compile(r"(?<!\S)(?:(\w*n) (['’]) (t)|(['’]) (s|m|re|ve|ll|d))(?!\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Replacement:
    """`source[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def replacement(text: Text, span: Span, infill: str, *, fixed: Sequence[bool]) -> Replacement:
    """Write the decoded pieces `infill` in the place of `span`. Words that are `fixed` never change their case."""
    words = infill_words(infill)
    old = [text.word(i) for i in range(span.start, span.stop)]
    left = text.word(span.start - 1) if span.start else None
    right = text.word(span.stop) if span.stop < len(text.words) else None
    words, right_new = _with_case(text, span, words, right, right is not None and not fixed[span.stop])

    begin = text.words[span.start - 1].end if span.start else 0
    finish = text.words[span.stop].start if right is not None else len(text.source)
    if old:
        gap_left = text.source[begin : text.words[span.start].start]
        gap_right = text.source[text.words[span.stop - 1].end : finish]
    else:  # text is inserted before the right neighbour; what stood before that stays on the left
        gap_left = text.source[begin:finish]
        gap_right = "" if right is None else " " * bool(gap_left or left is None)
        if right is None and left is not None:
            gap_left, gap_right = "", gap_left

    tokenised = is_tokenised(text)
    if words:
        keep_left = bool(old) and _kind(old[0]) == _kind(words[0])
        keep_right = bool(old) and _kind(old[-1]) == _kind(words[-1])
        new = gap_left if keep_left else _gap(gap_left, left, words[0], tokenised)
        for before, word in zip([None, *words], words, strict=False):
            new += ("" if before is None else _gap("", before, word, tokenised)) + word
        new += gap_right if keep_right else _gap(gap_right, words[-1], right, tokenised)
    elif left is None or right is None:
        new = gap_left if left is None else gap_right
    else:
        kept = gap_right if "\n" in gap_right and "\n" not in gap_left else gap_left or gap_right
        new = _gap(kept, left, right, tokenised)
    if right is not None and right_new != right:
        new, finish = new + right_new, finish + len(right)
    return _trimmed(text.source, begin, finish, new)


def infill_words(infill: str) -> list[str]:
    """The words of decoded pieces. WordPiece gives `n ' t`, `_ num _`, `2 . 5`, `so - so` for `n't`, `_num_`, `2.5`, `so-so`."""
    infill = _CLITIC.sub(lambda m: "".join(filter(None, m.groups())), infill)
    infill = re.sub(r"(?<!\S)([a-z]) (['’]) (?=\w)", r"\1\2", infill)  # o'clock, c'mon
    infill = re.sub(r"(?<!\S)_ (\w+) _(?!\S)", r"_\1_", infill)
    infill = re.sub(r"(\d) ([.,:]) (?=\d)", r"\1\2", infill)
    infill = re.sub(r"\$ (?=\d)", "$", infill)
    infill = re.sub(r"(?<=\w) ([-/]) (?=\w)", r"\1", infill)
    return [infill[a:b] for a, b in split_words(infill)]


def is_tokenised(text: Text) -> bool:
    """Whether punctuation and clitics stand apart in a text, as in `do n't go .`"""
    for i in range(1, len(text.words)):
        word = text.word(i)
        if _CLOSING.fullmatch(word) or is_clitic(word):
            return text.words[i].start > text.words[i - 1].end
    return False


def _gap(gap: str, left: str | None, right: str | None, tokenised: bool) -> str:
    """White space between two words: what is there already, or a space, or nothing where none belongs."""
    if left is None or right is None:
        return gap
    glued = _CLOSING.fullmatch(right) or _OPENING.fullmatch(left) or is_clitic(right) or "-" in (left, right)
    return "" if glued and not tokenised else gap or " "


def _kind(word: str) -> str:
    if is_clitic(word) or _CLOSING.fullmatch(word):
        return "closing"
    return "opening" if _OPENING.fullmatch(word) else "word"


def _trimmed(source: str, start: int, end: int, new: str) -> Replacement:
    """Without the white space that the old and the new text share at either end."""
    while start < end and new and source[start] == new[0] and new[0].isspace():
        start, new = start + 1, new[1:]
    while start < end and new and source[end - 1] == new[-1] and new[-1].isspace():
        end, new = end - 1, new[:-1]
    return Replacement(start, end, new)


# -- case ------------------------------------------------------------------------------------------------------------------


def _with_case(text: Text, span: Span, words: list[str], right: str | None, free: bool) -> tuple[list[str], str | None]:
    """Infilled words in the case of their place, and the right neighbour in the case of its new place."""
    letters = [c for c in text.source if c.isalpha()]
    if not any(c.isupper() for c in letters):
        return [w.lower() for w in words], right
    old = [text.word(i) for i in range(span.start, span.stop)]
    shouted = [w for w in old if any(map(str.isalpha, w))] or [text.source]
    if all(w.isupper() and sum(map(str.isalpha, w)) > 1 for w in shouted):
        return [w.upper() for w in words], right

    words = [w.capitalize() if re.fullmatch(r"i(['’]\w+)?", w) else w for w in words]
    starts = _starts_sentence(text, span.start)
    first = old[0] if old else right or ""
    capital = first[:1].isupper() if starts else False  # the capital of a sentence's first word is handed on
    sentences = next(c for c in letters).isupper()
    new: list[str] = []
    for word in words:
        if capital and not all(map(is_punctuation, word)):
            word, capital = word[0].upper() + word[1:], False
        new.append(word)
        capital = capital or bool(sentences and _SENTENCE_END.fullmatch(word))
    if right is None or not free:
        return new, right
    was_first = _starts_sentence(text, span.stop)
    is_first = capital or (starts and not [w for w in words if not all(map(is_punctuation, w))])
    if capital:
        right = right[0].upper() + right[1:]
    elif was_first and not is_first and _may_be_lowered(text, span.stop):
        right = right[0].lower() + right[1:]
    return new, right


def _starts_sentence(text: Text, i: int) -> bool:
    """Whether word i is the first of the text or of a sentence, opening marks aside."""
    for k in range(i - 1, -1, -1):
        word = text.word(k)
        if _SENTENCE_END.fullmatch(word):
            return True
        if not (_OPENING.fullmatch(word) or word in "\"'‘"):
            return False
    return True


def _may_be_lowered(text: Text, i: int) -> bool:
    """A sentence's first word loses its capital unless that looks like its own: `I`, `NASA`, or a name seen elsewhere."""
    word = text.word(i)
    if not word[:1].isupper() or any(c.isupper() or c.isdigit() for c in word[1:]) or re.match(r"I(?!\w)", word):
        return False
    return not any(text.word(k) == word and not _starts_sentence(text, k) for k in range(len(text.words)) if k != i)
