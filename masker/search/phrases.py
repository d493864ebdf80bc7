"""A phrase book: what may be said instead of phrases of a source domain, as people know it and no corpus tells.

A book is a text file with a line for each group of phrases:

    @heap = piece | heap | pile
    @heap of junk = bad thing | mess
    darned | blasted = - | really
    @heap [. and] = lot
    ... = little | big | old

`-` leaves a phrase out. `@heap` stands for each of its words, in a new phrase for the one that was found. What stands
behind `...`, and what may be left out, may stand between the words of a phrase, of which `a` and `an` are the same: `a
darned little heap of junk` has `heap of junk` in it. One of the words in `[ ]` must stand beside a phrase, where `.` is
any mark or no word, and `~ing` any word that ends so. A word that the book does not have is read as one that it has if
only signs differ, or letters that are said longer: `bl@sted`, `d*rned`, `daaarned`; or as `~arned~` or `darn~` if it
has these letters in it or begins with them. Where phrases overlap, all ways of saying it otherwise are drafts, those
first that replace most, by what stands first; there are none if the best one is what was said: `old heap = old heap`
keeps it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np

from masker.core.text import split_words
from masker.errors import MaskerError

Words = tuple[str, ...]
PHRASES = "phrases"  # the method that JSONL tells of
BETWEEN, NOTHING, PART = "...", "-", "~"
DRAFTS = 10  # of a sentence
WIDTH = 48  # of them that are kept on the way
LESS_USUAL, LONGER = 0.6, 0.6  # what it costs to take the next of several new phrases, and gains to replace a word
_GROUP = re.compile(r"@\w+")
_BESIDE = re.compile(r"(?:\[([^][]+)\])?([^][]+)(?:\[([^][]+)\])?")
_LONG, _SIGNS = re.compile(r"(.)\1\1+"), str.maketrans("@$!|1035", "asiiioes", "'’")
_PERSON = ("I'", "I’")  # as of `I'm`, which is written so inside of a sentence, too
_CLITIC = re.compile(r"['’](?:s|m|d|re|ve|ll)$")  # `who're` is no other spelling
_VOWELS, _NOT_VOWELS = tuple("aeiou"), (*(f"uni{c}" for c in "cfoqstv"), "use", "usu", "one", "eu")


class Part(NamedTuple):
    """Words from `start` up to `stop`, and what is said instead."""

    start: int
    stop: int
    new: str


Chain = tuple["Chain", Part] | None  # parts, the last one outermost: ways share their beginnings


class Phrasing(NamedTuple):
    """A draft, as writers have it."""

    written: str


class Slot(NamedTuple):
    """A word of a phrase; or a group, by its name, and what it stands for."""

    name: str
    options: tuple[Words, ...]


class Phrase(NamedTuple):
    """What is looked for, and what may be said instead, the most usual first."""

    slots: tuple[Slot, ...]
    news: tuple[str, ...]
    before: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()

    def found(self, words: Words, start: int, between: frozenset[str]) -> Iterator[tuple[int, float, list[str]]]:
        """Where it ends if it begins at a word, how many words of it there are, and what may be said instead."""
        if self.before and self.before.isdisjoint(_beside(words, start - 1)):
            return
        for stop, said in _ends(self.slots, words, start, between):
            if self.behind and self.behind.isdisjoint(_beside(words, stop)):
                continue
            size = sum(len(words_of(text)) for _, text in said) + (bool(self.before) + bool(self.behind)) / 2
            yield stop, size, [_named(new, said) for new in self.news]


@dataclass(frozen=True)
class PhraseBook:
    """Phrases, and words that may stand `between` theirs."""

    phrases: Sequence[Phrase]
    between: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def load(cls, path: Path) -> "PhraseBook":
        try:
            return cls.read(path.read_text("utf-8-sig").splitlines(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise MaskerError(f"cannot read the phrase book {path}: {error}") from error

    @classmethod
    def read(cls, lines: Iterable[str], name: str = "the phrase book") -> "PhraseBook":
        phrases, between = list[Phrase](), set[str]()
        groups: dict[str, tuple[Words, ...]] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            olds, news = ([part.strip() for part in side.split("|")] for side in (*line.split("=", 1), "")[:2])
            found = [_phrase(old, news, groups) for old in olds]
            if olds == [BETWEEN]:
                between.update(news)
            elif len(olds) == 1 and _GROUP.fullmatch(olds[0]) and olds[0] not in groups and all(news):
                groups[olds[0]] = tuple(words for new in news for words in groups.get(new, (words_of(new),)))
            elif all(news) and all(found):
                phrases += filter(None, found)
            else:
                raise MaskerError(f"{name}, line {number}: write OLD | OLD = NEW | NEW, with - for nothing")
        alone = (p for p in phrases if len(p.slots) == 1 and "" in p.news and not p.before | p.behind)
        left_out = {words[0] for phrase in alone for words in phrase.slots[0].options if len(words) == 1}
        return cls(phrases, frozenset(between | left_out))

    def write(self, texts: Sequence[str], to: str | None = None, *, beams: int | None = None) -> list[list[Phrasing]]:
        """Drafts of sentences, as a writer's: the best first, none for a sentence that has no phrase of the book."""
        return [[*map(Phrasing, self.drafts(text, beams or DRAFTS))] for text in texts]

    def drafts(self, text: str, most: int = DRAFTS) -> list[str]:
        found = (_written(text, parts) for parts in self._ways(tuple(map(self._meant, words_of(text)))))
        drafts = [*dict.fromkeys(filter(None, found))]
        return [] if drafts[:1] == [text] else [draft for draft in drafts if draft != text][:most]

    @cached_property
    def _words(self) -> dict[str, None]:
        slots = (words for phrase in self.phrases for slot in phrase.slots for words in slot.options)
        beside = (phrase.before | phrase.behind for phrase in self.phrases)
        return dict.fromkeys(word for words in (*slots, *map(sorted, beside)) for word in words)

    @cached_property
    def _parts(self) -> list[str]:
        return [word for word in self._words if word.endswith(PART)]

    def _meant(self, word: str) -> str:
        """A word as the book has it."""
        if word in self._words or len(set(word)) == 1 or not any(map(str.isalpha, word)):
            return word
        plain = word if word.isalpha() or _CLITIC.search(word) else word.translate(_SIGNS)
        ways = [way for way in (plain, _LONG.sub(r"\1", plain), _LONG.sub(r"\1\1", plain)) if way in self._words]
        if "*" in plain:
            ways += filter(re.compile(re.escape(plain).replace(r"\*", r"\w")).fullmatch, self._words)
        for part in self._parts:
            letters = part.strip(PART)
            ways += [part] * (letters in plain if part.startswith(PART) else plain.startswith(letters))
        return next(iter(ways), word)

    @cached_property
    def _by_first(self) -> dict[str, list[Phrase]]:
        found: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            for word in dict.fromkeys(words[0] for words in phrase.slots[0].options):
                found.setdefault(word, []).append(phrase)
        return found

    def _ways(self, words: Words) -> list[list[Part]]:
        """Ways to replace the phrases of a sentence, best first. A word that is a phrase by itself does not stay."""
        ways: list[list[tuple[float, Chain]]] = [[] for _ in range(len(words) + 1)]
        ways[0] = [(0.0, None)]
        for start, word in enumerate(words):
            found = [f for phrase in self._by_first.get(word, ()) for f in phrase.found(words, start, self.between)]
            stays = all(stop > start + 1 for stop, _, _ in found)
            for cost, parts in sorted(ways[start], key=lambda way: way[0])[:WIDTH]:
                if stays:
                    ways[start + 1].append((cost, parts))
                for stop, size, news in found:
                    for place, new in enumerate(news):
                        more = 0.5 + LESS_USUAL * place - LONGER * size
                        ways[stop].append((cost + more, (parts, Part(start, stop, new))))
        return [_unchained(parts) for _, parts in sorted(ways[-1], key=lambda way: way[0])[:WIDTH]]


