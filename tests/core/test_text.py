from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.text import Text, Word, ends_sentence, is_clitic, split_words


def words(source: str) -> list[str]:
    return [source[a:b] for a, b in split_words(source)]


def read(source: str) -> Text:
    return Text(source, tuple(Word(a, b, (7, 8), ((a, b), (b, b))) for a, b in split_words(source)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("the food was terrible .", ["the", "food", "was", "terrible", "."]),
        ('"Don\'t!" he said.', ['"', "Don't", "!", '"', "he", "said", "."]),
        ("it was n't bad , i 'm ok", ["it", "was", "n't", "bad", ",", "i", "'m", "ok"]),
        ("I can't; it pre-dates us", ["I", "can't", ";", "it", "pre-dates", "us"]),
        ("I can’t, ’m ’em", ["I", "can’t", ",", "’m", "’em"]),
        ("_num_ stars, _num_.", ["_num_", "stars", ",", "_num_", "."]),
        ("well... no!! ?!", ["well", "...", "no", "!!", "?", "!"]),
        ("(really)", ["(", "really", ")"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("'s 'S 'll. n't,", ["'s", "'S", "'ll", ".", "n't", ","]),
        ("dogs' rock'n'roll", ["dogs", "'", "rock'n'roll"]),
        ("$5 10% #1 a/b x@y.z", ["$5", "10", "%", "#", "1", "a/b", "x@y.z"]),
        ("`` so ''", ["``", "so", "''"]),
        ("«très»", ["«", "très", "»"]),
        ("日本語。", ["日本語", "。"]),
        ("[MASK] <mask>", ["[", "MASK", "]", "<mask>"]),
        ("  tab\tand\u00a0space\u2003 ", ["tab", "and", "space"]),
        ("", []),
        (" \t ", []),
    ],
)
def test_words(source: str, expected: list[str]) -> None:
    assert words(source) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_words_hold_every_character_but_white_space_once(source: str) -> None:
    offsets = split_words(source)
    assert "".join(source[a:b] for a, b in offsets) == "".join(source.split())
    assert all(a < b for a, b in offsets)
    assert all(b <= c for (_, b), (c, _) in pairwise(offsets))


def test_clitics_are_what_is_written_onto_the_word_before() -> None:
    assert all(map(is_clitic, ["'s", "'m", "’ll", "n't", "N'T", "'d", "'t"]))
    assert not any(map(is_clitic, ["'em", "can't", "s", "'", "not", "'til"]))


@pytest.mark.parametrize(
    ("source", "final"),
    [("good .", 1), ("good.", 1), ("good !!", 1), ('no."', 2), ("good", None), (" ", None), (".", 0)],
)
def test_final_is_the_last_word_if_it_is_punctuation(source: str, final: int | None) -> None:
    assert read(source).final == final


def test_a_text_knows_its_pieces() -> None:
    text = read("not bad")
    assert str(text) == "not bad"
    assert text.word(1) == "bad"
    assert text.pieces == [7, 8, 7, 8]
    assert text.bounds == [0, 2, 4]


def test_marks_that_end_a_sentence_in_any_script() -> None:
    assert all(map(ends_sentence, [".", "!", "?", "!!", "...", "…", "。", "！", "？", "؟", "۔", "।", "။", "។", "։"]))
    assert not any(map(ends_sentence, [",", ":", ";", "、", "，", "،", "word", '"', "»", ""]))
