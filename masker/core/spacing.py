"""White space between words, as the text at hand has it: `do n't go .`, `Don't go.`, `N'y va pas !`, `别去！`"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from masker.core.text import Text, is_clitic, is_punctuation, split_words
from masker.core.unspaced import is_tight, is_unspaced

_CLOSING = re.compile(r"[.,!?;:%)\]}»›”…،؛؟۔।॥։።။។៕、。，．！？；：％）］｝」』】》〉〕｡､｣]+")
_OPENING = re.compile(r"[(\[{«‹“„‚¿¡$£€#（［｛「『【《〈〔｢]+")
_HIGH = frozenset("!?;:%»›«‹")  # that French sets apart, a narrow space before or after them
_REVERSED = re.compile(r"(?<!\S)»\w")  # »so« as in German books
_NO_BREAK = frozenset("\u00a0\u202f\u2007")

Gaps = Mapping[str, str]  # by marks: the white space before a closing one, after an opening one


@dataclass(frozen=True)
class Spacing:
    """How a text is spaced: whether its marks cling to words, but for some that stand `apart`; what its quotation marks
    are, if not the usual; and what stands between words of a script without spaces, and between them and others.
    """

    natural: bool
    apart: Gaps
    quotes: Mapping[str, str]
    tight: str = ""
    mixed: str = ""

    @classmethod
    def of(cls, text: Text, usual: Gaps) -> "Spacing":
        """By the marks of a text; `usual` are those that the texts of a model set apart."""
        return _spacing(text.source, tuple(usual.items()))

    def kind(self, word: str) -> str:
        return self.quotes.get(word) or kind_of(word)

    def between(self, left: str, right: str) -> str:
        """The white space between two words that have none yet."""
        one, other = self.kind(left), self.kind(right)
        if self.natural:
            if other == "closing" and not (is_clitic(right) and is_mark(left)):
                return self.apart.get(right[0], "")
            if one == "opening":
                return self.apart.get(left[-1], "")
        return self.loose(left, right)

    def loose(self, left: str, right: str) -> str:
        """The same where no mark clings."""
        tight = is_tight(left[-1]), is_tight(right[0])
        if not any(tight):
            return " "
        return self.tight if all(tight) or is_mark(left) or is_mark(right) else self.mixed

    def kept(self, gap: str, left: str, right: str) -> str:
        """The white space between two words that have become neighbours where `gap` was."""
        space = self.between(left, right)
        return (plain(gap) or space) if space == " " else space

    def joined(self, words: Sequence[str]) -> str:
        return words[0] + "".join(self.between(a, b) + b for a, b in pairwise(words))


@lru_cache(maxsize=8192)  # as many texts as are edited at a time
def _spacing(source: str, usual: tuple[tuple[str, str], ...]) -> Spacing:
    gaps = _gaps(source, split_words(source))
    quotes = {"“": "closing"} if "„" in source else {}
    if _REVERSED.search(source):
        quotes |= {"»": "opening", "«": "closing"}
    low, high = _counted(gaps)
    high = {mark: some for mark, some in high.items() if mark not in quotes}  # what was counted is the other side
    seen = [gap for some in high.values() for gap in some]
    balance = sum(1 if gap else -1 for gap in seen)
    clings = low < 0 or (not low and bool(usual or any(gap and not plain(gap) for gap in seen)))
    natural = low + balance <= 0 or clings
    apart = dict(usual) if balance >= 0 else {}
    if natural and high:  # each as it is seen; others as the model's texts have them, or as most are seen
        common = _most(seen)
        apart = (dict.fromkeys(_HIGH, common) if common else {}) | apart | {m: _most(s) for m, s in high.items()}
    return Spacing(natural, apart, quotes, *_between_scripts(gaps) if is_unspaced(source) else ())


def is_tokenised(text: Text) -> bool:
    """Whether punctuation and clitics stand apart in a text, as in `do n't go .`, more often than not."""
    return not Spacing.of(text, {}).natural


def usual_gaps(texts: Iterable[str]) -> dict[str, str]:
    """The marks that texts set apart though others cling to their words, as in French, with their white space."""
    low, high = 0, defaultdict[str, list[str]](list)
    for text in texts:
        count, found = _counted(_gaps(text, split_words(text)))
        low += count
        for mark, seen in found.items():
            high[mark] += seen
    return {mark: gap for mark, seen in sorted(high.items()) if (gap := _most(seen))} if low < 0 else {}


def plain(gap: str) -> str:
    """White space without the no-break spaces that belong to a mark: `` if it was one."""
    return gap if gap.isascii() or not _NO_BREAK & {*gap} else ""


@lru_cache(maxsize=65_536)
def kind_of(word: str) -> str:
    if is_clitic(word) or _CLOSING.fullmatch(word):
        return "closing"
    if _OPENING.fullmatch(word):
        return "opening"
    return "mark" if is_mark(word) else "word"


def may_stand_apart(word: str) -> bool:
    """Whether French sets a mark apart."""
    return word[:1] in _HIGH


def is_mark(word: str) -> bool:
    return all(map(is_punctuation, word))


def _gaps(source: str, words: Sequence[tuple[int, int]]) -> list[tuple[str, str, str]]:
    """Neighbours, with the white space between them."""
    return [(source[a:b], source[b:c], source[c:d]) for (a, b), (c, d) in pairwise(words)]


def _counted(gaps: Sequence[tuple[str, str, str]]) -> tuple[int, dict[str, list[str]]]:
    """By how much more of the closing marks stand apart than cling; and the white space of those French sets apart."""
    low, high = 0, defaultdict[str, list[str]](list)
    for k, (left, gap, right) in enumerate(gaps):
        if kind_of(right) == "closing":
            glued = right in ":;" and k + 1 < len(gaps) and not gaps[k + 1][1] and is_mark(gaps[k + 1][2])  # a smiley
            if not may_stand_apart(right):
                low += 1 if gap else -1
            elif not glued:
                high[right[0]].append(gap)
        elif left in "«‹":
            high[left].append(gap)
    return low, high


def _most(gaps: Iterable[str]) -> str:
    """The most frequent white space, if it stands there more often than not."""
    counts = Counter(gaps)
    bare = counts.pop("", 0)
    return max(counts, key=lambda gap: counts[gap]) if counts.total() > bare else ""


def _between_scripts(gaps: Sequence[tuple[str, str, str]]) -> tuple[str, str]:
    """What stands between two words of scripts without spaces, and between one of them and another word."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for left, gap, right in gaps:
        tight = is_tight(left[-1]), is_tight(right[0])
        if any(tight) and not is_mark(left) and not is_mark(right):
            found[all(tight)].append(gap[:1])
    return _most(found[True]), _most(found[False])
