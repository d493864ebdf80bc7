"""Edits and what they make: JSON, text, and several steps as edits of the source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masker.core.edits import Edit, Rewrite, apply_edits, compose, disjoint, inserted, rounded

EDIT = Edit(4, 7, "bad", "good", 0.123456789, 0.5, 0.25)


def test_an_edit_as_json_has_six_digits_and_no_scores_that_it_has_not() -> None:
    assert EDIT.to_dict() == {
        "start": 4, "end": 7, "old": "bad", "new": "good", "score": 0.123457, "target_score": 0.5, "source_score": 0.25,
    }  # fmt: skip
    assert Edit(0, 0, "", "so ", 1.0).to_dict() == {"start": 0, "end": 0, "old": "", "new": "so ", "score": 1.0}
    assert rounded({"a": 1 / 3, "b": 2, "c": "x", "d": None}) == {"a": 0.333333, "b": 2, "c": "x", "d": None}


def test_a_rewrite_as_json_says_what_there_is_to_say() -> None:
    plain = Rewrite("bad", "bad", None, "positive")
    assert plain.to_dict() == {"source": "bad", "text": "bad", "from": None, "to": "positive", "edits": []}
    assert plain.score == 0.0
    assert str(plain) == "bad"
    edits = (EDIT, Edit(8, 9, "x", "y", 1.0))
    other = Rewrite("the bad x", "the good x", "negative", "positive", (EDIT,))
    made = Rewrite(
        "the bad x", "the good y", "negative", "positive", edits, (other,), "why", "search", "what", 0.87654321
    )
    assert made.score == pytest.approx(1.123456789)
    assert made.to_dict() == {
        "source": "the bad x",
        "text": "the good y",
        "from": "negative",
        "to": "positive",
        "edits": [edit.to_dict() for edit in edits],
        "alternatives": [{"text": "the good x", "score": 0.123457, "edits": [EDIT.to_dict()]}],
        "reason": "why",
        "method": "search",
        "confidence": 0.8765,
        "error": "what",
    }
    assert Rewrite("a", "a", None, "b", alternatives=()).to_dict()["alternatives"] == []


def test_a_rewrite_shows_what_has_changed() -> None:
    rewrite = Rewrite("the bad x", "the good x", None, "positive", (EDIT,))
    assert rewrite.diff() == "the [-bad-]{+good+} x"
    assert "good" in rewrite._repr_html_()
    assert rewrite.__rich__().plain.count("good") == 1


def test_a_revised_rewrite_is_the_same_but_for_what_is_said() -> None:
    rewrite = Rewrite("a b", "a b", "x", "y", reason="no words")
    assert rewrite.revised(text="a c", reason=None) == Rewrite("a b", "a c", "x", "y")
    assert rewrite == Rewrite("a b", "a b", "x", "y", reason="no words")


def test_edits_are_made_where_they_are() -> None:
    assert EDIT.apply("the bad x") == "the good x"
    assert apply_edits("the bad x", [EDIT, Edit(9, 9, "", "!", 0.0)]) == "the good x!"
    assert apply_edits("as it is", []) == "as it is"
    assert inserted([EDIT, Edit(8, 9, "x", "", 0.0), Edit(9, 9, "", "!", 0.0)]) == [(4, 8), (9, 9), (9, 10)]


def test_edits_that_touch_the_one_before_are_left_out() -> None:
    first, touching, apart = Edit(0, 3, "a", "b", 0.0), Edit(3, 5, "c", "d", 0.0), Edit(4, 6, "e", "f", 0.0)
    assert disjoint([first, touching, apart]) == [first, apart]
    assert disjoint([first, apart, touching]) == [first, apart]
    assert disjoint([]) == []


def test_edits_that_touch_become_one_with_the_sum_of_their_scores() -> None:
    source = "a bb ccc dd"
    before = Rewrite(
        source, "a B ccc D", None, "x", (Edit(2, 4, "bb", "B", 1.0, 2.0, 4.0), Edit(9, 11, "dd", "D", 8.0))
    )
    (one, other) = compose(before, Edit(3, 7, " ccc", "!", 16.0, 32.0, 64.0))
    assert one == Edit(2, 8, "bb ccc", "B!", 17.0, 34.0, 68.0)
    assert other == before.edits[1]
    (first, union) = compose(before, Edit(8, 9, "D", "dee", 16.0, 32.0, 64.0))
    assert first == before.edits[0]
    assert union == Edit(9, 11, "dd", "dee", 24.0, None, None)
    apart = compose(before, Edit(5, 6, "c", "C", 1.0))
    assert apply_edits(source, apart) == "a B cCc D"
    assert [edit.start for edit in apart] == [2, 6, 9]
    assert compose(Rewrite(source, source, None, "x"), EDIT) == (EDIT,)


@given(st.data())
def test_edits_on_edits_are_edits_of_the_source(data: st.DataObject) -> None:
    source = data.draw(st.text("ab ", max_size=12))
    rewrite = Rewrite(source, source, None, "x")
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(rewrite.text))] * 2)))
        edit = Edit(start, end, rewrite.text[start:end], data.draw(st.text("XY", max_size=3)), 1.0)
        rewrite = Rewrite(source, edit.apply(rewrite.text), None, "x", compose(rewrite, edit))
        assert apply_edits(source, rewrite.edits) == rewrite.text
        assert all(known.old == source[known.start : known.end] for known in rewrite.edits)
        assert disjoint(rewrite.edits) == list(rewrite.edits)
