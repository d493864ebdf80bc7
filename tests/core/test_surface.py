"""Whole sentences: `[[` and `]]` stand around the words of the span that an infill replaces."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.spacing import is_tokenised
from masker.core.spans import Span, enumerate_spans
from masker.core.surface import Replacement, infill_words, replacement, usual_names
from masker.core.text import Text, Word, split_words


def read(source: str) -> Text:
    """A text whose words are one piece each: the surface knows of words only."""
    return Text(source, tuple(Word(a, b, (0,), ((a, b),)) for a, b in split_words(source)))


def parse(marked: str) -> tuple[Text, Span]:
    before, inside, after = re.split(r"\[\[|\]\]", marked)
    text = read(before + inside + after)
    start, stop = len(before), len(before) + len(inside)
    words = [i for i, word in enumerate(text.words) if start <= word.start and word.end <= stop]
    at = sum(word.end <= start for word in text.words)
    return text, Span(words[0], words[-1] + 1) if words else Span(at, at)


def applied(source: str, r: Replacement) -> str:
    return source[: r.start] + r.new + source[r.end :]


def written(marked: str, infill: str, *, fixed: tuple[str, ...] = ()) -> str:
    text, span = parse(marked)
    keep = [text.word(i) in fixed for i in range(len(text.words))]
    return applied(text.source, replacement(text, span, infill, fixed=keep))


SENTENCES = [
    # -- case: what stands around keeps its own, infills take that of their place
    ("I can't believe how [[RUDE]] they were!", "nice", "I can't believe how NICE they were!"),
    ("I can't believe [[how RUDE]] they were!", "how nice", "I can't believe how nice they were!"),
    ("[[Terrible]] food, but nice people.", "", "Food, but nice people."),
    ("[[Terrible]] food, but nice people.", "great", "Great food, but nice people."),
    ("[[]]Terrible food, but nice people.", "really", "Really terrible food, but nice people."),
    ("[[]]Terrible.", "not", "Not terrible."),
    ("[[terrible]] food.", "Great", "great food."),
    ("[[RUDE]] people left.", "nice", "NICE people left."),
    ("[[RUDE]] people left.", "", "People left."),
    ("Ⅷ [[5]] Ⓐ", "nice", "Ⅷ nice Ⓐ"),
    ("THE FOOD WAS [[BAD]].", "not so good", "THE FOOD WAS NOT SO GOOD."),
    ("THE FOOD WAS [[]]BAD.", "not", "THE FOOD WAS NOT BAD."),
    ("[[I]] HATE THIS PLACE.", "we", "WE HATE THIS PLACE."),
    ("[[I]] hate this place.", "we", "We hate this place."),
    ("[[We]] hate this place.", "i", "I hate this place."),
    ("We hate it and [[we]] left.", "i ' m", "We hate it and I'm left."),
    ("we hate it and [[we]] left.", "i ' m", "we hate it and i'm left."),
    ("[[]]I hate this place.", "maybe", "Maybe I hate this place."),
    ("[[]]I'm angry.", "sometimes", "Sometimes I'm angry."),
    ("[[]]NASA failed.", "then", "Then NASA failed."),
    ("[[]]Marie was here and Marie left.", "then", "Then Marie was here and Marie left."),
    ("[[Then]] Marie left.", "", "Marie left."),
    ("[[But]] 5 people left.", "", "5 people left."),
    ("[[5]] People left.", "Five", "Five People left."),
    ('"[[Terrible]] food," she said.', "", '"Food," she said.'),
    ('[["Terrible]] food," she said.', "great", 'Great food," she said.'),
    ('[[Really]] "terrible" food.', "", '"Terrible" food.'),
    ('[[]]"Terrible" food.', "such", 'Such "terrible" food.'),
    ("[[Terrible]], but nice.", "", ", But nice."),
    ("- [[Bad]] food.", "", "- Food."),
    ("😀 [[Bad]] food.", "", "😀 Food."),
    ('It was "bad[["]] today.', "😀", 'It was "bad 😀 today.'),
    ("She left [[Poland in]] May.", "poland on", "She left Poland on May."),
    ("Good. [[She]] left. Bad.", "", "Good. Left. Bad."),
    ("(Good.) [[She]] left.", "then she", "(Good.) Then she left."),
    ("good. [[]]She left.", "then", "good. Then she left."),
    ("Good food[[.]] the staff.", "!", "Good food! the staff."),
    ("Good food[[;]] , the staff.", ".", "Good food. , the staff."),
    ("Well... [[it]] was bad.", "she", "Well... she was bad."),
    ("Good food[[,]] bad staff.", "...", "Good food... bad staff."),
    ("Good food.[[]]", "never again", "Good food. Never again"),
    # -- fusing and splitting sentences
    ("Marie was born in Poland[[. She]] died.", "and", "Marie was born in Poland and died."),
    ("Marie was born in Poland[[.]] She died.", ", and", "Marie was born in Poland, and she died."),
    ("Marie was born in Poland[[.]] She died.", "", "Marie was born in Poland she died."),
    ("Marie was born in Poland[[.]] NASA died.", "and", "Marie was born in Poland and NASA died."),
    ("Marie was born in Poland [[and]] died.", ". she", "Marie was born in Poland. She died."),
    ("Marie was born in Poland [[and]] died.", ".", "Marie was born in Poland. Died."),
    ("Marie was born in Poland[[]] and died.", ".", "Marie was born in Poland. And died."),
    ('He said no[[.]] "She died."', "and", 'He said no and "she died."'),
    ("marie was born in poland [[.]] she died .", "and", "marie was born in poland and she died ."),
    ("marie was born in poland [[and]] died .", ". she", "marie was born in poland . she died ."),
    # -- natural spacing
    ("Good food[[,]] nice people.", "and", "Good food and nice people."),
    ("The food was [[bad]] but cheap.", ",", "The food was, but cheap."),
    ("It was [[very bad]], but cheap.", "", "It was, but cheap."),
    ("It was [[very bad]], but cheap.", "good", "It was good, but cheap."),
    ("It was [[very bad, but]] cheap.", "", "It was cheap."),
    ("It was very bad[[, but]] cheap.", ";", "It was very bad; cheap."),
    ("It was bad[[]], but cheap.", "indeed", "It was bad indeed, but cheap."),
    ("It was [[]]bad, but cheap.", ",", "It was, bad, but cheap."),
    ("It was bad[[]].", ", really", "It was bad, really."),
    ("It [[was]] bad.", "is n ' t", "It isn't bad."),
    ("It [[was]] bad.", "wasn ' t", "It wasn't bad."),
    ("They [[do]] like it.", "do n ' t", "They don't like it."),
    ("They [[do]] like it.", "don ' t", "They don't like it."),
    ("They [[do]] like it.", "don’t", "They don’t like it."),
    ("Maybe [[they are]] bad.", "it ' s", "Maybe it's bad."),
    ("We [[want]] it.", "' ll get", "We'll get it."),
    ("Get [[them]] now.", "'em", "Get 'em now."),
    ("It was [[bad]].", "so - so", "It was so-so."),
    ("It took [[five]] minutes.", "_ num _", "It took _num_ minutes."),
    ("It took [[five]] hours.", "2 . 5", "It took 2.5 hours."),
    ("It cost [[a lot]].", "$ 5", "It cost $5."),
    ("I got [[something]] off.", "10 %", "I got 10% off."),
    ("It was [[bad]].", "good ( really )", "It was good (really)."),
    ("It was bad (really [[bad]]).", "", "It was bad (really)."),
    ("It was bad ([[really]] bad).", "", "It was bad (bad)."),
    ("It was bad ([[]]really bad).", "not", "It was bad (not really bad)."),
    ("It was bad [[(]]really bad).", "and", "It was bad and really bad)."),
    ("It was bad (really bad[[)]] today.", "", "It was bad (really bad today."),
    ('It was "[[very]] bad" today.', "", 'It was "bad" today.'),
    ('It was "very [[bad]]" today.', "", 'It was "very" today.'),
    ('It was "[[]]bad" today.', "very", 'It was "very bad" today.'),
    ('It was "bad[[]]" today.', "indeed", 'It was "bad indeed" today.'),
    ('It was [["]]bad today.', "so", "It was so bad today."),
    ('It was bad[["]] today.', "and", "It was bad and today."),
    ('"Bad!["]] she said.'.replace('["', '[["'), "", '"Bad! she said.'),
    ('It was [[("]]bad") today.', "", 'It was bad") today.'),
    ('It was [[(]]"bad") today.', "", 'It was "bad") today.'),
    ('It was bad[[. "]]Good food.', "", "It was bad good food."),
    ('He said "bad[[!". "]]Good food.', "", 'He said "bad good food.'),
    ('It was (so bad[[.]]")', "", 'It was (so bad")'),
    ('It was ([["]]so bad)', "", "It was (so bad)"),
    ('It was "[[bad]]" today.', "...", 'It was "..." today.'),
    ('It was "[[bad]] food" today.', "( so )", 'It was "(so) food" today.'),
    ("The food - [[bad]] or not - came.", "good", "The food - good or not - came."),
    ("The food [[]]- bad or not - came.", "there", "The food there - bad or not - came."),
    ("The food -[[]] bad or not - came.", "so", "The food - so bad or not - came."),
    ("We are [[#]]1 here.", "number", "We are number 1 here."),
    ("Bad food [[:)]] here.", "and", "Bad food and here."),
    ("Bad food, [[good]] :) here.", "", "Bad food, :) here."),
    ("Bad food, [[]]:) here.", "fine", "Bad food, fine :) here."),
    ("Well ... it was [[bad]], really.", "good , but", "Well ... it was good, but, really."),
    # -- space-tokenised text stays so
    ("the food was [[n't]] good .", "n ' t", "the food was n't good ."),
    ("the food [[was]] good .", "was n ' t", "the food was n't good ."),
    ("do n't [[go]]", "eat , go", "do n't eat , go"),
    ("it was [[bad]] .", "good , but cheap", "it was good , but cheap ."),
    ("it was [[bad]] .", "so - so", "it was so-so ."),
    ("it was [[bad]] .", ". . .", "it was ... ."),
    ("it was [[bad]] .", "` ` bad ' '", "it was `` bad '' ."),
    ("it was bad[[]] .", ", really", "it was bad , really ."),
    ("it was bad [[,]] but cheap .", "", "it was bad but cheap ."),
    ("[[bad]] food , really .", "", "food , really ."),
    ("it was [[bad]] ( really ) .", "good", "it was good ( really ) ."),
    ("it was bad ( [[really]] ) .", "not", "it was bad ( not ) ."),
    ("It 's [[bad]] .", "it 's good", "It 's it 's good ."),
    ("we paid [[much]] .", "$ 5", "we paid $ 5 ."),
    # -- white space that is not ours
    ("  the food\twas  [[bad]]  today ", "good", "  the food\twas  good  today "),
    ("  [[the]] food ", "", "  food "),
    ("  [[]]the food ", "all", "  all the food "),
    ("  the [[food]] ", "", "  the "),
    ("  the food[[]] ", "here", "  the food here "),
    ("the  [[bad]]\tfood", "", "the  food"),
    ("one two [[three]]\nfour", "", "one two\nfour"),
    ("one\n[[two]] three", "", "one\nthree"),
    ("[[bad]]", "good", "good"),
    ("[[Bad]]", "good", "Good"),
    ("[[]]bad", "not", "not bad"),
    ("bad[[]]", "food", "bad food"),
    ("[[!]]", "ok", "ok"),
    ("12 [[34]] 56", "good", "12 good 56"),
]


@pytest.mark.parametrize(("marked", "infill", "expected"), SENTENCES)
def test_sentences(marked: str, infill: str, expected: str) -> None:
    assert written(marked, infill) == expected


def test_a_neighbour_that_changes_lies_inside_the_edit() -> None:
    text, span = parse("Marie was born in Poland[[.]] She died.")
    r = replacement(text, span, ", and", fixed=[False] * len(text.words))
    assert (text.source[r.start : r.end], r.new) == (". She", ", and she")
    text, span = parse('[[Really]] "terrible" food.')
    r = replacement(text, span, "", fixed=[False] * len(text.words))
    assert (text.source[r.start : r.end], r.new) == ('Really "terrible', '"Terrible')


def test_an_edit_holds_no_more_than_it_changes() -> None:
    for marked, infill, old, new in [
        ("It was [[bad]] today.", "good", "bad", "good"),
        ("It was [[]]bad today.", "very", "", "very "),
        ("It was bad[[]].", "today", "", " today"),
        ("It was [[very]] bad.", "", "very ", ""),
        ("It was bad [[today]].", "", " today", ""),
        ("It was bad[[,]] today.", "and", ",", " and"),
    ]:
        text, span = parse(marked)
        r = replacement(text, span, infill, fixed=[False] * len(text.words))
        assert (text.source[r.start : r.end], r.new) == (old, new), marked


def test_fixed_words_keep_their_case() -> None:
    assert written("[[]]Poland is far.", "that", fixed=("Poland",)) == "That Poland is far."
    assert written("[[]]Poland is far.", "that") == "That poland is far."
    assert written("[[so]] ebay is Far.", "", fixed=("ebay",)) == "ebay is Far."


@pytest.mark.parametrize(
    ("marked", "infill", "expected"),
    [
        ("[[]]Poland is far.", "and", "And Poland is far."),
        ("[[]]Houses are far.", "and", "And houses are far."),
        ("It is [[far]].", "in poland", "It is in Poland."),
        ("[[Here]] we are.", "poland", "Poland we are."),
        ("it is [[far]].", "in poland", "it is in poland."),  # written without capitals
        ("IT IS [[FAR]].", "poland", "IT IS POLAND."),
    ],
)
def test_names_have_their_capitals(marked: str, infill: str, expected: str) -> None:
    text, span = parse(marked)
    r = replacement(text, span, infill, fixed=[False] * len(text.words), names={"poland": "Poland"})
    assert text.source[: r.start] + r.new + text.source[r.end :] == expected


def test_names_are_what_texts_write_with_capitals_inside_of_sentences() -> None:
    texts = [
        "We saw Paris. It was Paris!",
        "The NASA, our NASA, is here.",
        "He saw Spring, a spring, one spring.",
        "May I? I may.",
    ]
    assert usual_names(texts, 9) == ["NASA", "Paris"]  # `I` was there once inside
    assert usual_names([*texts, "So Paris it is."], 1) == ["Paris"]


@pytest.mark.parametrize(
    ("infill", "words"),
    [
        ("do n ' t", ["do", "n't"]),
        ("don ' t", ["don't"]),
        ("can’t", ["can’t"]),
        ("it ' s", ["it", "'s"]),
        ("i ' ve been", ["i", "'ve", "been"]),
        ("so - so", ["so-so"]),
        ("mani / pedi", ["mani/pedi"]),
        ("_ num _ .", ["_num_", "."]),
        ("2 . 5", ["2.5"]),
        ("1 , 000 , 000", ["1,000,000"]),
        ("at 5 : 30", ["at", "5:30"]),
        ("good . 5", ["good", ".", "5"]),
        ("o ' clock", ["o'clock"]),
        (". . . .", ["...", "."]),
        (" isn't bad,", ["isn't", "bad", ","]),
        ("- and", ["-", "and"]),
        ("\n \t", []),
        ("", []),
    ],
)
def test_infill_words(infill: str, words: list[str]) -> None:
    assert list(infill_words(infill)) == words


def test_is_tokenised_goes_with_the_majority() -> None:
    for source in ("the food was bad .", "do n't go", "great . , dr. who !", "it 's bad"):
        assert is_tokenised(read(source)), source
    for source in ("the food was bad", "It's bad.", "Well ... it was bad, really.", "Great :) Loved it!", "", "..."):
        assert not is_tokenised(read(source)), source


# -- for any text, any span, any infill --------------------------------------------------------------------------------

CHARACTERS = st.text(
    st.sampled_from(string.ascii_letters + "  \t  .,!?'’\"()-_$%#:;…“”«»ßİéñ日本语😀\u0301\u200b\x00\x1c12"),
    max_size=30,
)
WORDS = "the The food She she I I'm can't n't 's NASA RUDE Marie bad so-so _num_ 2.5 $5 . , ! ... ( ) \" '' - :) & 😀"
VOCABULARY = st.sampled_from(WORDS.split())


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """Words and marks with odd gaps; only that brackets never cling to the wrong side, nor words to a full stop."""
    out = draw(st.sampled_from(["", " "]))
    for word in draw(st.lists(VOCABULARY, min_size=1, max_size=8)):
        gap = draw(st.sampled_from(["", " ", " ", " ", "  ", "\t"]))
        out += (gap or " " * (word == "(" or out[-1:] in tuple(".,!):"))) + word
    return out + draw(st.sampled_from(["", "", " ", "\t"]))


def spans_of(text: Text) -> list[Span]:
    return enumerate_spans(text, 4)


def squeezed(text: str) -> str:
    return "".join(text.split()).casefold().replace("i\u0307", "i").replace("ı", "i")  # as Turkish has it, or not


@settings(max_examples=300, deadline=None)
@given(st.data(), st.one_of(CHARACTERS, sentences()), st.one_of(CHARACTERS, sentences(), st.text(max_size=12)))
def test_only_the_words_of_the_span_change(data: st.DataObject, source: str, infill: str) -> None:
    text = read(source)
    span = data.draw(st.sampled_from(spans_of(text)))
    r = replacement(text, span, infill, fixed=[False] * len(text.words))
    result = applied(source, r)
    assert 0 <= r.start <= r.end <= len(source)
    assert result[: r.start] == source[: r.start]
    assert result[r.start + len(r.new) :] == source[r.end :]
    # white space and case aside, it is the words before, the infill and the words after
    begin = text.words[span.start].start if span.start < len(text.words) else len(source)
    finish = text.words[span.stop - 1].end if span.stop > span.start else begin
    expected = source[:begin] + "".join(infill_words(infill)) + source[finish:]
    assert squeezed(result) == squeezed(expected)


@settings(max_examples=300, deadline=None)
@given(st.data(), sentences(), st.lists(VOCABULARY, max_size=4).map(" ".join))
def test_words_never_run_together(data: st.DataObject, source: str, infill: str) -> None:
    """Read again, the result has the same words with a letter in them: those around the span, and the infilled ones."""
    text = read(source)
    span = data.draw(st.sampled_from(spans_of(text)))
    r = replacement(text, span, infill, fixed=[False] * len(text.words))

    def wordy(words: list[str]) -> list[str]:
        joined = re.sub(
            r"(?<=[\w😀]) (?=n't\b|'s\b)", "", " ".join(words).casefold()
        )  # clitics may cling or stand apart
        return [w.strip("'") for w in joined.split() if any(map(str.isalnum, w))]

    words = [text.word(i) for i in range(len(text.words))]
    new = infill_words(infill)
    result = read(applied(source, r))
    got = [result.word(i) for i in range(len(result.words))]
    assert wordy(got) == wordy([*words[: span.start], *new, *words[span.stop :]])


@settings(max_examples=200, deadline=None)
@given(st.data(), sentences())
def test_writing_what_stands_there_changes_nothing(data: st.DataObject, source: str) -> None:
    text = read(source)
    span = data.draw(st.sampled_from(spans_of(text)))
    same = " ".join(text.word(i) for i in range(span.start, span.stop))
    if list(infill_words(same)) != [text.word(i) for i in range(span.start, span.stop)] or span.stop - span.start > 1:
        return  # the spaces inside a span of several words are written anew
    r = replacement(text, span, same, fixed=[False] * len(text.words))
    assert applied(source, r) == source


@settings(max_examples=200, deadline=None)
@given(st.data(), sentences(), st.lists(VOCABULARY, max_size=4).map(" ".join))
def test_fixed_words_stay_as_they_are(data: st.DataObject, source: str, infill: str) -> None:
    text = read(source)
    span = data.draw(st.sampled_from(spans_of(text)))
    result = applied(source, replacement(text, span, infill, fixed=[True] * len(text.words)))
    before = source[: text.words[span.start - 1].end] if span.start else ""
    after = source[text.words[span.stop].start :] if span.stop < len(text.words) else ""
    assert result.startswith(before)
    assert result.endswith(after)
