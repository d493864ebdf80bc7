"""Texts go through an editor in chunks, in order, and what was begun comes out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from masker.core.editor import edit_stream
from masker.core.edits import Rewrite


@dataclass
class Shouting:
    """An editor that writes in capitals, and notes when it is asked and when it is waited for."""

    prefetch: int = 0
    chunk: int = 2
    name: str = "shouting"
    known: str | None = None
    log: list[str] = field(default_factory=list)

    def begin(self, texts: Sequence[str]) -> Callable[[], list[Rewrite]]:
        self.log.append(f"begin {' '.join(texts)}")

        def wait() -> list[Rewrite]:
            self.log.append(f"wait {' '.join(texts)}")
            return [Rewrite(text, text.upper(), None, "loud", method=self.known) for text in texts]

        return wait


@pytest.mark.parametrize("prefetch", [0, 1, 9])
@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_texts_come_out_in_order(prefetch: int, chunk: int | None) -> None:
    editor = Shouting(prefetch)
    assert [str(rewrite) for rewrite in edit_stream(editor, iter("abcde"), chunk)] == [*"ABCDE"]
    asked = [entry for entry in editor.log if entry.startswith("begin")]
    assert len(asked[0].split()) - 1 == (chunk or 2)


def test_as_many_chunks_are_begun_as_the_device_wants() -> None:
    editor = Shouting(prefetch=1)
    rewrites = edit_stream(editor, "abcdef")
    assert next(rewrites).text == "A"
    assert editor.log == ["begin a b", "begin c d", "wait a b"]
    assert len([*rewrites]) == 5
    assert editor.log[3:] == ["begin e f", "wait c d", "wait e f"]


def test_a_rewrite_names_its_method() -> None:
    assert [rewrite.method for rewrite in edit_stream(Shouting(), "a")] == ["shouting"]
    assert [rewrite.method for rewrite in edit_stream(Shouting(known="other"), "a")] == ["other"]


def test_what_was_begun_before_texts_failed_comes_out() -> None:
    def texts() -> Iterator[str]:
        yield from "abc"
        raise OSError("the disk is gone")

    rewrites = edit_stream(Shouting(prefetch=9, chunk=1), texts())
    assert [next(rewrites).text for _ in range(3)] == ["A", "B", "C"]
    with pytest.raises(OSError, match="the disk is gone"):
        next(rewrites)
