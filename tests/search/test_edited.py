import re

import numpy as np
from conftest import make_model, make_task
from hypothesis import given
from hypothesis import strategies as st

from masker.core.matching import Pattern
from masker.core.spans import protected_words
from masker.core.surface import Replacement
from masker.core.task import Task
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.search.edited import NEW, Edited, Patch

VOCABULARY = make_model("bert").vocabulary
WORDS = ["food", "was", "terrible", "the", "we", "like", "it", "."]


class One:
    """A text that is edited among others."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        before: Text,
        made: list[Replacement],
        patches: dict[Replacement, Patch] | None = None,
    ) -> None:
        other, known = vocabulary.read("the food was terrible ."), {} if patches is None else patches
        insertion = [Replacement(3, 3, " good")]
        self.all = Edited(vocabulary, [(other, insertion, {}), (before, made, known), (other, [], {})])
        self.first = int(self.all.starts[1])
        self.mine = slice(self.first, self.first + int(self.all.sizes[1]))
        self.text = vocabulary.read(self.all.sources[1])
        self.homes = self.all.homes[self.mine].tolist()
        self.widths = self.all.widths[self.mine].tolist()
        number = self.all.number[self.mine]
        span = np.arange(self.mine.start, self.mine.stop)[:, None] + [0, 1]
        self.rows = self.all.rows(number, span, window=1000)

    @property
    def pieces(self) -> list[int]:
        """As they stand in the windows of its words."""
        (window,) = {(a, b) for a, b, _, _ in self.rows.tolist()} or {(0, 0)}
        return self.all.pieces[slice(*window)].tolist()

    def near(self, reach: int) -> list[int]:
        """Old words."""
        near = self.all.near(reach)[self.mine].tolist()
        return [j for j, home in enumerate(self.homes) if near[j] and home >= 0]

    def protected(self, task: Task) -> list[bool]:
        return self.all.protected(task)[self.mine].tolist()


@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=12),
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 2), st.sampled_from(["", "good", "not so good"])), max_size=3
    ),
)
def test_edited_texts_know_where_their_old_words_were(words: list[str], edits: list[tuple[int, int, str]]) -> None:
    text, made, free = VOCABULARY.read(" ".join(words)), list[Replacement](), 0
    for start, size, new in sorted(edits):
        if free <= start < start + size <= len(words):
            a, b = text.words[start].start, text.words[start + size - 1].end
            made.append(Replacement(a, b, new))
            free = start + size + 1
    edited, source = One(VOCABULARY, text, made), text.source
    for r in reversed(made):
        source = source[: r.start] + r.new + source[r.end :]
    assert edited.text.source == source
    old = {j: i for j, i in enumerate(edited.homes) if i >= 0}
    for j, i in old.items():
        assert edited.text.word(j) == text.word(i)
    gone = {i for i in range(len(words)) for r in made if r.start <= text.words[i].start < r.end}
    assert {*old.values()} == {*range(len(words))} - gone
    assert bool(edited.near(1)) <= bool(made)
    assert set(edited.near(2)) <= set(edited.near(20)) <= set(old)


def test_near_words_are_those_beside_an_edit() -> None:
    text = VOCABULARY.read("we like the food it was terrible .")
    inserted = One(VOCABULARY, text, [Replacement(7, 7, " so")])
    assert [inserted.text.word(j) for j in inserted.near(1)] == ["like", "the"]
    deleted = One(VOCABULARY, text, [Replacement(7, 16, "")])
    assert [deleted.text.word(j) for j in deleted.near(2)] == ["we", "like", "it", "was"]
    assert deleted.homes == [0, 1, 4, 5, 6, 7]
    assert inserted.homes == [0, 1, NEW, 2, 3, 4, 5, 6, 7]


BITS = [" ", "  ", "the", "food", "was", "'s", ".", ",", "\n", "42"]


@st.composite
def replaced(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    """A text of any shape, and replacements in order and apart."""
    source, made, free = "".join(draw(st.lists(st.sampled_from(BITS), max_size=14))), list[Replacement](), 0
    for size, gap, new in draw(
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from(BITS)), max_size=3)
    ):
        if free + gap + size <= len(source):
            made.append(Replacement(free + gap, free + gap + size, draw(st.sampled_from(["", new, f" {new} so"]))))
            free += gap + size + 1
    return source, made


def test_what_is_not_tokenised_again_is_as_if_it_were(family: str) -> None:
    vocabulary = make_model(family).vocabulary
    task = make_task(make_model(family), protect=(Pattern(re.compile(r"\d+")),))

    @given(replaced())
    def check(case: tuple[str, list[Replacement]]) -> None:
        source, made = case
        before, patches = vocabulary.read(source), dict[Replacement, Patch]()
        for _ in range(2):  # the second time with patches that are known
            edited = One(vocabulary, before, made, patches)
            assert edited.pieces == edited.text.pieces
            assert edited.widths == [len(word.pieces) for word in edited.text.words]
            starts = [edited.rows[0, 0] + bound for bound in edited.text.bounds[:-1]] if edited.homes else []
            assert edited.rows[:, 2].tolist() == starts
            assert len(edited.homes) == len(edited.text.words)
            assert edited.protected(task) == protected_words(edited.text, task.keep(edited.text))
            assert all(edited.text.word(j) == before.word(i) for j, i in enumerate(edited.homes) if i >= 0)

    check()
