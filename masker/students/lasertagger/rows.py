"""Texts as a tagger's inputs, and its tags as texts again. Nothing here knows what computes the tags."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TypeVar

from masker.core.vocabulary import Vocabulary
from masker.students.lasertagger.tags import KEEP, Op, Tag, middle, realise, tokens

T = TypeVar("T")
Row = tuple[list[int], list[int]]  # ids, and the slots of words' first pieces and of the end


def pieces_of(vocabulary: Vocabulary, text: str) -> Iterator[Sequence[int]]:
    """The pieces of each word."""
    for k, chunk in enumerate(text.split()):
        yield from (pieces for _, _, pieces, _ in vocabulary.chunk(chunk, spaced=k > 0))


def rows_of(
    vocabulary: Vocabulary, words: Iterable[Sequence[int]], window: int, domain: int | None = None
) -> list[Row]:
    """The inputs for words: one, or several consecutive ones where they are longer than the window; none if none.

    A tagger that writes several domains is told by the token of one of them which it is to be.
    """
    start, end = vocabulary.start + ([] if domain is None else [domain]), vocabulary.end or [vocabulary.mask]
    room = window - len(start) - len(end)
    words = list(words)
    if sum(map(len, words)) <= room:
        slots = [*accumulate(map(len, words), initial=len(start))]
        return [([*start, *chain.from_iterable(words), *end], slots)] if words else []
    rows: list[Row] = []
    ids, slots = [*start], []
    for pieces in words:
        if slots and len(ids) - len(start) + len(pieces) > room:
            rows.append((ids + end, [*slots, len(ids)]))
            ids, slots = [*start], []
        slots.append(len(ids))
        ids.extend(pieces[:room])
    return [*rows, (ids + end, [*slots, len(ids)])] if slots else rows


def joined(parts: Sequence[Sequence[T]]) -> list[T]:
    """The tags of a text, from those of its rows: where it goes on, nothing is added at the end of a row."""
    return [number for part in parts[:-1] for number in part[:-1]] + [*parts[-1]] if parts else []


def written(text: str, tags: Sequence[Tag]) -> str:
    """The text that tags make of `text`; white space between words that stay together stays as it was."""
    source = tokens(text)
    cut = middle(source)
    tags = [tag if tag.op != Op.SWAP or k == cut else _kept(tag) for k, tag in enumerate(tags)]
    if text == " ".join(text.split()):
        return realise(source, tags)
    before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
    return before + realise(source, tags, list(_gaps(text))) + after


def _kept(tag: Tag) -> Tag:
    """A swap that a model has put where there is nothing to be swapped."""
    return Tag(Op.KEEP, tag.phrase) if tag.phrase else KEEP


def _gaps(text: str) -> Iterator[str]:
    """The white space before each token."""
    for space, chunk in re.findall(r"(\s*)(\S+)", text):
        yield from (space, *[""] * (len(tokens(chunk)) - 1))
