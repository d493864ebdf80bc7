"""How an infill is written into a text: its spaces and capitals (the model itself may know neither).

The words of the span and the white space around them are written anew; white space that stays the same is trimmed off
again, so an edit holds no more than it changes, and every character outside it stays as it was.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from masker.core.spacing import Gaps, Spacing, is_mark, kind_of, may_stand_apart, plain
from masker.core.spans import Span
from masker.core.text import Text, ends_sentence, split_words
from masker.core.unspaced import SCRIPTS, is_unspaced

_AROUND = re.compile(r"[\"'`‘’“”„«»‹›()\[\]{}¿¡*「『（【《]+")  # may stand between a full stop and what follows
_CLITIC = re.compile(r"(?<!\S)(?:(\w*n) (['’]) (t)|(['’]) (s|m|re|ve|ll|d))(?!\S)", re.IGNORECASE)
_ELISION = re.compile(  # o'clock, c'mon; l'eau, qu'il, aujourd'hui; dell'acqua
    r"(?<!\S)([^\W\d_]|\w*qu|aujourd|prud|(?:d[ae]|ne|su|que)ll|degl|quest) (['’]) (?=\w)", re.IGNORECASE
)
_LOOSE = re.compile(f"(?<=[{SCRIPTS}]) (?=[{SCRIPTS}])")  # tokenizers take Chinese apart
_QUOTES = frozenset('"“„«‹「『')
_PLAIN = Spacing(natural=True, apart={}, quotes={})
_TURKISH = frozenset("ıİğĞ")
_NAMED = 0.8  # of the times that a name is there, at least, it is written so

Names = Mapping[str, str]


class Replacement(NamedTuple):
    """`source[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def replacement(
    text: Text, span: Span, infill: str, *, fixed: Sequence[bool], cased: bool = False, usual: Gaps | None = None,
    names: Names | None = None,
) -> Replacement:  # fmt: skip
    """Write the decoded pieces `infill` in the place of `span`. Words that are `fixed` never change their case.

    `cased`: the capitals of the infill are meant; `usual` are marks that texts like this one set apart, and `names` are
    words that they write with capitals, by what these are in small letters.
    """
    words, heir = _with_case(text, span, infill_words(infill), fixed, cased, names or {})
    if heir is None and len(words) == 1 and _is_alike(text, span, words[0]):
        return Replacement(text.words[span.start].start, text.words[span.stop - 1].end, words[0])
    begin = text.words[span.start - 1].end if span.start else 0
    finish = text.words[span.stop].start if span.stop < len(text.words) else len(text.source)
    new = _with_spaces(text, span, words, begin, finish, usual or {})
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
    if infill.replace(" ", "").isalpha() and not is_unspaced(infill):
        return tuple(infill.split())
    infill = _CLITIC.sub(lambda m: "".join(filter(None, m.groups())), infill)
    infill = _ELISION.sub(r"\1\2", infill)
    infill = re.sub(r"(?<!\S)_ (\w+) _(?!\S)", r"_\1_", infill)
    infill = re.sub(r"(\d) ([.,:]) (?=\d)", r"\1\2", infill)
    infill = re.sub(r"(?<=\w) ([-/]) (?=\w)", r"\1", infill)
    infill = re.sub(r"(?<!\S)(?:\. \. \.|` `|' ')(?!\S)", lambda m: m.group().replace(" ", ""), infill)
    if is_unspaced(infill):
        infill = _LOOSE.sub("", infill)
    return tuple(infill[a:b] for a, b in split_words(infill))


# -- spaces ------------------------------------------------------------------------------------------------------------


def _with_spaces(text: Text, span: Span, words: list[str], begin: int, finish: int, usual: Gaps) -> str:
    """The infilled words with the white space between and around them: all that comes between both neighbours."""
    left = text.word(span.start - 1) if span.start else None
    right = text.word(span.stop) if span.stop < len(text.words) else None
    if span.start == span.stop:
        gap = text.source[begin:finish]
        return _inserted(gap, left, words, right, _spacing(text, usual, left, *words, right)) if words else gap
    first, last = text.word(span.start), text.word(span.stop - 1)
    before = text.source[begin : text.words[span.start].start]
    after = text.source[text.words[span.stop - 1].end : finish]
    if words:
        if len(words) == 1 and _is_alike(text, span, words[0]):
            return before + words[0] + after
        spacing = _spacing(text, usual, left, *words, right)
        # a mark that stood there holds on to what comes, or keeps its distance
        changed = kind_of(first) != kind_of(words[0]) or may_stand_apart(first) != may_stand_apart(words[0])
        if changed and left is not None and not (is_mark(left) and not is_mark(first)):
            before = spacing.kept(before, left, words[0])
        if kind_of(last) != kind_of(words[-1]) and right is not None and not (is_mark(right) and not is_mark(last)):
            after = spacing.kept(after, words[-1], right)
        return before + spacing.joined(words) + after
    if left is None or right is None:
        return before if left is None else after
    if is_mark(right) and (not is_mark(last) or (kind_of(right) == "closing" and not after)):
        return after  # a mark stands to the words around it as it did
    if is_mark(left) and not is_mark(first):
        return before
    if "\n" in after:
        return after
    if gap := plain(before) or plain(after):
        return gap
    return "" if is_mark(right) or kind_of(left) == "opening" else Spacing.of(text, usual).between(left, right)


def _is_alike(text: Text, span: Span, word: str) -> bool:
    """Whether a word stands to its neighbours as those of a span do, so that the white space around them stays."""
    if span.start == span.stop:
        return False
    first, last, kind = text.word(span.start), text.word(span.stop - 1), kind_of(word)
    alike = kind_of(first) == kind and kind_of(last) == kind
    return alike and (not span.start or may_stand_apart(first) == may_stand_apart(word))


def _spacing(text: Text, usual: Gaps, *words: str | None) -> Spacing:
    """How a text is spaced, as far as it matters to some words: between plain ones there is a space in any of them."""
    plain_words = all(word is None or (word.isascii() and word.isalnum()) for word in words)
    return _PLAIN if plain_words else Spacing.of(text, usual)


def _inserted(gap: str, left: str | None, words: list[str], right: str | None, spacing: Spacing) -> str:
    """Words inserted where only white space was, or nothing: there a mark holds on to one of its neighbours."""
    before, after = gap, " " if right is None else spacing.loose(words[-1], right)
    if right is None and left is not None:
        before, after = spacing.loose(left, words[0]), gap
    elif left is not None and right is not None:
        if not gap:
            to_right = is_mark(left) and (not is_mark(right) or spacing.kind(left) == "opening")
            before, after = ("", after) if to_right else (spacing.loose(left, words[0]), "")
        elif not plain(gap) and is_mark(right):
            before, after = spacing.loose(left, words[0]), gap  # the no-break space before a mark stays there
    clings = spacing.kind(words[0]) == "closing" or (left is not None and spacing.kind(left) == "opening")
    if left is not None and clings and not plain(space := spacing.between(left, words[0])):
        before = space
    if spacing.natural and right is not None and spacing.kind(words[-1]) == "opening":
        after = spacing.between(words[-1], right)
    return before + spacing.joined(words) + after


# -- case --------------------------------------------------------------------------------------------------------------


def _with_case(
    text: Text, span: Span, words: Sequence[str], fixed: Sequence[bool], cased: bool, names: Names
) -> tuple[list[str], tuple[int, str] | None]:
    """Infilled words in the case of their place; and the next word of the text, with its index, if its case changes."""
    turkish, upper, lower = _letters(text.source)
    turkish = turkish or not _TURKISH.isdisjoint("".join(words))
    if not upper:
        keeps = cased and not lower  # a script without case
        return [w if keeps else _lower(w, turkish) for w in words], None
    if _is_shouted(text.source):
        return [_upper(w, turkish) for w in words], None
    now = [text.word(i) for i in range(len(text.words))]
    old = [w for w in now[span.start : span.stop] if w.upper() != w.lower()]
    if old and all(len(w) > 2 and _is_shouted(w) for w in old):  # "OK" is not shouted
        words = [_upper(w, turkish) for w in words]
    here = {now[i].lower(): now[i] for i in range(span.start, span.stop) if not _starts_sentence(now, i)}
    if not cased:
        words = [here.get(w) or names.get(w, "I" + w[1:] if re.fullmatch(r"i(['’]\w+)?", w) else w) for w in words]
    sentences = next(filter(str.isalpha, text.source), "").isupper()  # do they begin with a capital here?
    first = next((w for w in now[span.start :] if _is_spoken(w)), "")
    capital = _starts_sentence(now, span.start) and (first[0].isupper() if first[:1].isalpha() else sentences)
    new: list[str] = []
    for word in words:
        if capital and _is_spoken(word):
            word, capital = _upper(word[0], turkish, str.title) + word[1:], False
        new.append(word)
        capital = capital or (sentences and word != "..." and ends_sentence(word))

    k = next((k for k in range(span.stop, len(now)) if _is_spoken(now[k])), None)
    if k is None or any(fixed[span.stop : k + 1]):
        return new, None
    before = [*now[: span.start], *new, *now[span.stop : k]]
    was_first, is_first = _starts_sentence(now, k), _starts_sentence(before, len(before))
    heir = now[k]
    if capital and is_first and not was_first:  # a deleted first word hands its capital on
        heir = _upper(heir[0], turkish, str.title) + heir[1:]
    elif was_first and not is_first and heir.lower() not in names and _may_be_lowered(now, k):
        heir = _lower(heir[0], turkish) + heir[1:]
    return new, (k, heir) if heir != now[k] else None


def usual_names(texts: Iterable[str], most: int) -> list[str]:
    """The words that texts write with capitals inside of sentences, the most frequent ones if there are more."""
    inside = defaultdict[str, Counter[str]](Counter)
    for text in texts:
        words = [text[a:b] for a, b in split_words(text)]
        for k, word in enumerate(words):
            if word[0].isalpha() and not _starts_sentence(words, k):
                inside[word.lower()][word] += 1
    usual = [(*forms.most_common(1)[0], forms.total()) for forms in inside.values()]
    found = [(-count, word) for word, count, of in usual if not word.islower() and count > max(1, _NAMED * of)]
    return sorted(word for _, word in sorted(found)[:most])


@lru_cache(maxsize=8192)  # as many texts as are edited at a time
def _letters(source: str) -> tuple[bool, bool, bool]:
    """Whether a text has letters that are Turkish alone, capitals, and small letters."""
    return not _TURKISH.isdisjoint(source), any(map(str.isupper, source)), any(map(str.islower, source))


def _lower(word: str, turkish: bool) -> str:
    return (word.replace("İ", "i").replace("I", "ı") if turkish else word).lower()


def _upper(word: str, turkish: bool, how: Callable[[str], str] = str.upper) -> str:
    return how(word.replace("i", "İ") if turkish else word)


def _is_spoken(word: str) -> bool:
    return any(map(str.isalnum, word))


def _is_shouted(words: str) -> bool:
    return words.isupper() and sum(map(str.isalpha, words)) > 1


def _starts_sentence(words: Sequence[str], i: int) -> bool:
    """Whether word i is the first of the text or of a sentence, marks before it aside."""
    for k in range(i - 1, -1, -1):
        if ends_sentence(words[k]) or (words[k] == ":" and words[k + 1 : i] and words[k + 1] in _QUOTES):
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
