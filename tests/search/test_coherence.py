from typing import Any

import numpy as np
import pytest

from masker.core.runtime import Pending
from masker.model.settings import SearchSettings
from masker.search import coherence
from masker.search.edited import Edited
from masker.search.ranking import rank
from masker.search.segments import Draft, Segment
from search.styles import Words, searching, with_style
from search.test_segments import draft_of, part, segment_of

SOURCE = "the food was terrible and the staff was rude ."
MASKER = with_style()
TASK = searching(MASKER)[0]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the domains are asked about. In the source domain `rude` is 2 nats likelier than in the target domain."""
    words: list[tuple[str, str]] = []

    class Table:
        """Of one text."""

        def __init__(self, task: Any, texts: Edited, asked: np.ndarray) -> None:
            (source,) = texts.sources
            self.source, text = task.source.token, task.vocabulary.read(source)
            self.words = [text.word(j) for j in asked.tolist()]

        def begin(self, side: Any, rows: Any = None) -> Pending[np.ndarray]:
            domain = "source" if side.token == self.source else "target"
            some = [(domain, word) for word in np.array(self.words)[slice(None) if rows is None else rows].tolist()]
            words.extend(some)
            return lambda: np.array([-3.0 if one == ("source", "rude") else -5.0 for one in some])

    monkeypatch.setattr(coherence, "WordTable", Table)
    return words


def looked(knobs: dict[str, float], *bad: str) -> tuple[Segment, float, Draft]:
    """A segment, the rank of a draft of it with another word for `terrible`, and that draft after a look.

    To the words' classifier each of `bad` speaks for the source domain with 3 nats.
    """
    settings, style = SearchSettings.of(knobs), Words([], bad)
    segment = segment_of(SOURCE, style.lexicon)
    segment.before = np.array([-5.0] * (len(segment.ids) - 1) + [np.nan])
    draft = draft_of(segment, part(3, 4, "great"))
    assert segment.write(TASK, draft)
    before = draft.total = float(rank(settings, draft.log_p, np.array(draft.likelihood), np.array(draft.similarity)))
    coherence.look(TASK, style, [(segment, draft)], settings)  # type: ignore[arg-type]
    return segment, before, draft


def test_what_speaks_for_the_source_both_ways_lowers_the_rank(asked: list[tuple[str, str]]) -> None:
    segment, before, after = looked({"residue": 10.0, "coherence": 0.0}, "rude", "staff")
    assert [word for domain, word in asked if domain == "source"] == ["staff", "rude"]
    assert [segment.text.word(i) for i in after.leftovers] == ["rude"]  # `staff` does so only by itself
    assert after.total == pytest.approx(before - 10 * (2 - coherence.SPOKEN))  # 2 nats are less than 3


def test_what_speaks_less_by_itself_counts_for_that(asked: list[tuple[str, str]]) -> None:
    _, before, after = looked({"residue": 10.0, "coherence": 0.0})
    assert after.leftovers == ()
    assert after.total == before
    assert {domain for domain, _ in asked} == {"target"}


def test_without_weight_the_source_domain_is_not_asked(asked: list[tuple[str, str]]) -> None:
    _, before, after = looked({"residue": 0.0, "coherence": 1.0}, "rude")
    assert {domain for domain, _ in asked} == {"target"}
    assert after.leftovers == ()
    assert after.total == before  # no word has become less likely


def test_a_model_is_asked_about_the_old_words_alone() -> None:
    segment, before, after = looked({"residue": 1.0}, "rude")
    assert {i for _, i in after.misfits} < {*range(len(segment.text.words) - 1)} - {3}
    assert len(after.misfits) == coherence.WORST
    assert after.misfits == tuple(sorted(after.misfits))
    assert after.total < before
