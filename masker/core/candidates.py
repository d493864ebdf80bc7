"""Which infills are edits that could be made, and what they look like in their text."""

import re
from collections.abc import Sequence
from unicodedata import is_normalized, normalize

from masker.core.scoring import SpanScores
from masker.core.spans import Span
from masker.core.surface import Replacement, infill_words, replacement
from masker.core.task import Task
from masker.core.text import Text, is_punctuation, split_words
from masker.core.vocabulary import Vocabulary


def written(task: Task, text: Text, span: Span, pieces: Sequence[int], fixed: Sequence[bool]) -> Replacement | None:
    """Pieces written into a text in the place of a span, or None if that is no candidate.

    It is none if it is what stands there already, if it begins with a continuation piece, if it holds half a character
    or a forbidden word, or if no word would be left.
    """
    vocabulary = task.vocabulary
    if list(pieces) == text.pieces[text.bounds[span.start] : text.bounds[span.stop]]:
        return None
    if pieces and vocabulary.continuation[pieces[0]] and not (vocabulary.spaced and _opens(text, span.start)):
        return None
    return placed(task, text, span, spelt(vocabulary, text, span, pieces), fixed)


def spelt(vocabulary: Vocabulary, text: Text, span: Span, pieces: Sequence[int]) -> str:
    """The characters of an infill. Words of the span keep the accents that the tokenizer has taken off them, and all
    accents are written as the text writes them: composed, or as characters of their own.
    """
    left = text.words[span.start - 1].pieces if span.start else ()  # context enough to decode an infill in
    infill = vocabulary.infill(left, pieces)
    if text.source.isascii() or not pieces:
        return infill
    apart = not is_normalized("NFC", text.source) and is_normalized("NFD", text.source)
    infill = normalize("NFD", infill) if apart else infill
    for i in range(span.start, span.stop):
        known = normalize("NFD" if apart else "NFC", vocabulary.infill((), text.words[i].pieces)).lower()
        if not text.word(i).isascii() and known != text.word(i).lower():
            infill = re.sub(rf"(?<!\S){re.escape(known)}(?!\S)", lambda _, i=i: text.word(i).lower(), infill)  # type: ignore[misc]
    return infill


def placed(task: Task, text: Text, span: Span, infill: str, fixed: Sequence[bool]) -> Replacement | None:
    """Characters written into a text in the place of a span, or None if that is no candidate."""
    words = infill_words(infill)
    if "\ufffd" in infill or not all(map(str.isprintable, words)):
        return None
    r = write(task.vocabulary, text, span, infill, fixed)
    new = text.source[: r.start] + r.new + text.source[r.end :]
    if new == text.source or not any(map(str.isalnum, new)):
        return None
    return None if task.forbid and _says_forbidden(task, text.source, new, words) else r


def _says_forbidden(task: Task, before: str, after: str, infill: Sequence[str]) -> bool:
    """Whether a text has come to say a forbidden word or phrase, or says it more often."""
    here = {(word.lower(),) for word in infill}
    if here & task.forbidden:
        return True
    was, now = (tuple(text[a:b].lower() for a, b in split_words(text)) for text in (before, after))
    return any(  # `do n't` may have become `don't`
        _count(now, phrase) > _count(was, phrase) for phrase in task.forbidden
    )


def write(vocabulary: Vocabulary, text: Text, span: Span, infill: str, fixed: Sequence[bool]) -> Replacement:
    """Characters in the place of a span, spelt and spaced as the texts of the vocabulary are."""
    if vocabulary.cased:
        fixed = [keep or vocabulary.is_name(text.word(i)) for i, keep in enumerate(fixed)]
    return replacement(
        text, span, infill, fixed=fixed, cased=vocabulary.cased, usual=vocabulary.gaps, names=vocabulary.names
    )


def realised(task: Task, scores: SpanScores, k: int, fixed: Sequence[bool]) -> Replacement | None:
    """The infill of span k written into the text, or None if it is no candidate."""
    pieces = [piece for piece in scores.infills[k].tolist() if piece != task.frame.pad]
    return written(task, scores.text, scores.spans[k], pieces, fixed)


def _count(words: tuple[str, ...], phrase: tuple[str, ...]) -> int:
    if len(phrase) == 1:
        return words.count(phrase[0])
    return sum(words[k : k + len(phrase)] == phrase for k in range(len(words) - len(phrase) + 1))


def _opens(text: Text, i: int) -> bool:
    """Whether word i begins the text or follows a mark directly: there a piece without a space begins a word."""
    if i == 0:
        return True
    directly = i < len(text.words) and text.words[i].start == text.words[i - 1].end
    return directly and all(map(is_punctuation, text.word(i - 1)))
