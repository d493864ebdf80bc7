"""What is told of a rewrite is what made it."""

import pytest

from masker.api import Masker
from masker.core.account import SegmentAccount
from masker.core.explanation import Explanation
from masker.search.ranking import rank, terms

GOOD = "Our waitress was slow and the soup was bland."  # the student's rewrite stands
BAD = "We waited an hour and left."  # it does not
NAMES = {"encoder", "bag_of_words", "likelihood", "similarity", "coherence", "residue", "sure"}


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.from_pretrained(device="cpu")


def explained(masker: Masker, text: str, method: str) -> Explanation:
    """An explanation is of the rewrite that `edit` makes."""
    explanation = masker.explain(text, to="positive", method=method)
    assert explanation.rewrite == masker.edit(text, to="positive", method=method)
    assert explanation.method == method
    return explanation


def check_drafts(one: SegmentAccount) -> None:
    """The terms of a rank add up, the best comes first, and all of it is told of the text as it is, too."""
    assert one.as_it_is is not None
    assert one.drafts
    for row in (*one.drafts, one.as_it_is):
        assert set(row.terms) - {"critic"} == NAMES
        assert sum(row.terms.values()) == pytest.approx(row.total, abs=1e-9)
        gained = row.total - row.terms.get("critic", 0.0) - one.as_it_is.total
        assert row.score == pytest.approx(gained, abs=1e-9)
    read = [row for row in one.drafts if "critic" in row.terms] or one.drafts  # a critic reads the best of them only
    assert [row.total for row in read] == sorted((row.total for row in read), reverse=True)
    assert list(read) == list(one.drafts[: len(read)])
    assert len({row.text for row in one.drafts}) == len(one.drafts)


def test_drafts_of_the_search_editor_and_the_terms_of_their_rank(masker: Masker) -> None:
    explanation = explained(masker, GOOD, "search")
    assert explanation.account is not None
    (one,) = explanation.account.segments
    check_drafts(one)
    (chosen,) = [row for row in one.drafts if row.chosen]
    made = explanation.rewrite.edits
    assert [(e.start, e.end, e.old, e.new) for e in chosen.edits] == [(e.start, e.end, e.old, e.new) for e in made]
    assert chosen.score == pytest.approx(explanation.rewrite.score)
    assert chosen.text == explanation.rewrite.text
    assert one.method == "search"
    assert "the best of" in one.reason
    assert explanation.account.rounds == ()


def test_why_the_student_was_good_enough(masker: Masker) -> None:
    explanation = explained(masker, GOOD, "auto")
    assert explanation.rewrite.method == "fast"
    assert explanation.account is not None
    (one,) = explanation.account.segments
    assert (one.method, one.student) == ("fast", explanation.rewrite.text)
    assert [check.name for check in one.checks] == ["bag_of_words", "encoder", "critic"]
    assert all(check.passed for check in one.checks)
    assert one.drafts == ()
    (tags,) = explanation.account.rounds
    assert [row.word for row in tags.tags] == explanation.words
    assert {row.word: row.added for row in tags.tags if row.tag == "delete"} == {"slow": "great", "bland": "delicious"}


def test_why_it_was_not_and_what_was_found_instead(masker: Masker) -> None:
    explanation = explained(masker, f"{BAD} {GOOD}", "auto")
    assert explanation.rewrite.method == "search"
    assert explanation.account is not None
    first, second = explanation.account.segments
    assert not first.checks[-1].passed
    assert all(check.passed for check in first.checks[:-1])
    assert first.reason.startswith("the student's rewrite does not pass; the best of")
    check_drafts(first)
    assert second.method == "fast"
    assert explanation.source[second.start : second.end] == second.text == GOOD
    record = explanation.to_dict()
    assert record["made_by"] == "search"
    assert record["segments"][0]["checks"][-1]["passed"] is False
    assert record["rounds"][0]["tags"][0]["word"] == "We"
    assert record["spans"]


def test_what_is_left_alone_says_why(masker: Masker) -> None:
    account = explained(masker, "I love this place!", "auto").account
    assert account is not None
    (one,) = account.segments
    assert one.method is None
    assert one.reason.startswith("it reads as positive already")
    account = explained(masker, "The soup was bland. It is on Main Street.", "search").account
    assert account is not None
    assert account.segments[1].reason == "it does not speak for negative, and another part of the text can be turned"


def test_terms_are_those_of_the_rank(masker: Masker) -> None:
    import numpy as np

    from masker.model.settings import SearchSettings

    settings = SearchSettings()
    for log_p in (np.array([-0.01, -0.02]), np.array([-3.0, -0.2])):
        summed = sum(terms(settings, log_p, -2.0, 0.7).values())
        assert summed == pytest.approx(float(rank(settings, log_p, np.array(-2.0), np.array(0.7))))
