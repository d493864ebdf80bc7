import re

import pytest

from masker.core.protection import NAMES, STANDARD, patterns
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
        ("the food was bad .", []),
    ],
)
def test_the_standard(text: str, found: list[str]) -> None:
    assert STANDARD.findall(text) == found


def test_names() -> None:
    assert NAMES.findall("The food at New York Pizza was bad, said Anna. It is") == ["New York Pizza", "Anna"]


def test_what_is_asked_for() -> None:
    assert patterns(None, (), standard=True) == (STANDARD,)
    assert patterns(None, (), standard=False) == ()
    assert patterns("none", (), standard=True) == ()
    assert patterns("names", (), standard=True) == (STANDARD, NAMES)
    assert patterns("a|b", (), standard=True) == (STANDARD, re.compile("a|b"))
    (terms,) = patterns("none", ["C++", "New York", " "], standard=True)
    assert terms.findall("c++ in new york, newyork") == ["c++", "new york"]
    with pytest.raises(MaskerError, match="no valid pattern"):
        patterns("(", (), standard=True)
