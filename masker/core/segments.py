"""What is edited at a time: a sentence of a text, or the whole of it, with what the model sees around it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from masker.core.spans import Span, protected_words
from masker.core.task import Range, Task
from masker.core.text import Text, ends_sentence, has_end, is_punctuation
from masker.core.unspaced import is_tight
from masker.core.vocabulary import Vocabulary

LONGEST = 64  # words of a segment: what goes on for longer without a sentence's end is cut
CONTEXT = 64  # pieces that the model sees at a time, where it is not known how many it is used to
_ABBREVIATION = re.compile(
    r"(?i:mr|mrs|ms|dr|prof|st|mt|jr|sr|vs|etc|approx|no|nr|e\.g|i\.e|z\.b|u\.a|a\.m|p\.m|m|mme|bzw|ca)|[A-Z](?:\.[A-Z])*"
)


@dataclass(frozen=True)
class Unit:
    """How texts are cut: into sentences or, where it is the sentences that the domains differ in, only where a text has
    more pieces than `longest`. The model is shown up to `longest` pieces of whole sentences at a time.
    """

    sentences: bool = False
    longest: int | None = None


@dataclass(frozen=True)
class Passage:
    """Words to be edited, in a text that may be a part of a longer one, which it begins `offset` characters after."""

    text: Text
    words: Span
    keep: Sequence[Range]  # characters of it that no edit may touch
    offset: int = 0

    @cached_property
    def fixed(self) -> list[bool]:
        """Which words of the text no edit may touch."""
        return protected_words(self.text, self.keep)

    @cached_property
    def written(self) -> dict[Any, Any]:
        """What becomes of changes to it: a student says most of what it says in several moods."""
        return {}


def passages(task: Task, source: str, unit: Unit) -> list[Passage]:
    """The parts of a text that are edited, each by itself; no cut goes through what is protected."""
    text, asked = task.vocabulary.read(source), (task.protect, unit.sentences, unit.longest)
    for known, found in text.parts:  # by one or two that ask
        if known == asked:
            return found
    text.parts.append((asked, _passages(task, text, unit)))
    return text.parts[-1][1]


def _passages(task: Task, text: Text, unit: Unit) -> list[Passage]:
    keep = task.keep(text)
    parts = list(split(text, keep, unit))
    if len(parts) == 1:
        return [Passage(text, parts[0], keep)]
    found = []
    for k, part in enumerate(parts):
        seen = _around(text, parts, k, unit.longest or CONTEXT)
        start, end = text.words[seen.start].start, text.words[seen.stop - 1].end
        kept = [(a - start, b - start) for a, b in keep if a < end and b > start]
        if part is not parts[-1] and all(map(is_punctuation, text.word(part.stop - 1))):
            last = text.words[part.stop - 1]  # protected as a text's final mark is, and nothing comes after it
            kept.append((last.start - start, last.end - start + 1))
        inner = task.vocabulary.read(text.source[start:end])
        found.append(Passage(inner, Span(part.start - seen.start, part.stop - seen.start), kept, start))
    return found


def split(text: Text, keep: Sequence[Range], unit: Unit) -> Iterator[Span]:
    """Sentences, or as many of them at a time as fit into `longest` pieces."""
    if not text.words:
        return
    if not unit.sentences and (unit.longest is None or len(text.pieces) <= unit.longest):
        yield from _cut(0, len(text.words))
        return
    start, ends = 0, [*sentence_ends(text, keep)]
    for end, after in pairwise([*ends, len(text.words)]):
        if unit.sentences or text.bounds[after] - text.bounds[start] > (unit.longest or 0):
            yield from _cut(start, end)
            start = end
    yield from _cut(start, len(text.words))


def sentence_ends(text: Text, keep: Sequence[Range] = ()) -> Iterator[int]:
    """The words before which a new sentence begins. A mark after a mark belongs to the sentence before."""
    if not text.words or not has_end(text.source, text.words[-1].start):
        return
    cased = any(map(str.isupper, text.source))
    spoken = False  # whether the sentence has a word yet
    for i in range(1, len(text.words)):
        last, word = text.words[i - 1], text.words[i]
        spoken = spoken or not all(map(is_punctuation, text.word(i - 1)))
        touching = last.end == word.start and not is_tight(text.source[last.end - 1])
        if not spoken or touching or not _ends(text, i, cased):
            continue
        if any(start < last.end and word.start < end for start, end in keep):
            continue
        if any(map(str.isalnum, text.source[word.start :])):
            spoken = False
            yield i


def shape(vocabulary: Vocabulary, texts: Sequence[str]) -> dict[str, float]:
    """How many sentences texts have on average, and how many words a sentence."""
    read = [text for text in map(vocabulary.read, texts) if text.words]
    sentences = sum(1 + len([*sentence_ends(text)]) for text in read)
    words = sum(len(text.words) for text in read)
    return {"sentences": round(sentences / max(len(read), 1), 2), "words": round(words / max(sentences, 1), 1)}


def _ends(text: Text, i: int, cased: bool) -> bool:
    """Whether a sentence ends before word i."""
    if text.source.count("\n", text.words[i - 1].end, text.words[i].start) > 1:
        return True
    k = i - 1
    while k > 0 and all(map(is_punctuation, text.word(k))) and not ends_sentence(text.word(k)):
        k -= 1  # a closing quote or bracket
    mark = text.word(k)
    if not ends_sentence(mark) or k == 0:
        return False
    if mark[-1] in ".…":
        following = next(filter(str.isalnum, text.word(i)), "")
        if cased and following.islower():
            return False
        if mark in ("...", "…"):
            return following.isupper()
    apart = text.words[k].start > text.words[k - 1].end
    return apart or mark != "." or not _ABBREVIATION.fullmatch(text.word(k - 1))


def _cut(start: int, stop: int) -> Iterator[Span]:
    """Stretches of about the same length, none longer than LONGEST words."""
    if stop - start <= LONGEST:
        yield Span(start, stop)
        return
    count = -(-(stop - start) // LONGEST)
    edges = [start + (stop - start) * k // count for k in range(count + 1)]
    yield from (Span(a, b) for a, b in pairwise(edges))


def _around(text: Text, parts: Sequence[Span], k: int, most: int) -> Span:
    """A part with its neighbours, as many as fit into `most` pieces: what came before first."""
    first, last, bounds = k, k + 1, text.bounds
    while first and bounds[parts[last - 1].stop] - bounds[parts[first - 1].start] <= most:
        first -= 1
    while last < len(parts) and bounds[parts[last].stop] - bounds[parts[first].start] <= most:
        last += 1
    return Span(parts[first].start, parts[last - 1].stop)
