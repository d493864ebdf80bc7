from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.model.settings import SearchSettings
from masker.search import coherence
from masker.search.infilling import Infill
from masker.search.ranking import Ranking
from masker.search.segments import Candidate, Draft, Edited, Segment
from search.styles import Words, searching, with_style

SOURCE = "the food was terrible and the staff was rude ."
MASKER = with_style()
TASK = searching(MASKER)[0]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the domains are asked about. In the source domain `rude` is 2 nats likelier than in the target domain."""
    words: list[tuple[str, str]] = []

    def likelihoods(
        task: Any, side: Any, edited: Sequence[Edited], spans: Sequence[Iterable[Span]]
    ) -> list[dict[Span, float]]:
        domain = "source" if side.token == task.source.token else "target"
        found = []
        for e, of_text in zip(edited, spans, strict=True):
            at = {span: e.text.word(span.start) for span in of_text}
            words.extend((domain, word) for word in at.values())
            found.append({s: -3.0 if (domain, word) == ("source", "rude") else -5.0 for s, word in at.items()})
        return found

    monkeypatch.setattr(coherence, "_likelihoods", likelihoods)
    return words


def looked(ranking: Ranking, *bad: str) -> tuple[Segment, Draft, Draft]:
    """A segment, a draft of it with another word for `terrible`, and that draft after a look.

    To the words' classifier each of `bad` speaks for the source domain with 3 nats.
    """
    text = MASKER.model.vocabulary.read(SOURCE)
    segment = Segment(0, text, Span(0, len(text.words)), np.full(2, -9.0))
    segment.before = {Span(i, i + 1): -5.0 for i in range(len(text.words) - 1)}
    part = Candidate(Infill(0, (), -1.0, -1.0), Replacement(13, 21, "great"), 0.0, 0.0)
    log_p = np.full(2, -0.01)
    before = Draft(
        (part,), segment.with_parts([part]), log_p, ranking.total(segment, [part], segment.with_parts([part]), log_p)
    )
    style: Any = Words([], bad)
    (after,) = coherence.look(TASK, style, [(segment, before)], ranking)
    return segment, before, after


def test_what_speaks_for_the_source_both_ways_lowers_the_rank(asked: list[tuple[str, str]]) -> None:
    segment, before, after = looked(Ranking(SearchSettings(residue=10.0, coherence=0.0)), "rude", "staff")
    assert [word for domain, word in asked if domain == "source"] == ["staff", "rude"]
    assert [segment.text.word(i) for i in after.leftovers] == ["rude"]  # `staff` does so only by itself
    assert after.total == pytest.approx(before.total - 10 * (2 - coherence.SPOKEN))  # 2 nats are less than 3
    assert segment.passes == 1 + len(asked)


def test_what_speaks_less_by_itself_counts_for_that(asked: list[tuple[str, str]]) -> None:
    _, before, after = looked(Ranking(SearchSettings(residue=10.0, coherence=0.0)))
    assert after.leftovers == ()
    assert after.total == before.total
    assert {domain for domain, _ in asked} == {"target"}


def test_without_weight_the_source_domain_is_not_asked(asked: list[tuple[str, str]]) -> None:
    segment, before, after = looked(Ranking(SearchSettings(residue=0.0, coherence=1.0)), "rude")
    assert {domain for domain, _ in asked} == {"target"}
    assert after.leftovers == ()
    assert after.total == before.total  # no word has become less likely
    assert segment.passes == 1 + len(asked)


def test_a_model_is_asked_about_the_old_words_alone() -> None:
    segment, before, after = looked(Ranking(SearchSettings(residue=1.0)), "rude")
    assert {i for _, i in after.misfits} == {*range(len(segment.text.words) - 1)} - {3}
    assert after.misfits == tuple(sorted(after.misfits))
    assert after.total < before.total
