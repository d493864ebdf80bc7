"""Random documents and random edits: all that is no prose stays, byte for byte, and what was found is found again."""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents import KINDS, Document
from masker.data.documents.blocks import Role

INLINE = {
    "markdown": [
        "*soup*", "**very bad** food", "_rude_", "`x = 1`", "``a ` b``",
        '[the *staff*](http://x.y/z "t")', "[here][a]",
        "![alt](i.png)", "<https://x.y>", "<b>bold</b>", "<code>if</code>", "&amp;", r"\*", "$a_b$", "$5", "[^1]",
        "a\\\nb", "~~old~~", "<!-- no -->", ":smile:", "{{ page.x }}", "***both***", "[", "]", "*", "_", "<", "`",
    ],
    "html": [
        "<b>very bad</b> food", "<i>", "</i>", "<code>if x</code>", "&amp;", "&lt;", "&nbsp;", "<br>", "<!-- no -->",
        "<a href='x?a=1&b=2'>the staff</a>", "<img src=x>", "<", "&", "<script>var bad = 1</script>", "AT&T",
    ],
    "plain": ["http://x.y/z", "*", ">", "(so)"],
}  # fmt: skip
BEFORE = {
    "markdown": [
        "", "# ", "## ", "- ", "* ", "1. ", "> ", "> - ", "  - ", "    ", "```\n", "| a | ", "|-|-|\n", "[a]: http://x\n",
        "[^1]: ", "---\n", "<div>\n", "</div>\n", "$$\n", "<p>", "\t",
    ],
    "html": ["", "<p>", "</p>", "<div>", "<li>", "<h1>", "<pre>", "</pre>", "<td>", "<style>p{}</style>", "  "],
    "plain": ["", "- ", "> ", "  ", "1. ", "====\n"],
}  # fmt: skip
WORDS = ["bad", "the", "food", "was", "not", "so", "good", "Very", "staff,", "it's", "déjà", "vu.", "(rude)", "a|b"]
NEW = ["great", "really good", "", "so, so", "<b>", "*", "-", "1.", "# nice", "a & b", "_num_", "$5", "[x](y)", "\\"]


@st.composite
def documents(draw: st.DrawFn, kind: str) -> str:
    seed = draw(st.integers(0, 2**32))
    chance = random.Random(seed)
    parts = []
    for _ in range(draw(st.integers(0, 8))):
        parts.append(chance.choice(BEFORE[kind]))
        for _ in range(chance.randrange(8)):
            parts.append(chance.choice(WORDS if chance.random() < 0.7 else INLINE[kind]))
            parts.append(chance.choice([" ", " ", " ", " ", "\n", "  \n", "\n> ", ""]))
        parts.append(chance.choice(["\n", "\n\n", " |\n", "\n```\n", ""]))
    source = "".join(parts)
    return source.replace("\n", "\r\n") if chance.random() < 0.2 else source


def edited(text: str, chance: random.Random) -> Rewrite:
    """A text with up to three edits at any places, apart from each other."""
    points = sorted(chance.sample(range(len(text) + 1), min(2 * chance.randrange(1, 4), (len(text) + 1) // 2 * 2)))
    spans = [(a, b) for a, b in zip(points[::2], points[1::2], strict=True) if b - a < 20]
    edits = tuple(Edit(a, b, text[a:b], new, 0.0) for a, b in spans if (new := chance.choice(NEW)) != text[a:b])
    return Rewrite(text, apply_edits(text, edits), None, "x", edits)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_all_that_is_no_prose_stays(kind: str, data: st.DataObject) -> None:
    source = data.draw(documents(kind))
    document = Document.read(source, kind)
    check_blocks(document)
    nothing = document.rewrite(Rewrite(text, text, None, "x") for text in document.texts)
    assert nothing.text == source

    chance = random.Random(data.draw(st.integers(0, 2**32)))
    done = document.rewrite([edited(text, chance) for text in document.texts])
    assert all(a.end <= b.start for a, b in pairwise(done.edits))
    assert all(source[edit.start : edit.end] == edit.old for edit in done.edits)
    again = Document.read(done.text, kind)
    assert outside(again) == outside(document)
    wanted = {block.block.start: block.rewrite.text for block in done.blocks}
    assert [block.text for block in again.blocks] == [wanted.get(b.start, b.text) for b in document.blocks]
    check_blocks(again)


def check_blocks(document: Document) -> None:
    end = 0
    for block in document.blocks:
        assert block.start >= end
        assert all(a.end == b.start for a, b in pairwise(block.pieces))
        end = block.end
        for piece in block.pieces:
            there = document.source[piece.start : piece.end]
            if piece.role is Role.WORDS:
                assert piece.text == there or there[0] in "&\\"
            elif piece.role is Role.BREAK:
                assert re.fullmatch(r"[\s>]*[\r\n][\s>]*", there)


def outside(document: Document) -> list[str]:
    """Everything that is no prose, in order: between blocks, and marks and things in them."""
    found, at = list[str](), 0
    for block in document.blocks:
        found += [document.source[at : block.start], *block.shape()]
        at = block.end
    return [*found, document.source[at:]]
