import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.evaluation.normalise import normalise


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("It didn't taste watered down at all. ", "it did n't taste watered down at all ."),
        ("She’d “love” it, can’t wait!", "she 'd `` love '' it , ca n't wait !"),
        ('I replied, "Um...no, I\'m good."', "i replied , `` um ... no , i 'm good . ''"),
        ("Cannot come back at 7:30; paid $1,000 (50% off)", "can not come back at 7:30 ; paid $ 1,000 ( 50 % off )"),
        ("Dr. Smith left. We waited.", "dr. smith left . we waited ."),
        ("the employees' lounge", "the employees ' lounge"),
        ("so far i`m impressed", "so far i 'm impressed"),
        ("\ufb01ne\u00a0\u00a0food", "fine food"),
        ("", ""),
    ],
)
def test_raw_text_becomes_tokens(raw: str, clean: str) -> None:
    assert normalise(raw) == clean


@pytest.mark.parametrize(
    "line",
    [
        "ever since joes has changed hands it 's just gotten worse and worse .",
        "i ca n't believe how inconsiderate this pharmacy is .",
        "i replied , '' um ... no i 'm cool .",
        "my `` hot '' sub was cold and the meat was watery .",
        "they opened at 7:30 a.m. and dr. lee was 10-15 minutes late -- so-so , c'mon !",
        "mac n ' cheese , _num_ % off at w/ & $ 5+ ?",
        "it ' s n 't joined by us .",
    ],
)
def test_tokenised_lines_stay(line: str) -> None:
    assert normalise(line) == line


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=30), st.text(alphabet="abcdnts g.,:-1\"`'’“()!?", max_size=25)))
def test_once_is_enough(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("这家店用Python，很好。", "这 家 店 用 python , 很 好 。"),
        ("昨日は「東京」に行った！", "昨 日 は 「 東 京 」 に 行 っ た !"),
        ("«\u00a0Bonjour\u202f!\u00a0» dit-il", "« bonjour ! » dit-il"),
        ("¿Vienes?", "¿ vienes ?"),
    ],
)
def test_other_languages(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert normalise(expected) == expected
