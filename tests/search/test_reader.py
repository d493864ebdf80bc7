"""The reader's last word, by a reader that counts words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.reader import ReaderCard
from masker.model.settings import SearchSettings
from masker.runtime.reader import Reader
from masker.search.editor import SearchEditor
from masker.search.ranking import rank
from masker.search.reader import read_drafts
from masker.search.segments import Segment
from search.styles import with_style

TEXTS = [
    "the food was terrible .",
    "The staff was rude. We don't like it! She was terrible, really.",
    "it was n't good , but nice people and staff .",
    "",
]


class Counting(Reader):
    """Likes texts with few letters `r`, and finds those of the target domain that have many `g`s."""

    def __init__(self) -> None:
        self.card, self.read = ReaderCard(("negative", "positive")), list[tuple[str, str]]()

    def log_p(self, texts: Sequence[str], domains: Sequence[str]) -> np.ndarray:
        self.read += [(text, name) for text in texts for name in domains]
        sign = {"positive": 1, "negative": -1}
        return np.array(
            [[sign[name] * 2.0 * text.count("g") - text.count("r") - 20.0 for name in domains] for text in texts]
        )

    def _next(self, ids: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@pytest.fixture(scope="module")
def masker() -> Masker:
    return with_style()


def searching(masker: Masker, **knobs: Any) -> SearchEditor:
    editor = masker.editor("positive", method="search", **knobs)
    assert isinstance(editor, SearchEditor)
    return editor


def drafted(masker: Masker, reader: Reader | None = None) -> tuple[SearchEditor, list[Segment]]:
    editor = searching(masker, top=12)
    editor.reader = reader
    return editor, editor.draft(editor.read(TEXTS))


def test_ranks_are_the_sum_that_is_promised(masker: Masker) -> None:
    reader = Counting()
    _, before = drafted(masker)
    editor, after = drafted(masker, reader)
    s = editor.settings
    known = {tuple(before[0].spelt(d.parts).words): d for d in before[0].drafts}
    segment = after[0]
    assert segment.reading == pytest.approx(
        s.reader_likelihood * reader.log_p([TEXTS[0]], ["positive"])[0, 0]
        + s.reader_odds * (-s.reader_margin) + s.reader_kept
    )  # fmt: skip
    for draft in segment.drafts[:12]:  # of the others the odds are not known
        text = segment.text.source
        for r in reversed(draft.replacements):
            text = text[: r.start] + r.new + text[r.end :]
        (good, bad), words = reader.log_p([text], ["positive", "negative"])[0], text.split()
        kept = sum((text.lower().split()).count(w) > 0 for w in TEXTS[0].split()) / len(TEXTS[0].split())
        plain = known.get(tuple(segment.spelt(draft.parts).words))
        if plain and len(set(words)) == len(words):
            worth = s.reader_likelihood * good / len(words) * 5 + s.reader_odds * min(0, good - bad - s.reader_margin)
            assert draft.total == pytest.approx(plain.total + worth + s.reader_kept * kept, abs=1e-3)


def test_odds_that_cannot_matter_are_not_asked_for_and_the_best_is_the_same(masker: Masker) -> None:
    everything, few = Counting(), Counting()
    results = []
    for reader, wanted in ((everything, 100), (few, 1)):
        editor = searching(masker)
        segments = editor.draft(editor.read(TEXTS))
        read_drafts(reader, editor.task, editor.settings, segments, most=100, wanted=wanted)
        results.append([(s.reading, s.drafts[0].total, s.drafts[0].replacements) for s in segments if s.drafts])
    assert results[0] == results[1]
    asked = [sum(name == "negative" for _, name in reader.read) for reader in (everything, few)]
    assert asked[1] <= asked[0]


def test_a_sentence_is_read_in_its_text_with_the_drafts_of_the_others(masker: Masker) -> None:
    reader = Counting()
    editor = searching(masker)
    object.__setattr__(editor.unit, "sentences", True)
    segments = editor.read(TEXTS[1:2])
    assert len(segments) == 3
    for segment in segments:
        segment.wanted = True
    editor.draft(segments)
    best = [s.drafts[0] for s in segments]
    read_drafts(reader, editor.task, editor.settings, segments, most=3)
    turned = [r.new for draft in best[1:] for r in draft.replacements if r.new.strip()]
    first = [text for text, _ in reader.read[:4]]  # the first sentence as it is, and with its drafts
    assert all(new in text for text in first for new in turned)
    assert first[0].startswith("The staff was rude.")
    assert len({*first}) == 4


def test_a_reader_widens_the_search_and_its_edits_score_the_gain_over_the_text_as_it_is(masker: Masker) -> None:
    plain, wide = searching(masker), searching(masker)
    wide.reader = Counting()
    assert plain.wide == 0
    assert wide.wide == SearchSettings().reader_drafts == 24
    few, many = (editor.draft(editor.read(TEXTS[:1]))[0] for editor in (plain, wide))
    assert len(few.drafts) < len(many.drafts) <= 24
    (rewrite,) = wide.conclude(TEXTS[:1], [many])
    if rewrite.edits:
        as_is = float(rank(wide.settings, many.log_p, np.zeros(()), np.ones(()))) + many.reading
        assert rewrite.score == pytest.approx(many.drafts[0].total - as_is)


def test_it_has_to_know_the_domains(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Counting()
    stranger.card = ReaderCard(("french", "german"))
    monkeypatch.setattr(Masker, "reader", lambda self, name=None: stranger)
    with pytest.raises(MaskerError, match="domain of the reader 'positive'"):
        masker.editor("positive", method="search")