def _unchained(chain: Chain) -> list[Part]:
    parts = list[Part]()
    while chain:
        chain, part = chain
        parts.append(part)
    return parts[::-1]


def trusted(sure: np.ndarray) -> np.ndarray:
    """How probably a reader accepts a first draft that a critic is so sure of, which has seen few like it.

    Fitted to 253 ratings of drafts from the book for comments.
    """
    return np.asarray(1 / (1 + np.exp(-(0.5 * np.log(sure / (1 - sure)) + 1.0))))


def words_of(text: str) -> Words:
    """Words as they are compared: in lower case, and with one article."""
    words = (text[a:b].lower() for a, b in split_words(text))
    return tuple("a" if word == "an" else word for word in words)


def _phrase(old: str, news: Sequence[str], groups: Mapping[str, tuple[Words, ...]]) -> Phrase | None:
    """A phrase; none if nothing is looked for, or a group that is not known."""
    parts = match.groups() if (match := _BESIDE.fullmatch(old)) else ("",) * 3
    before, slots, behind = (_slots(part or "", groups) for part in parts)
    if not slots or not all(slot.options for slot in (*before, *slots, *behind)):
        return None
    next_to = ((before, -1), (behind, 0))  # which of several words stands beside the phrase
    sides = (frozenset(words[k] for slot in side for words in slot.options) for side, k in next_to)
    return Phrase(slots, tuple("" if new == NOTHING else new for new in news), *sides)


