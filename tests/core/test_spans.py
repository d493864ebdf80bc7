import re
from typing import Any

import pytest
from conftest import FIGURE_1
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.spans import Span, enumerate_spans, may_be_edited, protected_words
from masker.core.text import Text, Word, split_words
from masker.core.vocabulary import Vocabulary


def read(source: str, pieces: int = 1) -> Text:
    return Text(source, tuple(Word(a, b, (0,) * pieces, ((a, b),) * pieces) for a, b in split_words(source)))


def matches(pattern: str, source: str) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(pattern, source)]


def test_the_spans_of_figure_1_row_by_row(vocabulary: Vocabulary, figure_1: list[dict[str, Any]]) -> None:
    text = vocabulary.read(FIGURE_1)
    rows = []
    for span in enumerate_spans(text, n_p=4):
        start, stop = text.bounds[span.start], text.bounds[span.stop]
        pieces = [*text.pieces[:start], *[vocabulary.mask] * 4, *text.pieces[stop:]]
        rows.append((span.start, span.stop - span.start, " ".join(vocabulary.tokens(pieces))))
    assert len(rows) == 54
    assert rows == [(row["i"], row["words_deleted"], row["masked_input"]) for row in figure_1]


def test_a_final_mark_is_protected_and_a_final_word_is_not() -> None:
    with_stop, without = read("the food was terrible ."), read("the food was terrible")
    assert all(span.stop <= 4 or span == Span(5, 5) for span in enumerate_spans(with_stop, 4))
    assert Span(3, 4) in enumerate_spans(with_stop, 4)
    assert Span(3, 4) in enumerate_spans(without, 4)
    assert Span(4, 4) in enumerate_spans(without, 4)
    assert protected_words(with_stop) == [False] * 4 + [True]
    assert protected_words(without) == [False] * 4


@pytest.mark.parametrize(("pieces", "n_p", "longest"), [(1, 4, 4), (2, 4, 2), (3, 4, 1), (5, 4, 0), (1, 9, 4)])
def test_spans_have_at_most_n_p_pieces(pieces: int, n_p: int, longest: int) -> None:
    spans = enumerate_spans(read("one two three four", pieces), n_p)
    assert max(span.stop - span.start for span in spans) == longest
    assert [span for span in spans if span.start == span.stop] == [Span(i, i) for i in range(5)]


def test_a_text_of_nothing_but_a_mark() -> None:
    assert enumerate_spans(read("!"), 4) == [Span(0, 0), Span(1, 1)]
    assert enumerate_spans(read(""), 4) == [Span(0, 0)]


def test_what_is_kept_is_not_touched_and_nothing_is_inserted_inside_it() -> None:
    source = "we saw New York today"
    text = read(source)
    spans = enumerate_spans(text, 4, matches("New York", source))
    assert not [s for s in spans if s.start < 4 and s.stop > 2]
    assert Span(3, 3) not in spans  # between New and York
    assert {Span(2, 2), Span(4, 4), Span(0, 2), Span(4, 5)} <= set(spans)  # but before and after it
    assert protected_words(text, matches("New York", source)) == [False, False, True, True, False]


def test_a_match_inside_a_word_keeps_the_word() -> None:
    source = "see http://x.yz/a?b=c now"
    assert protected_words(read(source), matches(r"\d|x\.yz", source)) == [False, True, False]


@settings(max_examples=200, deadline=None)
@given(st.data(), st.text("ab. -", max_size=24), st.integers(1, 4), st.integers(1, 3))
def test_no_span_holds_or_splits_a_kept_range(data: st.DataObject, source: str, n_p: int, pieces: int) -> None:
    cut = st.integers(0, len(source))
    ranges = data.draw(st.lists(st.tuples(cut, cut).map(sorted).filter(lambda r: r[0] < r[1]), max_size=3))
    keep = [(a, b) for a, b in ranges]
    text = read(source, pieces)
    spans = enumerate_spans(text, n_p, keep)
    assert spans == sorted(set(spans))
    for span in spans:
        assert (span.stop - span.start) * pieces <= n_p
        for word in text.words[span.start : span.stop]:
            assert not any(word.start < b and a < word.end for a, b in keep)
        if 0 < span.start == span.stop < len(text.words):
            left, right = text.words[span.start - 1].end, text.words[span.start].start
            assert not any(a < left and right < b for a, b in keep)


def test_words_beside_a_kept_range_are_free() -> None:
    text = read("ab cd.")
    assert protected_words(text, [(0, 2)]) == [True, False, True]
    assert protected_words(text, [(2, 3)]) == [False, False, True]  # the space alone
    assert protected_words(text, [(3, 5)]) == [False, True, True]


def test_a_span_of_any_length_may_be_edited_unless_it_holds_or_splits_what_is_kept() -> None:
    source = "we saw New York today ."
    text, keep = read(source), matches("New York", source)
    assert may_be_edited(text, Span(0, 5))
    assert not may_be_edited(text, Span(0, 6))  # the final mark
    assert may_be_edited(text, Span(0, 2), keep)
    assert not may_be_edited(text, Span(1, 3), keep)
    assert not may_be_edited(text, Span(3, 5), keep)
    assert may_be_edited(text, Span(4, 5), keep)
    assert [may_be_edited(text, Span(i, i), keep) for i in range(7)] == [True, True, True, False, True, True, True]
    assert all(may_be_edited(text, Span(i, i)) for i in range(7))
    assert not may_be_edited(text, Span(0, 0), [(-1, len(source) + 1)])
    assert not may_be_edited(text, Span(6, 6), [(-1, len(source) + 1)])
