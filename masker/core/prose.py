"""Texts as people write them, which is how a language model has read them; and back to how they came in.

Corpora are often lower-cased, with spaces round every mark: `i do n't like it .` is shown as `I don't like it.`. What a
language model writes is put into the text as it came in, word by word, and so becomes edits of it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from masker.core.alignment import differences
from masker.core.edits import Edit, Rewrite, compose
from masker.core.protection import STANDARD
from masker.core.segments import sentence_ends
from masker.core.spacing import Spacing, is_tokenised
from masker.core.spans import Span
from masker.core.surface import replacement
from masker.core.text import Text, Word, split_words

_QUOTES = {"``": "“", "''": "”"}  # of the Penn Treebank; these know which way they face
_STRAIGHT = str.maketrans("“”", '""')
_I = re.compile(r"i(?:['’]\w+)?")
_APART = re.compile(r"(?<=\w)(?=(?:n['’]t|['’](?:s|m|d|ll|re|ve))(?!\w))|(?<=[$£€#])(?=\w)", re.IGNORECASE)


def plain_text(source: str) -> Text:
    """The words of a text, without pieces."""
    return Text(source, tuple(Word(start, end, (), ()) for start, end in split_words(source)))


def as_written(source: str) -> str:
    """A text that is lower-cased or space-tokenised, or both, as a person would write it; others stay as they are."""
    text = plain_text(source)
    words = [text.word(i) for i in range(len(text.words))]
    if not any(map(str.isupper, source)):
        words = _capitalised(text, words)
    if is_tokenised(text):
        natural = Spacing(natural=True, apart={}, quotes={})
        return natural.joined([_QUOTES.get(word, word) for word in words]).translate(_STRAIGHT)
    for (start, end, *_), word in zip(reversed(text.words), reversed(words), strict=True):
        source = source[:start] + word + source[end:]
    return source


def rewritten(source: str, written: str, *, from_: str | None, to: str, score: float) -> Rewrite:
    """The rewrite that makes of a text what was `written` for it, in the text's own case and spacing.

    Words that both have in common stay untouched, and so do numbers, links and their like. Each edit has the `score`.
    """
    rewrite, text = Rewrite(source, source, from_, to), plain_text(source)
    if is_tokenised(text):
        written = _APART.sub(" ", written)
    new = [written[start:end] for start, end in split_words(written)]
    kept = [span for m in STANDARD.finditer(source) for span in [m.span()] if m.group()]
    for hole, fresh in reversed(_holes([text.word(i) for i in range(len(text.words))], new)):
        if any(a < text.words[i].end and text.words[i].start < b for i in range(*hole) for a, b in kept):
            continue
        now = plain_text(rewrite.text)  # the same words up to this hole
        r = replacement(now, hole, " ".join(fresh), fixed=[False] * len(now.words))
        edit = Edit(r.start, r.end, rewrite.text[r.start : r.end], r.new, score)
        changed = edit.apply(rewrite.text)
        if changed != rewrite.text and any(map(str.isalnum, changed)):
            rewrite = replace(rewrite, edits=compose(rewrite, edit), text=changed)
    return rewrite


def _capitalised(text: Text, words: Sequence[str]) -> list[str]:
    """The words with capitals where sentences begin, and for `I`."""
    found, starts, first = list[str](), {0, *sentence_ends(text)}, False
    for i, word in enumerate(words):
        first = first or i in starts
        if first and any(map(str.isalnum, word)):
            word, first = word[0].upper() + word[1:], False
        found.append("I" + word[1:] if _I.fullmatch(word) else word)
    return found


def _holes(old: Sequence[str], new: Sequence[str]) -> list[tuple[Span, list[str]]]:
    """Words that go, and those that come in their place, between words that stay."""
    one, other = ([_QUOTES.get(word, word).translate(_STRAIGHT).lower() for word in words] for words in (old, new))
    return [(Span(*gone), list(new[slice(*come)])) for gone, come in differences(one, other)]
