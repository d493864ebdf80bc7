"""Texts that look ahead for an end that never comes, over and over: time grows with them, and not with their square."""

import time
from collections.abc import Callable

import pytest

from masker.data.documents import Document
from masker.data.suggestions import Rule

from .fake import edit

FOUR_TIMES: list[tuple[str, Callable[[int], str]]] = [
    ("markdown", lambda n: "---\r\n" + "A line.\r\n" * n),
    ("markdown", lambda n: "The food was bad. " + "{{" * n),
    ("markdown", lambda n: "The food was bad. " + "{{}a" * n),
    ("markdown", lambda n: "The food was bad. " + "{%" * n),
    ("markdown", lambda n: "The food was bad. " + "[^" * n),
    ("markdown", lambda n: "The food was bad. " + "$a" * n),
    ("markdown", lambda n: "$$ bad\n" * n),
    ("markdown", lambda n: f"The food <{'a' * n} title='>'>was bad."),
    ("markdown", lambda n: "<p>It was bad.</p>\n\n" * (n // 4)),
    ("html", lambda n: f"<p>The food was bad{' ' * 3 * n}and slow.</p>"),
    ("plain", lambda n: f"The food was bad{' ' * 3 * n}and slow."),
]


def seconds(source: str, kind: str) -> float:
    begun = time.process_time()
    Document.read(source, kind)
    return time.process_time() - begun


@pytest.mark.parametrize(("kind", "text"), FOUR_TIMES)
def test_four_times_the_text_takes_four_times_as_long(kind: str, text: Callable[[int], str]) -> None:
    seconds("It was bad.", kind)  # parsers are made when they are first used
    assert seconds(text(20_000), kind) < 8 * seconds(text(5_000), kind) + 1.5


@pytest.mark.parametrize("mark", ["{{ bad }}", "{{{bad}}}", "{{ {a: bad} }}", "{% bad 5% of %}", "[^bad]"])
def test_marks_that_have_an_end_stay(mark: str) -> None:
    assert edit(f"It is bad {mark} here.", "markdown").text == f"It is good {mark} here."


def test_a_line_break_among_many_spaces() -> None:
    assert edit("<p>It is very   \r\n  bad here.</p>", "html").text == "<p>It is great   \r\n  here.</p>"


def test_a_message_of_many_spaces() -> None:
    told = Rule("a", "b").message(f"bad \t\r\n \n here{' ' * 200_000}it is", "good")
    assert told.startswith("“bad here ")
