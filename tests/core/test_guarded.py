from collections.abc import Sequence
from typing import Any

import pytest

from masker.core.editor import edit_stream
from masker.core.edits import Rewrite
from masker.core.guarded import Guarded, refusal
from masker.core.runtime import Pending
from masker.errors import MaskerError


class Fragile:
    """Writes in capitals; texts with `begin` or `wait` in them fail there, and take others with them."""

    name, chunk, prefetch = "fragile", 3, 1

    def __init__(self) -> None:
        self.asked: list[int] = []

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        self.asked.append(len(texts))
        if any("begin" in text for text in texts):
            raise ValueError("it cannot begin\nat all")

        def wait() -> list[Rewrite]:
            if any("wait" in text for text in texts):
                raise MaskerError("it cannot wait")
            return [Rewrite(text, text.upper(), "a", "b") for text in texts]

        return wait


def guarded(fragile: Fragile | None = None) -> Guarded:
    return Guarded(fragile or Fragile(), "b", "a", lambda text: refusal(text, 4))


@pytest.mark.parametrize(("bad", "why"), [("do begin", "ValueError: it cannot begin"), ("do wait", "it cannot wait")])
def test_a_text_that_fails_takes_no_other_with_it(bad: str, why: str) -> None:
    texts = ["one", bad, "two", "three", "four"]
    done = list(edit_stream(guarded(), texts))
    assert [rewrite.text for rewrite in done] == ["ONE", bad, "TWO", "THREE", "FOUR"]
    assert [rewrite.error for rewrite in done] == [None, why, None, None, None]
    assert done[1].to_dict()["error"] == why
    assert (done[1].from_, done[1].to, done[1].edits) == ("a", "b", ())


def test_a_text_that_is_refused_is_not_tried() -> None:
    fragile = Fragile()
    one, long = edit_stream(guarded(fragile), ["one", "a b c d e"])
    assert (one.text, long.text) == ("ONE", "a b c d e")
    assert long.error
    assert long.error.startswith("it has 5 words, more than the limit of 4; split it")
    assert fragile.asked == [1]


def test_all_go_together_where_none_fails() -> None:
    fragile = Fragile()
    assert [rewrite.text for rewrite in edit_stream(guarded(fragile), ["a", "b", "c"])] == ["A", "B", "C"]
    assert fragile.asked == [3]


def test_ctrl_c_is_no_failure_of_a_text() -> None:
    class Interrupted(Fragile):
        def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(edit_stream(guarded(Interrupted()), ["a"]))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a" * 201, "it has 201 characters, more than 200, 50 for each of `max_words`; split it"),
        ("bad \udcff food", "it is not valid Unicode (half of a surrogate pair at character 5); mend it"),
        (b"bad", "it is bytes, not str; decode it first"),
        (None, "it is NoneType, not str; give text"),
        (5, "it is int, not str; give text"),
    ],
)
def test_what_is_no_text_is_refused(text: Any, why: str) -> None:
    (done,) = edit_stream(guarded(), [text])
    assert done.error
    assert done.error.startswith(why)
    assert done.text is text
