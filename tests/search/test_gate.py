"""What does not read like the source domain is let be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.segments import Unit
from masker.errors import MaskerError
from masker.search.editor import SearchEditor
from masker.search.gate import Gated
from search.styles import Words, searching, with_style

GOOD, BAD = ["great", "nice", "good"], ["bad", "rude", "terrible"]
EVENLY = "the food ."  # odds of -1: a probability of 0.27


class Eager:
    """Replaces every `the` and every `was`."""

    name, chunk, prefetch = "eager", 8, 0

    def __init__(self) -> None:
        self.seen: list[str] = []

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        self.seen += texts
        return lambda: [self.edit(text) for text in texts]

    def edit(self, text: str) -> Rewrite:
        places = sorted((at, word) for word in ("the", "was") for at in range(len(text)) if text.startswith(word, at))
        edits = tuple(Edit(at, at + 3, word, "X", 1.0) for at, word in places)
        return Rewrite(text, apply_edits(text, edits), "negative", "positive", edits)


@pytest.fixture(scope="module")
def search() -> SearchEditor:
    task, _, _ = searching(with_style())
    return SearchEditor(task, Words(GOOD, BAD), unit=Unit(sentences=True))  # type: ignore[arg-type]


def rewrites(search: SearchEditor, below: float, *texts: str) -> tuple[list[Rewrite], list[str]]:
    eager = Eager()
    return Gated(eager, search, below).begin(texts)(), eager.seen


def test_only_sentences_that_read_like_the_source_are_edited(search: SearchEditor) -> None:
    mixed = "the food was bad . the staff was nice . it was rude ."
    (rewrite, kept), seen = rewrites(search, 0.25, mixed, "the food was great .")
    assert rewrite.text == "X food X bad . the staff was nice . it X rude ."
    assert (kept.text, kept.edits, kept.reason) == ("the food was great .", (), "it does not read like negative")
    assert seen == [mixed]  # the other one was not even tried
    assert rewrite.reason is None


def test_how_sure_the_classifiers_have_to_be(search: SearchEditor) -> None:
    assert rewrites(search, 0.25, EVENLY)[0][0].edits == ()
    assert rewrites(search, 0.5, EVENLY)[0][0].text == "X food ."
    assert rewrites(search, 1.0, "the food was great .")[0][0].text == "X food X great ."
    assert rewrites(search, 0.5, " ")[0][0].text == " "


def test_an_edit_that_reaches_into_another_sentence_is_not_made(search: SearchEditor) -> None:
    class Wide(Eager):
        def edit(self, text: str) -> Rewrite:
            edit = Edit(13, 22, text[13:22], "X", 1.0)
            return replace(super().edit(text), edits=(edit,), text=edit.apply(text))

    text = "the food was bad . the staff was nice ."
    (rewrite,) = Gated(Wide(), search, 0.25).begin([text])()
    assert (rewrite.text, rewrite.reason) == (text, "it does not read like negative")


@pytest.mark.parametrize("below", [0.0, 1.5, -1.0])
def test_it_is_a_probability(search: SearchEditor, below: float) -> None:
    with pytest.raises(MaskerError, match="`below`"):
        Gated(Eager(), search, below)


def test_a_model_without_classifiers_edits_as_ever() -> None:
    from conftest import make_model

    from masker.api import Masker

    masker = Masker(make_model("bert"), device="cpu")
    assert masker.editor("positive", below=0.5).name == "paper"
    assert not isinstance(masker.editor("positive", below=0.5), Gated)
    assert isinstance(with_style().editor("positive", below=0.5), Gated)
