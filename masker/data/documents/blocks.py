"""Blocks of prose, and how an edit of a block's text is written into the source that the text was read from.

A block is read piece by piece. Words are edited. A line break reads as a space, and is kept where an edit has a space
to put it. Marks, such as those of emphasis and links, read as nothing; things, such as inline code, read as CODE. Both
stay, byte for byte, in their order.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple

from masker.core.edits import Edit

CODE = "`code`"  # what the editor sees of a thing: a word that it knows, with no full stop and no style in it


class Role(Enum):
    """What a piece is to an edit."""

    WORDS = "words"
    BREAK = "break"
    OPEN = "open"
    CLOSE = "close"
    THING = "thing"


_SIGNS = {Role.OPEN: "\x01", Role.CLOSE: "\x02", Role.THING: "\x03"}
# Marks with nothing between them, or with white space inside, which are no emphasis in Markdown; and footnote marks
# that have lost their word.
_FAULT = re.compile("(?<!\x01)(\x01++)(?=\\s|\x02|$)|(?:^|\\s)[\x02\x03]")


class Piece(NamedTuple):
    """`source[start:end]`, which reads as `text`: the same characters, or others in place of all of them (`&amp;`)."""

    start: int
    end: int
    text: str
    role: Role = Role.WORDS


@dataclass(frozen=True)
class Block:
    """A paragraph, a heading, a cell: `text` is what the editor reads. `kind` is what its format calls it."""

    kind: str
    source: str = field(repr=False)  # of the whole document
    pieces: tuple[Piece, ...]

    @property
    def start(self) -> int:
        return self.pieces[0].start

    @property
    def end(self) -> int:
        return self.pieces[-1].end

    @cached_property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @cached_property
    def words(self) -> list[str]:
        """Its words as white space parts them, without marks and things."""
        spoken = "".join(piece.text for piece in self.pieces if piece.role in (Role.WORDS, Role.BREAK))
        return [word for word in spoken.split() if any(map(str.isalpha, word))]

    def is_prose(self) -> bool:
        """Whether there is something to edit: a single word without a full stop is a label, in whatever style."""
        return len(self.words) > 1 or (len(self.words) == 1 and not self.words[0][-1].isalnum())

    def shape(self) -> tuple[str, ...]:
        """What no edit changes: its kind, its marks and its things."""
        return self.kind, *(self.source[p.start : p.end] for p in self.pieces if p.role in _SIGNS)

    def place(self, edit: Edit, escape: Callable[[str], str]) -> Edit | None:
        """An edit of the text as one of the source; None where marks or things are in its way."""
        roomy = self._with_room(edit)
        return self._placed(roomy, escape) or (self._placed(edit, escape) if roomy != edit else None)

    @cached_property
    def _units(self) -> list[Piece]:
        """What an edit takes or leaves: characters, or all of what reads as something else."""
        units: list[Piece] = []
        for piece in self.pieces:
            if piece.role is Role.WORDS and piece.text == self.source[piece.start : piece.end]:
                units += [Piece(at, at + 1, char) for at, char in enumerate(piece.text, piece.start)]
            else:
                units.append(piece)
        return units

    @cached_property
    def _edges(self) -> list[int]:
        """Where units begin in the text, and where it ends."""
        return list(accumulate((len(unit.text) for unit in self._units), initial=0))

    def _placed(self, edit: Edit, escape: Callable[[str], str]) -> Edit | None:
        units, edges = self._units, self._edges
        if edit.start == edit.end:
            return self._inserted(edit, escape)
        first = bisect_right(edges, edit.start) - 1  # inside of marks that begin there
        stop = bisect_left(edges, edit.end)
        covered = units[first:stop]
        halved = edges[first] != edit.start or edges[stop] != edit.end
        if halved or any(unit.role is Role.THING and unit.text for unit in covered):
            return None
        breaks = [self.source[unit.start : unit.end] for unit in covered if unit.role is Role.BREAK]
        # marks divide what goes into stretches: one of them gets what comes
        runs = [(silent, list(run)) for silent, run in groupby(covered, key=lambda unit: unit.role in _SIGNS)]
        longest_first = sorted(range(len(runs)), key=lambda k: -len(runs[k][1]))
        for chosen in [k for k in longest_first if not runs[k][0]]:
            after: list[Piece] = []
            new = ""
            for k, (silent, run) in enumerate(runs):
                if silent:
                    after += run
                    new += self.source[run[0].start : run[-1].end]
                elif k == chosen:
                    after.append(Piece(run[0].start, run[-1].end, edit.new))
                    new += _with_breaks(edit.new, breaks, escape)
            if self._is_sound(first, stop, after):
                start, end = covered[0].start, covered[-1].end
                return replace(edit, start=start, end=end, old=self.source[start:end], new=new)
        return None

    def _inserted(self, edit: Edit, escape: Callable[[str], str]) -> Edit | None:
        """Where marks stand, what is inserted goes to the word that it has no space to."""
        spots = range(bisect_left(self._edges, edit.start), bisect_right(self._edges, edit.start))
        for k in reversed(spots) if edit.new[-1:].isspace() else spots:
            at = self._units[k].start if k < len(self._units) else self.end
            if self._is_sound(k, k, [Piece(at, at, edit.new)]):
                return replace(edit, start=at, end=at, old="", new=escape(edit.new))
        return None

    def _is_sound(self, first: int, stop: int, after: list[Piece]) -> bool:
        """Whether the marks around are none the worse for `after` in the place of some units."""
        left, right = first, stop
        while left and self._units[left - 1].role in _SIGNS:
            left -= 1
        while right < len(self._units) and self._units[right].role in _SIGNS:
            right += 1
        around = slice(max(left - 1, 0), first), slice(stop, right + 1)
        before, following = self._units[around[0]], self._units[around[1]]
        return _faults([*before, *after, *following]) <= _faults([*before, *self._units[first:stop], *following])

    def _with_room(self, edit: Edit) -> Edit:
        """An edit that takes a line break and brings no space takes a space beside it too, to put the break there."""
        old = self._units[bisect_right(self._edges, edit.start) - 1 : bisect_left(self._edges, edit.end)]
        if " " in edit.new or not any(unit.role is Role.BREAK for unit in old):
            return edit
        if self.text[edit.end : edit.end + 1] == " ":
            return replace(edit, end=edit.end + 1, old=f"{edit.old} ", new=f"{edit.new} ")
        if self.text[: edit.start].endswith(" "):
            return replace(edit, start=edit.start - 1, old=f" {edit.old}", new=f" {edit.new}")
        return edit


def _with_breaks(new: str, breaks: list[str], escape: Callable[[str], str]) -> str:
    """New words with the line breaks that stood among the old ones, as far as there are spaces for them."""
    first, *others = new.split(" ")
    spaces = [*breaks, *[" "] * len(others)]
    return escape(first) + "".join(space + escape(word) for space, word in zip(spaces, others, strict=False))


def _faults(units: list[Piece]) -> int:
    signs = "".join(_SIGNS.get(unit.role, unit.text) for unit in units)
    return sum(len(opening) or 1 for opening in _FAULT.findall(signs))