def _beside(words: Words, place: int) -> tuple[str, ...]:
    """A word and its endings, or a mark and the dot for any, which is also for where there is none."""
    word = words[place] if 0 <= place < len(words) else ""
    endings = (PART + word[k:] for k in range(len(word)))
    return (word, *endings) if any(map(str.isalnum, word)) else (word, ".")


def _slots(phrase: str, groups: Mapping[str, tuple[Words, ...]]) -> tuple[Slot, ...]:
    """A phrase word by word; a group that is not known has no options."""
    found = list[Slot]()
    for chunk in phrase.split():
        if _GROUP.fullmatch(chunk):
            found.append(Slot(chunk, groups.get(chunk, ())))
        else:
            found += [Slot("", ((word,),)) for word in words_of(chunk)]
    return tuple(found)


def _ends(
    slots: Sequence[Slot], words: Words, at: int, between: frozenset[str], skip: bool = False
) -> Iterator[tuple[int, tuple[tuple[str, str], ...]]]:
    """Where slots end that are filled from a word on, and what they are filled with, by name."""
    if not slots:
        yield at, ()
        return
    while True:
        for option in slots[0].options:
            stop = at + len(option)
            if words[at:stop] == option:
                said = slots[0].name, " ".join(option)
                yield from ((end, (said, *more)) for end, more in _ends(slots[1:], words, stop, between, skip=True))
        if not skip or at >= len(words) or words[at] not in between:
            return
        at += 1


def _named(new: str, said: Sequence[tuple[str, str]]) -> str:
    """A new phrase with what was found in the place of the groups that it names."""
    return _GROUP.sub(lambda name: dict(said).get(name.group(), name.group()), new)


def _written(text: str, parts: Sequence[Part]) -> str:
    """A sentence with parts of it said otherwise: its case, spaces and articles go with that."""
    spans, old = split_words(text), words_of(text)
    by_start = {part.start: part for part in parts if words_of(part.new) != old[part.start : part.stop]}
    found, i = list[tuple[str, str, int]](), 0  # what stands before a word, the word, and which one of the text it is
    while i < len(spans):
        gap = text[spans[i - 1][1] if i else 0 : spans[i][0]]
        if part := by_start.get(i):
            mine = {text[a:b].lower(): text[a:b] for a, b in spans[i : part.stop] if text[a:b].startswith(_PERSON)}
            found += [(" " if k else gap, mine.get(word, word), -1) for k, word in enumerate(part.new.split())]
        else:
            found.append((gap, text[slice(*spans[i])], i))
        i = part.stop if part else i + 1
    opening = next((i for i, (a, b) in enumerate(spans) if any(map(str.isalnum, text[a:b]))), 0)
    while found[opening:] and not any(map(str.isalnum, found[opening][1])):  # no mark comes to stand before a sentence
        del found[opening]
    if found[opening:]:
        found[opening] = (text[spans[opening - 1][1] if opening else 0 : spans[opening][0]], *found[opening][1:])
    words = _with_articles([word for _, word, _ in found], [place for *_, place in found])
    if not words[opening:]:
        return ""
    if text[spans[opening][0]].isupper():
        words[opening] = words[opening][0].upper() + words[opening][1:]
    gaps = [
        gap or " " * (left[-1] + right[0]).isalnum()
        for (left, right), (gap, *_) in zip(pairwise(words), found[1:], strict=True)
    ]
    return text[: spans[0][0]] + words[0] + "".join(map(add, gaps, words[1:])) + text[spans[-1][1] :]


def _with_articles(words: list[str], places: Sequence[int]) -> list[str]:
    """`a` or `an`, as a word wants it that has come to stand behind it."""
    for k, ((article, word), (before, behind)) in enumerate(zip(pairwise(words), pairwise(places), strict=True)):
        together = 0 <= before == behind - 1  # as in the text: it is right, or its author's
        if article.lower() in ("a", "an") and word[0].isalpha() and not together:
            sounds = word.lower().startswith(_VOWELS) and not word.lower().startswith(_NOT_VOWELS)
            words[k] = article[0] + ("n" if sounds else "")
    return words
