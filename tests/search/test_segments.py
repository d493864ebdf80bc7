from typing import Any

import numpy as np
from conftest import make_model, make_task
from hypothesis import given
from hypothesis import strategies as st

from masker.core.spans import Span
from masker.search.lexicon import Lexicon
from masker.search.segments import Draft, Part, Segment
from search.styles import ids_of

MODEL = make_model("bert")
TASK = make_task(MODEL)
LEXICON = Lexicon()
WORDS = ["food", "was", "terrible", "the", "we", "like", "it", "."]


def segment_of(source: str, lexicon: Lexicon = LEXICON) -> Segment:
    text = MODEL.vocabulary.read(source)
    return Segment(0, text, Span(0, len(text.words)), np.array(ids_of(lexicon, source)), np.full(2, -9.0))


def draft_of(segment: Segment, *parts: Part, **values: Any) -> Draft:
    """A draft of which nothing is known but what is given."""
    usual = {"likelihood": -1.0, "similarity": 0.5, "log_p": np.full(2, -0.01), "total": 0.0, "most": 0.0}
    return Draft(parts, **{**usual, **values})


def part(start: int, stop: int, word: str | None) -> Part:
    pieces = tuple(MODEL.vocabulary.read(word).pieces) if word else ()
    return Part(Span(start, stop), pieces, tuple(ids_of(LEXICON, word or "")), -1.0, -1.0, 0.0, 0.0)


def test_parts_are_written_out_if_a_character_stays_between_them() -> None:
    segment = segment_of("the food was terrible .")
    apart = draft_of(segment, part(0, 1, "our"), part(3, 4, "good"))
    assert segment.write(TASK, apart)
    assert [r.new for r in apart.replacements] == ["our", "good"]
    assert segment.write(TASK, draft_of(segment, part(0, 1, "our"), part(1, 2, "people")))
    touching = draft_of(segment, part(1, 2, None), part(2, 3, "is"))  # the space after a deleted word goes with it
    assert not segment.write(TASK, touching)
    assert not segment.write(TASK, draft_of(segment, part(3, 4, "terrible")))  # which stands there already


def test_a_final_mark_alone_is_no_edit() -> None:
    bare, marked = segment_of("the food was terrible"), segment_of("the food was terrible .")
    for segment, end in ((bare, 4), (marked, 5)):
        assert not segment.write(TASK, draft_of(segment, part(end, end, ".")))
        assert segment.write(TASK, draft_of(segment, part(3, 3, ".")))
        assert segment.write(TASK, draft_of(segment, part(end, end, "we like it")))
    assert not bare.write(TASK, draft_of(bare, part(3, 4, "terrible .")))
    assert bare.write(TASK, draft_of(bare, part(3, 4, "good .")))
    assert bare.write(TASK, draft_of(bare, part(3, 4, None)))


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 2), st.sampled_from([None, "good", "not so good"])), max_size=3
    ),
)
def test_drafts_are_spelt_word_by_word(words: list[str], edits: list[tuple[int, int, str | None]]) -> None:
    segment, parts, free = segment_of(" ".join(words)), list[Part](), 0
    for start, size, new in sorted(edits, key=lambda edit: edit[:2]):
        if free <= start <= start + size <= len(words):
            parts.append(part(start, start + size, new))
            free = start + size + 1
    spelt = segment.spelt(parts)
    expected = [[*segment.text.words[i].pieces] for i in range(len(words))]
    for p in reversed(parts):
        expected[p.span.start : p.span.stop] = [[*p.pieces]] if p.words else []
    assert spelt.pieces == [piece for pieces in expected for piece in pieces]
    assert spelt.bounds[0] == 0
    assert spelt.bounds[-1] == len(spelt.pieces)
    assert len(spelt.words) == len(spelt.homes) == len(spelt.bounds) - 1
    for j, i in enumerate(spelt.homes):
        if i >= 0:
            assert spelt.words[j] == segment.ids[i]
            assert tuple(spelt.pieces[spelt.bounds[j] : spelt.bounds[j + 1]]) == segment.text.words[i].pieces
    assert [word for word, i in zip(spelt.words, spelt.homes, strict=True) if i < 0] == [
        w for p in parts for w in p.words
    ]
