"""Texts as people write them, with things in them that no edit may touch."""

import random

import pytest

from masker.api import Masker
from masker.core.edits import Rewrite, apply_edits, inserted
from masker.core.protection import STANDARD, patterns

OPINIONS = [
    "The {thing} was terrible and {kept} did not help.", "I hated the {thing} ({kept}).", "Never again: {kept}!",
    "We waited for the {thing} until {kept}, and it was cold.", "My {thing} broke after {kept} days.",
    "Rude people at {kept}, awful {thing}.", "Don't buy {kept}, it is a waste of money.", "Worst {thing} ever!!",
    "It was ok, but {kept} is overpriced.", "We went there on a Monday.", "i will not come back to {kept} ...",
    "Ask {kept} for a refund.",
]  # fmt: skip
THINGS = ["food", "steak", "phone", "battery", "plot", "service", "hotel room", "screen", "waiter", "book"]
KEPT = [
    "$45", "£3.50", "€ 1,200", "12%", "3.5/5", "2023-07-14", "7/14/2023", "10:30", "9pm", "4GB", "1st", "20th",
    "https://example.com/a?b=1&c=bad", "www.bad-place.com", "worst.example.org", "never.again@example.com",
    "@terrible_staff", "#WorstDay", "`rm -rf bad`", '"The Bad Place"', "“Awful Tale”", "1,000,000", "+49 30 1234", "A4",
    "COVID-19", "221b", "3.14159",
]  # fmt: skip


def texts(count: int) -> list[str]:
    draw = random.Random(0)
    return [
        " ".join(
            sentence.format(thing=draw.choice(THINGS), kept=draw.choice(KEPT))
            for sentence in draw.choices(OPINIONS, k=draw.randint(1, 4))
        )
        for _ in range(count)
    ]


def check(rewrite: Rewrite) -> None:
    """What is protected is still there, in order, and no edit shares a character with it."""
    assert rewrite.error is None
    assert rewrite.text == apply_edits(rewrite.source, rewrite.edits)
    kept = [m.span() for m in STANDARD.finditer(rewrite.source)]
    assert not [e for e in rewrite.edits for start, end in kept if e.start < end and start < e.end]
    new, at = inserted(rewrite.edits), 0
    for start, end in kept:
        moved = start + sum(len(e.new) - (e.end - e.start) for e in rewrite.edits if e.end <= start)
        assert rewrite.text[moved : moved + end - start] == rewrite.source[start:end]
        assert moved >= at
        assert not [a for a, b in new if moved < a < moved + end - start]
        at = moved


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.from_pretrained()


@pytest.mark.parametrize("to", ["positive", "negative"])
def test_500_texts_by_the_student(masker: Masker, to: str) -> None:
    rewrites = masker.edit(texts(500), to=to, method="fast")
    for rewrite in rewrites:
        check(rewrite)
    assert sum(bool(rewrite.edits) for rewrite in rewrites) > (400 if to == "positive" else 100)


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_texts_by_default(masker: Masker, count: int) -> None:
    rewrites = masker.edit(texts(count), to="positive")
    for rewrite in rewrites:
        check(rewrite)
    assert sum(bool(rewrite.edits) for rewrite in rewrites) > 0.9 * count


def test_terms_to_keep(masker: Masker) -> None:
    (pattern,) = patterns("none", ["terrible", "cold food"], standard=True)
    some = ["The Terrible cold food was bad.", "terrible, terrible cold food"]
    for rewrite in masker.edit(some, to="positive", protect="none", keep=["terrible", "cold food"]):
        assert pattern.pattern.findall(rewrite.text) == pattern.pattern.findall(rewrite.source)
