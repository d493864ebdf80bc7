import pytest
from hypothesis import given
from hypothesis import strategies as st

from masker.core.edits import apply_edits
from masker.core.prose import as_written, rewritten

WRITTEN = {
    "i do n't like it .": "I don't like it.",
    "next , it was $ _num_ ( i also ordered a shake ) .": "Next, it was $_num_ (I also ordered a shake).",
    "she said `` what do you think ? ''": 'She said "what do you think?"',
    "it 's ok ! i 'm happy , we 'll see ...": "It's ok! I'm happy, we'll see...",
    "great food": "Great food",
    "i like it, don't you? yes": "I like it, don't you? Yes",
    "The food was n't bad .": "The food wasn't bad.",
    "The food wasn't bad. i liked it!": "The food wasn't bad. i liked it!",
    "": "",
}


@pytest.mark.parametrize(("line", "text"), WRITTEN.items())
def test_a_line_as_a_person_would_write_it(line: str, text: str) -> None:
    assert as_written(line) == text
    assert as_written(text) == text


@pytest.mark.parametrize("line", [*WRITTEN, "`` best '' place in # 1 town !", "( this was a week ago . )"])
def test_what_is_only_written_otherwise_is_not_edited(line: str) -> None:
    assert rewritten(line, as_written(line), from_=None, to="positive", score=1.0).edits == ()


def test_what_was_written_comes_in_the_case_and_spacing_of_the_text() -> None:
    line = "i do n't like the `` sour '' food ."
    assert rewritten(line, 'I love the "sweet" food!', from_="n", to="p", score=0.5).text == (
        "i love the `` sweet '' food !"
    )
    text = "The food  wasn't good, and I hate it."
    found = rewritten(text, "Great food, and I love it.", from_="n", to="p", score=0.5)
    assert found.text == "Great food, and I love it."
    assert [edit.new for edit in found.edits] == ["Great", "", "love"]
    assert all(edit.score == 0.5 for edit in found.edits)
    assert rewritten("can't recommend it", "Can't praise it enough", from_=None, to="p", score=1.0).text == (
        "can't praise it enough"
    )


def test_numbers_and_links_stay() -> None:
    text = "We waited 45 minutes, see www.bad.com please."
    assert rewritten(text, "We waited 5 minutes, see www.good.com please.", from_=None, to="p", score=1.0).text == text
    assert rewritten(text, "", from_=None, to="p", score=1.0).text == text
    assert rewritten("so", "", from_=None, to="p", score=1.0).text == "so"  # some word has to be left


def test_a_word_beside_a_number_may_be_changed() -> None:
    assert rewritten("10% bad", "10% good", from_=None, to="p", score=1.0).text == "10% good"
    assert rewritten("bad (10)", "good (10)", from_=None, to="p", score=1.0).text == "good (10)"
    assert rewritten("see a.b.com! bad", "see a.b.com, bad", from_=None, to="p", score=1.0).text == "see a.b.com, bad"


def test_the_first_of_several_that_are_the_same_is_the_one_that_stays() -> None:
    found = rewritten("so so good", "so good", from_=None, to="p", score=1.0)
    assert [(edit.start, edit.old) for edit in found.edits] == [(3, "so ")]
    found = rewritten("good", "good good", from_=None, to="p", score=1.0)
    assert [(edit.start, edit.new) for edit in found.edits] == [(4, " good")]


def test_a_sentence_that_begins_with_a_mark_gets_its_capital_after_it() -> None:
    assert as_written("( so it was . ) `` no , '' she said .") == '(So it was.) "No," she said.'
    assert as_written("_ a . b") == "_ A. B"


@given(st.text("ab .,!'I\n$1", max_size=30), st.text("ab .,!'I$1", max_size=30))
def test_edits_lead_from_source_to_text(source: str, written: str) -> None:
    found = rewritten(source, written, from_=None, to="p", score=1.0)
    assert apply_edits(source, found.edits) == found.text
    assert bool(found.edits) == (found.text != source)
