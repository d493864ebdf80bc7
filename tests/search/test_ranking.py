import numpy as np
from conftest import make_model
from hypothesis import given
from hypothesis import strategies as st

from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.model.settings import SearchSettings
from masker.search.infilling import Infill
from masker.search.ranking import Ranking, similarity_of
from masker.search.segments import Candidate, Edited, Segment

VOCABULARY = make_model("bert").vocabulary
WORDS = ["food", "was", "terrible", "the", "we", "like", "it", "."]


def segment_of(source: str) -> Segment:
    text = VOCABULARY.read(source)
    return Segment(0, text, Span(0, len(text.words)), np.zeros(2))


def candidate(start: int, end: int, new: str) -> Candidate:
    return Candidate(Infill(0, (), -1.0, -1.0), Replacement(start, end, new), 0.0, 0.0)


@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=12),
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 2), st.sampled_from(["", "good", "not so good"])), max_size=3
    ),
)
def test_edited_texts_know_where_their_old_words_were(words: list[str], edits: list[tuple[int, int, str]]) -> None:
    segment, parts, free = segment_of(" ".join(words)), [], 0
    for start, size, new in sorted(edits):
        if free <= start < start + size <= len(words):
            a, b = segment.text.words[start].start, segment.text.words[start + size - 1].end
            parts.append(candidate(a, b, new))
            free = start + size + 1
    edited = Edited(VOCABULARY, segment, parts)
    assert edited.text.source == segment.with_parts(parts)
    for j, i in edited.old.items():
        assert edited.text.word(j) == segment.text.word(i)
    gone = {i for i in range(len(words)) for p in parts if p.at.start <= segment.text.words[i].start < p.at.end}
    assert {*edited.old.values()} == {*range(len(words))} - gone
    assert bool(edited.near(1)) <= bool(parts)
    assert set(edited.near(2)) <= set(edited.near(20)) <= set(edited.old)


def test_near_words_are_those_beside_an_edit() -> None:
    segment = segment_of("we like the food it was terrible .")
    inserted = Edited(VOCABULARY, segment, [candidate(7, 7, " so")])
    assert [inserted.text.word(j) for j in inserted.near(1)] == ["like", "the"]
    deleted = Edited(VOCABULARY, segment, [candidate(7, 16, "")])
    assert [deleted.text.word(j) for j in deleted.near(2)] == ["we", "like", "it", "was"]
    assert deleted.home(0, 2) == (0, 2)
    assert deleted.home(8, 10) == (17, 19)
    assert inserted.home(8, 10) is None


def test_what_is_lost_counts_for_more_than_what_is_added() -> None:
    source = "the food was good"
    assert similarity_of(source, source, 2.0) == 1
    assert similarity_of("the food was very good", source, 2.0) > similarity_of("the food good", source, 2.0)
    assert similarity_of("the food was bad", source, 2.0) < similarity_of("the food was not good", source, 2.0)
    assert similarity_of("the food", source, 4.0) < similarity_of("the food", source, 2.0)


def test_a_total_is_the_sum_that_the_module_tells() -> None:
    segment = segment_of("we like it .")
    knobs = {"likelihood": 100, "similarity": 1000, "lost": 3, "coherence": 1e4, "residue": 1e6, "sure": 1e5}
    ranking = Ranking(SearchSettings.of({"strength": 0.5, "encoder": 1, "bag_of_words": 10}, knobs))
    part = candidate(3, 7, "hate")
    text, enough = segment.with_parts([part]), np.log(0.5)
    unsure = ranking.total(segment, [part], text, np.array([-2.0, -0.1]), -3.0, -4.0)
    assert np.isclose(unsure, -2 + 10 * enough - 100 + 1000 * similarity_of(text, segment.source, 3) - 3e4 - 4e6)
    sure = ranking.total(segment, [part], text, np.array([-0.2, -0.1]), -3.0, -4.0)
    assert np.isclose(sure - unsure, enough + 2 + 1e5)
