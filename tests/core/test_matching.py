import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core import matching
from masker.core.matching import Pattern, compiled
from masker.errors import MaskerError


@pytest.mark.parametrize("pattern", ["b+", "(?i)FOO", re.compile("FOO", re.IGNORECASE), "x*", r"\bé", "a|(?<=a)."])
def test_a_users_pattern_finds_what_it_finds_elsewhere(pattern: str | re.Pattern[str]) -> None:
    text = "foo abba Foo\u2028 été \ud83d x"
    assert compiled(pattern).spans(text) == [m.span() for m in re.finditer(pattern, text) if m.group()]


@pytest.mark.parametrize("pattern", [".*", ".+", "the .*", re.compile(".*", re.DOTALL)])
def test_what_is_all_of_a_text_leaves_no_place_around_it(pattern: str | re.Pattern[str]) -> None:
    assert compiled(pattern).spans("the food") == [(-1, 9)]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(?:a*)*b", "(.*a){20}b"])
def test_a_search_that_goes_astray_is_ended(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SECONDS", 0.2)
    with pytest.raises(MaskerError, match=r"^the pattern '.*' took more than 0.2 seconds; write `protect` without"):
        compiled(pattern).spans("a" * 50 + "!")
    assert compiled("a").spans("bab") == [(1, 2)]  # the next is none the worse


@pytest.mark.parametrize(
    "pattern", ["(", "a{99999999999}", "(" * 5000 + ")" * 5000, "[" * 5000, "a" * 70 + "(", re.compile(b"a"), b"a", 5]
)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(MaskerError) as error:
        compiled(pattern)
    assert len(str(error.value)) < 200


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab(*+)[]{}|\\?.^$1,-", max_size=12), st.text(max_size=30))
def test_any_pattern_is_matched_or_refused(pattern: str, text: str) -> None:
    try:
        spans = compiled(pattern).spans(text)
    except MaskerError:
        return
    assert all(-1 <= a < b <= len(text) + 1 for a, b in spans)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_has_a_search_of_its_own() -> None:
    code = """
import os
from masker.core.matching import compiled
assert compiled("a").spans("ba") == [(1, 2)]
child = os.fork()
for text in map("b{}a".format, range(20)):
    assert compiled("a").spans(text) == [(len(text) - 1, len(text))], text
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_of_our_own_is_matched_here() -> None:
    assert Pattern(re.compile("a*")).spans("baab") == [(1, 3)]


def test_one_process_searches_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **kw: begun.append(a) or popen(*a, **kw))
    for text in map("one {}a".format, range(5)):
        assert compiled("a").spans(text) == [(len(text) - 1, len(text))]
    assert len(begun) <= 1


def test_a_long_pattern_is_shortened_in_what_is_said() -> None:
    with pytest.raises(MaskerError, match=r"^'a{57}\.\.\.' is no valid pattern: "):
        compiled("a" * 61 + "(")
    with pytest.raises(MaskerError, match=r"^'a{59}\(' is no valid pattern: missing \)"):
        compiled("a" * 59 + "(")
    with pytest.raises(MaskerError, match=r"^`protect` is 5; give a pattern as text$"):
        compiled(5)  # type: ignore[arg-type]
    with pytest.raises(MaskerError, match=r"^the pattern of `protect` is made for bytes; give one for text$"):
        compiled(re.compile(b"a"))  # type: ignore[arg-type]
