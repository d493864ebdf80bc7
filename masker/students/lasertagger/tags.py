"""LaserTagger's edits: a pair becomes a tag for every word of its source, and tags become the target again.

A token is a word with the space before it, if there is one, so that tokens written one after the other are the text.
Tag k belongs to token k, and a last one to the end of the text, where there is only something to be added.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from masker.core.alignment import common_subsequence
from masker.core.text import split_chunk
from masker.core.unspaced import is_tight

_SENTENCE_END = re.compile(r" ?[.!?]+")
# Where one order of sentences adds no more words than this, the other is not looked at: nothing is left to be gained.
_FEW = 3
_LONG = 20  # characters of a chunk: longer ones, of scripts without spaces, do not come again


class Op(IntEnum):
    """What becomes of a token. SWAP keeps the last token of the first of two sentences, and swaps the two."""

    KEEP = 0
    DELETE = 1
    SWAP = 2


class Tag(NamedTuple):
    """An operation, and a phrase that is added before its token."""

    op: Op
    phrase: str = ""


KEEP, DELETE, SWAP = map(Tag, Op)


class Alignment(NamedTuple):
    """Tags with any phrases, in the order of the source's tokens, and how many words they add."""

    tags: tuple[Tag, ...]
    added: int


def tokens(text: str) -> list[str]:
    """The words of a text, each with the space before it; the first has one too, whatever the text begins with."""
    return [token for chunk in text.split() for token in (_chunk_tokens if len(chunk) < _LONG else _cut)(chunk)]


def _cut(chunk: str) -> tuple[str, ...]:
    return tuple((" " if a == 0 else "") + chunk[a:b] for a, b in split_chunk(chunk))


_chunk_tokens = lru_cache(maxsize=1 << 20)(_cut)


def middle(source: Sequence[str]) -> int | None:
    """Index of the token that ends the first sentence where there are exactly two, None otherwise."""
    ends = [k for k in range(len(source) - 1) if _SENTENCE_END.fullmatch(source[k])]
    apart = [k for k in ends if source[k][0] == " "]  # in tokenised text the others belong to abbreviations
    found = apart or ends
    return found[0] if len(found) == 1 else None


# -- pairs to tags -----------------------------------------------------------------------------------------------------


def align(source: Sequence[str], target: Sequence[str]) -> list[Alignment]:
    """The one or two ways to tag `source` by the longest common subsequence: as it stands and swapped, best first."""
    plain = _align(source, target, None)
    cut = middle(source) if plain.added > _FEW else None
    if cut is None:
        return [plain]
    swapped = _align(source, target, cut)
    if swapped.tags[cut].op != Op.KEEP:
        return [plain]
    tags = [*swapped.tags]
    tags[cut] = Tag(Op.SWAP, tags[cut].phrase)
    both = [plain, Alignment(tuple(tags), swapped.added)]
    return sorted(both, key=lambda alignment: alignment.added)


def _align(source: Sequence[str], target: Sequence[str], cut: int | None) -> Alignment:
    places = _order(len(source), cut)
    matches = common_subsequence(source if cut is None else [source[k] for k in places], target)
    places.append(len(source))
    tags = [*[DELETE] * len(source), KEEP]
    i = j = added = 0
    for a, b in [*matches, (len(source), len(target))]:
        tags[places[a]] = KEEP
        if j < b:  # what replaces words is added before the first of them
            at = places[i]
            tags[at] = Tag(tags[at].op, "".join(target[j:b]))
            added += b - j
        i, j = a + 1, b + 1
    return Alignment(tuple(tags), added)


# -- tags to text ------------------------------------------------------------------------------------------------------


def realise(source: Sequence[str], tags: Sequence[Tag], gaps: Sequence[str] | None = None) -> str:
    """The text that tags make of tokens. `gaps` is the white space before each as written, where it is not as usual."""
    cut = next((k for k, tag in enumerate(tags) if tag.op == Op.SWAP), None)
    parts: list[str] = []
    last = ""  # the last character written
    before = -1  # the token that was written last, if nothing came after it
    for k in [*_order(len(source), cut), len(source)]:
        tag = tags[k]
        if tag.phrase:
            parts.append(tag.phrase)
            last, before = tag.phrase[-1], -2
        if k == len(source) or tag.op == Op.DELETE:
            continue
        token = source[k]
        if gaps is not None and k == before + 1 and k:
            token = gaps[k] + token.lstrip(" ")
        elif k != before + 1 and last.isalnum() and token[0].isalnum() and not (is_tight(last) or is_tight(token[0])):
            token = " " + token  # its mark is gone, as of `(really)`
        parts.append(token)
        last, before = token[-1], k
    return "".join(parts).strip(" ")


def _order(size: int, cut: int | None) -> list[int]:
    """The tokens in the order in which they are written."""
    return [*range(size)] if cut is None else [*range(cut + 1, size), *range(cut + 1)]


# -- the phrases -------------------------------------------------------------------------------------------------------


def phrase_vocabulary(alignments: Iterable[Sequence[Alignment]], size: int) -> list[str]:
    """The `size` phrases that most pairs add, in the best alignment of each, the most frequent first."""
    counts = Counter(p for ways in alignments for p in {tag.phrase for tag in ways[0].tags} if p)
    return sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:size]


class TagSet:
    """The tags that a student knows: each operation alone, and KEEP and DELETE with every phrase."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self.phrases = list(phrases)
        added = [Tag(op, phrase) for phrase in phrases for op in (Op.KEEP, Op.DELETE)]
        self.tags = [KEEP, DELETE, SWAP, *added]
        self._index = {tag: k for k, tag in enumerate(self.tags)}

    def __len__(self) -> int:
        return len(self.tags)

    def convert(self, source: Sequence[str], target: Sequence[str]) -> list[int] | None:
        """The tags, by number, that make `target` of `source` exactly; None where the phrases do not suffice."""
        return self.number(align(source, target), source, target)

    def number(self, alignments: Sequence[Alignment], source: Sequence[str], target: Sequence[str]) -> list[int] | None:
        """The first of the alignments of a pair whose tags are all known."""
        for alignment in alignments:
            known = [self._index.get(tag, -1) for tag in alignment.tags]
            if -1 not in known and realise(source, alignment.tags) == "".join(target).strip(" "):
                return known
        return None
