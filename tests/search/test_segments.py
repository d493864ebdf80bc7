from typing import Any

import numpy as np
from conftest import make_model, make_task
from hypothesis import given
from hypothesis import strategies as st

from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.search.lexicon import Lexicon
from masker.search.segments import Draft, Edited, Part, Segment

MODEL = make_model("bert")
TASK = make_task(MODEL)
LEXICON = Lexicon()
WORDS = ["food", "was", "terrible", "the", "we", "like", "it", "."]


def segment_of(source: str, lexicon: Lexicon = LEXICON) -> Segment:
    text = MODEL.vocabulary.read(source)
    return Segment(0, text, Span(0, len(text.words)), np.array(lexicon.of_text(source)), np.full(2, -9.0))


def draft_of(segment: Segment, *parts: Part, **values: Any) -> Draft:
    """A draft of which nothing is known but what is given."""
    usual = {"likelihood": -1.0, "similarity": 0.5, "log_p": np.full(2, -0.01), "total": 0.0, "most": 0.0}
    words = np.arange(len(segment.ids))
    return Draft(parts, segment.ids, words, segment.spelt, **{**usual, **values})


def part(start: int, stop: int, word: str | None) -> Part:
    pieces = tuple(MODEL.vocabulary.read(word).pieces) if word else ()
    return Part(Span(start, stop), pieces, -1.0, -1.0, 0.0, 0.0)


@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=12),
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 2), st.sampled_from(["", "good", "not so good"])), max_size=3
    ),
)
def test_edited_texts_know_where_their_old_words_were(words: list[str], edits: list[tuple[int, int, str]]) -> None:
    segment, made, free = segment_of(" ".join(words)), list[Replacement](), 0
    for start, size, new in sorted(edits):
        if free <= start < start + size <= len(words):
            a, b = segment.text.words[start].start, segment.text.words[start + size - 1].end
            made.append(Replacement(a, b, new))
            free = start + size + 1
    edited, source = Edited(TASK, segment, made), segment.text.source
    for r in reversed(made):
        source = source[: r.start] + r.new + source[r.end :]
    assert edited.text.source == source
    for j, i in edited.old.items():
        assert edited.text.word(j) == segment.text.word(i)
    gone = {i for i in range(len(words)) for r in made if r.start <= segment.text.words[i].start < r.end}
    assert {*edited.old.values()} == {*range(len(words))} - gone
    assert bool(edited.near(1)) <= bool(made)
    assert set(edited.near(2)) <= set(edited.near(20)) <= set(edited.old)


def test_near_words_are_those_beside_an_edit() -> None:
    segment = segment_of("we like the food it was terrible .")
    inserted = Edited(TASK, segment, [Replacement(7, 7, " so")])
    assert [inserted.text.word(j) for j in inserted.near(1)] == ["like", "the"]
    deleted = Edited(TASK, segment, [Replacement(7, 16, "")])
    assert [deleted.text.word(j) for j in deleted.near(2)] == ["we", "like", "it", "was"]
    assert deleted.home(0, 2) == (0, 2)
    assert deleted.home(8, 10) == (17, 19)
    assert inserted.home(8, 10) is None


def test_parts_are_written_out_if_a_character_stays_between_them() -> None:
    segment = segment_of("the food was terrible .")
    apart = draft_of(segment, part(0, 1, "our"), part(3, 4, "good"))
    assert segment.write(TASK, apart)
    assert [r.new for r in apart.replacements] == ["our", "good"]
    assert segment.write(TASK, draft_of(segment, part(0, 1, "our"), part(1, 2, "people")))
    touching = draft_of(segment, part(1, 2, None), part(2, 3, "is"))  # the space after a deleted word goes with it
    assert not segment.write(TASK, touching)
    assert not segment.write(TASK, draft_of(segment, part(3, 4, "terrible")))  # which stands there already
