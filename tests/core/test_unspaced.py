import logging

import pytest

from masker.core import unspaced
from masker.core.text import split_chunk, split_words
from masker.core.unspaced import is_tight, is_unspaced, segmenter

TEXTS = {
    "请您稍等一下，我马上帮您查询订单。": "请 您 稍等 一下 ， 我 马上 帮 您 查询 订单 。",
    "他说：“我用Python3写https://a.b/c！！”": "他 说 ： “ 我 用 Python3 写 https://a.b/c ！！ ”",
    "明日の会議は何時からですか？": "明日 の 会議 は 何時からです か ？",
    "昨日は友達と映画を見に行った。": "昨日 は 友達 と 映画 を 見 に 行った 。",
    "何も食べられませんでした": "何 も 食べられませんでした",
    "静かな部屋が好きですよ": "静かな 部屋 が 好きです よ",
    "「東京」、Python、C++を学ぶ…": "「 東京 」 、 Python 、 C++ を 学ぶ …",
    "กรุณารอสักครู่นะครับ (5 นาที)": "กรุณา รอ สัก ครู่ นะ ครับ ( 5 นาที )",
    "ខ្ញុំចូលចិត្តអានសៀវភៅ។": "ខ្ញុំ ចូលចិត្ត អាន សៀវភៅ ។",
    "ကျွန်တော်စာဖတ်": "ကျွန်တော် စာ ဖတ်",
    "😀我爱你😀": "😀 我爱你 😀",
    "大韓民國은 좋다.": "大韓民國 은 좋다 .",
}


@pytest.mark.parametrize(("text", "words"), TEXTS.items())
def test_words(text: str, words: str) -> None:
    assert [text[a:b] for a, b in split_words(text)] == words.split(" ")


def test_characters_beyond_the_basic_plane_are_counted_once() -> None:
    text = "𠮷野家で𠮷野さんに会う。"
    assert "".join(text[a:b] for a, b in split_words(text)) == text


def test_an_invisible_joint_belongs_to_the_word_before() -> None:
    text = "ខ្ញុំ\u200bចូលចិត្ត\u200bអាន"
    assert [text[a:b] for a, b in split_words(text)] == ["ខ្ញុំ\u200b", "ចូលចិត្ត\u200b", "អាន"]


def test_which_scripts() -> None:
    assert all(map(is_unspaced, ["日", "か", "ไทย", "ລາວ", "ខ្មែរ", "မြန်", "a漢"]))
    assert not any(map(is_unspaced, ["", "abc", "été", "한국어", "русский", "हिन्दी", "العربية", "。", "😀"]))
    assert all(map(is_tight, "日か。「！"))
    assert not any(map(is_tight, 'a한é.!"'))


def test_without_the_package_a_stretch_is_one_word_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unspaced, "segmenter", lambda: None)
    unspaced._warn.cache_clear()
    with caplog.at_level(logging.WARNING, "masker"):
        assert split_chunk("请您稍等。") == ((0, 4), (4, 5))
        assert split_chunk("再见") == ((0, 2),)
    assert len(caplog.messages) == 1
    assert "pip install 'masker-nlp[languages]'" in caplog.text


def test_what_cuts_words_is_named() -> None:
    assert (segmenter() or "").startswith("ICU ")
