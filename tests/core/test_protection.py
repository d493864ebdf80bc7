import re
from typing import Any

import pytest

from masker.core.matching import Pattern
from masker.core.protection import NAMES, SIGN, STANDARD, patterns, terms
from masker.errors import MaskerError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My $45 steak, 12.50 or 3,000 of them.", ["$45", "12.50", "3,000"]),
        ("at 12:30 on 2/3/2020, the 5th, 10% off", ["12:30", "2/3/2020", "5th", "10%"]),
        ("see https://a.b/c?d=1 or www.x.y or joes.com/menu.", ["https://a.b/c?d=1", "www.x.y", "joes.com/menu."]),
        ("mail me.too@some-where.org.", ["me.too@some-where.org"]),
        ("thanks @joes #yum a#b", ["@joes", "#yum"]),
        ("run `rm -rf` now", ["`rm -rf`"]),
        ('we saw "Star Wars" and “Alien”; so "good"', ['"Star Wars"', "“Alien”"]),
        ('"Perfect" is the word .', []),
        ("from -5 to +3, or −2, -$20; a-1 x-2", ["-5", "+3", "−2", "-$20", "1", "2"]),
        ("2½ stars, part Ⅳ, ¾ of it", ["2½", "Ⅳ", "¾"]),
        ("the food was bad .", []),
    ],
)
def test_the_standard(text: str, found: list[str]) -> None:
    assert STANDARD.findall(text) == found
    assert all(map(SIGN.search, found))


def test_names() -> None:
    assert NAMES.findall("The food at New York Pizza was bad, said Anna. It is") == ["New York Pizza", "Anna"]


def test_what_is_asked_for() -> None:
    standard = Pattern(STANDARD)
    assert patterns(None, (), standard=True) == (standard,)
    assert patterns(None, (), standard=False) == ()
    assert patterns("none", (), standard=True) == ()
    assert patterns("names", (), standard=True) == (standard, Pattern(NAMES))
    assert patterns("a|b", (), standard=True) == (standard, Pattern(re.compile("a|b"), limited=True))
    (kept,) = patterns("none", ["C++", "New York", " "], standard=True)
    assert kept.pattern.findall("c++ in new york, newyork") == ["c++", "new york"]
    with pytest.raises(MaskerError, match="no valid pattern"):
        patterns("(", (), standard=True)


@pytest.mark.parametrize("word", ["a", "a.", "a-", "1", "1-", "@", "@a", "-", ".", "A", "`", "_", "a@a", "é", '"A'])
def test_a_word_without_end_takes_no_time(word: str) -> None:
    """A hundred thousand characters are looked through once, not once for each of them: that would take minutes."""
    text = "x " + word * (100_000 // len(word))
    for pattern in (STANDARD, NAMES):
        edges = [edge for match in pattern.finditer(text) for edge in match.span()]
        assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["good", "b\udcffd"], r"`forbid` has a word that is not valid Unicode \(half .* at character 2\); mend it"),
        ("\ud800", "not valid Unicode"),
        ([b"good"], r"`forbid` has b'good'; give words as text"),
        (5, "`forbid` has 5; give words as text"),
    ],
)
def test_words_that_are_none(given: Any, why: str) -> None:
    with pytest.raises(MaskerError, match=why):
        terms("forbid", given)


def test_one_word_may_stand_for_a_list() -> None:
    assert terms("keep", "good") == ["good"]
    assert terms("keep", {"good"}) == ["good"]
