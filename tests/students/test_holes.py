"""Alignment and realisation: any target that can be written with the vocabulary comes back whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.spans import Span
from masker.core.vocabulary import Vocabulary
from masker.students.holes import Hole, align, beginning, realise

GOLDEN = [
    ("the food was terrible . the people were nice .", "the food was terrible , but the people were nice ."),
    ("she was born in poland . she died in france .", "she was born in poland and died in france ."),
    ("the people were rude . the food was good .", "although the people were rude , the food was good ."),
    ("marie was nice . marie was born in poland .", "marie , who was born in poland , was nice ."),
    ("it was so - so .", "it was so - so !"),
    ("marie curie was nice .", "marie cu was nice ."),
    ("the food was great .", "the food was great ."),
    ("he was here .", "terrible service"),
    ("it was n't good .", "it was n't very good , was it ?"),
]
WRITTEN = [  # a source as people write it, a target as a lower-cased model would have it, and how it is to be written
    ("The food was Terrible. I can't.", "the food was great . i can ' t .", "The food was great. I can't."),
    ("He was in Paris. He died in York.", "he was in paris and died in york .", "He was in Paris and died in York."),
    ("  Good  food ,\tnice staff ", "good food , rude staff", "  Good  food ,\trude staff "),
]  # fmt: skip


def rewritten(vocabulary: Vocabulary, source: str, target: str) -> str:
    text = vocabulary.read(source)
    return realise(vocabulary, text, align(vocabulary, text, vocabulary.read(target).pieces))


@pytest.mark.parametrize(("source", "target"), GOLDEN)
def test_every_target_comes_back(vocabularies: dict[str, Vocabulary], family: str, source: str, target: str) -> None:
    assert rewritten(vocabularies[family], source, target) == target


@pytest.mark.parametrize(("source", "target", "written"), WRITTEN)
def test_words_that_stay_are_as_they_were_written(
    vocabulary: Vocabulary, source: str, target: str, written: str
) -> None:
    assert rewritten(vocabulary, source, target) == written


def test_nothing_is_not_a_rewriting(vocabulary: Vocabulary) -> None:
    assert rewritten(vocabulary, "the food .", "") == "the food ."
    assert rewritten(vocabulary, " ", "") == " "


def test_holes_lie_between_words_that_are_kept(vocabulary: Vocabulary) -> None:
    text = vocabulary.read("she was born . she died .")
    (hole,) = align(vocabulary, text, vocabulary.read("she was born and died .").pieces)
    assert hole == Hole(Span(3, 5), tuple(vocabulary.read("and").pieces))


def test_a_word_that_goes_on_is_not_kept(vocabulary: Vocabulary) -> None:
    text = vocabulary.read("nice people .")
    target = [*vocabulary.read("nice").pieces, *vocabulary.tokenizer.convert_tokens_to_ids(["##ly", "people", "."])]
    assert [hole.span for hole in align(vocabulary, text, target)] == [Span(0, 1)]
    assert rewritten(vocabulary, "nice people .", "nicely people .") == "nicely people ."


def test_an_unknown_piece_is_not_written(vocabulary: Vocabulary) -> None:
    unknown = vocabulary.tokenizer.unk_token_id
    text = vocabulary.read("the food .")
    assert realise(vocabulary, text, [Hole(Span(1, 2), (unknown,))]) == "the ."
    assert rewritten(vocabulary, "the ☃ food .", "the ☃ nice food .") == "the ☃ nice food ."


WORDS = st.lists(
    st.sampled_from(["the", "food", "was", "nice", ".", ",", "and", "people", "i", "n't", "terrible"]),
    min_size=1,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(source=WORDS, target=WORDS)
def test_holes_spell_the_target(vocabularies: dict[str, Vocabulary], source: list[str], target: list[str]) -> None:
    vocabulary = vocabularies["bert"]
    text, wanted = vocabulary.read(" ".join(source)), vocabulary.read(" ".join(target)).pieces
    pieces, at = list[int](), 0
    for hole in align(vocabulary, text, wanted):
        assert not pieces or at < hole.span.start
        pieces += [*text.pieces[text.bounds[at] : text.bounds[hole.span.start]], *hole.pieces]
        at = hole.span.stop
    assert [*pieces, *text.pieces[text.bounds[at] :]] == wanted


def test_the_beginning_of_a_long_text_ends_with_a_word(vocabulary: Vocabulary) -> None:
    text = vocabulary.read("the curie food .")  # cu ##rie
    assert [len(beginning(text, n).words) for n in (5, 4, 3, 2, 1)] == [4, 3, 2, 1, 1]
