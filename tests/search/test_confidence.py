"""Confidence, by a critic that looks for a word."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from masker.api import Masker
from masker.core.edits import Edit, Rewrite, apply_edits
from masker.core.runtime import Pending
from masker.core.segments import Unit
from masker.errors import MaskerError
from masker.model.critic import CriticCard
from masker.runtime.critic import Critic
from masker.search.confidence import Confident, sentence
from masker.search.editor import SearchEditor
from search.styles import with_style

TEXT = "The staff was rude. We like it. She was terrible, really."


class Liking(Critic):
    """Accepts what has a word with one probability, and the rest with another; notes what it was shown."""

    def __init__(self, word: str, liked: float = 0.9, other: float = 0.2) -> None:
        self.card, self.word, self.liked, self.other = CriticCard(("positive",)), word, liked, other
        self.shown = list[tuple[str, str]]()

    def accepts(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        self.shown += zip(sources, texts, strict=True)
        return np.array([self.liked if self.word in text else self.other for text in texts])

    def _scores(self, ids: np.ndarray, attention: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@pytest.fixture
def masker() -> Masker:
    return with_style()


def with_critic(masker: Masker, critic: Critic) -> Masker:
    masker.__dict__["critic"] = critic
    return masker


def edit(masker: Masker, text: str, **options: Any) -> Any:
    return masker.edit(text, to="positive", method="search", **options)


def test_a_rewrite_says_how_probably_it_is_accepted(masker: Masker) -> None:
    assert edit(masker, "the food was terrible .").confidence is None, "no critic"
    critic = Liking("", liked=0.75)
    rewrite = edit(with_critic(masker, critic), "the food was terrible .")
    assert rewrite.confidence == 0.75
    assert rewrite.to_dict()["confidence"] == 0.75
    assert critic.shown[-1] == (rewrite.source, rewrite.text)
    assert edit(masker, "the food was terrible .", confidence=False).confidence is None
    assert edit(masker, "").confidence is None, "nothing was written"


class Fixed:
    """Two words become others, wherever they stand."""

    name, chunk, prefetch = "fixed", 8, 0

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [self._rewrite(text) for text in texts]

    def _rewrite(self, text: str) -> Rewrite:
        found = re.finditer("rude|terrible", text)
        edits = [Edit(m.start(), m.end(), m[0], {"rude": "kind", "terrible": "great"}[m[0]], 1.0) for m in found]
        return Rewrite(text, apply_edits(text, edits), "negative", "positive", tuple(edits))


def confident(masker: Masker, critic: Critic, least: float = 0.0) -> Rewrite:
    editor = Confident(Fixed(), critic, masker.task("positive"), Unit(sentences=True), least)
    return editor.begin([TEXT])()[0]


def test_sentences_are_read_each_by_itself(masker: Masker) -> None:
    critic = Liking("kind", liked=0.8, other=0.5)
    rewrite = confident(masker, critic)
    assert rewrite.confidence == pytest.approx(0.8 * 0.5), "both have to be accepted"
    assert [(source.strip(), text.strip()) for source, text in critic.shown] == [
        ("The staff was rude.", "The staff was kind."),
        ("She was terrible, really.", "She was great, really."),
    ]


def test_of_several_sentences_only_the_sure_ones_are_changed(masker: Masker) -> None:
    rewrite = confident(masker, Liking("great"), 0.5)
    assert rewrite.text == "The staff was rude. We like it. She was great, really."
    assert [edit.new for edit in rewrite.edits] == ["great"]
    assert rewrite.confidence == 0.9
    assert confident(masker, Liking("none"), 0.5).text == TEXT


def test_what_is_not_sure_enough_is_left(masker: Masker) -> None:
    sure = edit(with_critic(masker, Liking("", liked=0.8)), "the food was terrible .", min_confidence=0.5)
    assert sure.text != sure.source
    left = edit(with_critic(masker, Liking("nothing")), "the food was terrible .", min_confidence=0.5)
    assert left.text == left.source
    assert left.edits == ()
    assert left.confidence is None
    assert "probability of 0.20 only" in left.reason


def test_it_chooses_among_drafts(masker: Masker) -> None:
    editor = masker.editor("positive", method="search", top=6)
    assert isinstance(editor, SearchEditor)
    (segment,) = editor.draft(editor.read(["the food was terrible ."]))
    before = [sentence(segment, draft.replacements)[1] for draft in segment.drafts]
    assert len(set(before)) > 2
    with_critic(masker, Liking(before[2], liked=0.99, other=0.001))
    again = masker.editor("positive", method="search", top=6)
    assert isinstance(again, SearchEditor)
    (chosen,) = again.draft(again.read(["the food was terrible ."]))
    assert sentence(chosen, chosen.drafts[0].replacements)[1] == before[2]
    assert {sentence(chosen, d.replacements)[1] for d in chosen.drafts} == set(before)


def test_what_is_refused(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="the model has no critic for positive; teach it one"):
        edit(masker, "it was rude .", min_confidence=0.5)
    with pytest.raises(MaskerError, match="`min_confidence` is 1\\.5; it is a probability"):
        edit(with_critic(masker, Liking("a")), "it was rude .", min_confidence=1.5)
    with pytest.raises(MaskerError, match="no critic for negative"):
        masker.edit("it was good .", to="negative", method="search", min_confidence=0.5)
