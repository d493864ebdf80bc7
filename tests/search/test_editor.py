import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import DOMAINS, FIGURE_1, make_model
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from masker.api import Masker
from masker.core.batching import padded
from masker.core.edits import Rewrite, apply_edits
from masker.core.segments import Unit
from masker.core.spans import Span
from masker.core.surface import Replacement
from masker.core.text import split_words
from masker.errors import MaskerError
from masker.model.settings import SearchSettings
from masker.search import asking, coherence, editor, lexicon, race
from masker.search.edited import Edited
from masker.search.editor import SearchEditor
from masker.search.lexicon import Lexicon
from masker.search.ranking import doubles
from masker.search.segments import Draft, Part, Segment
from search.styles import Words, ids_of, search_texts, searching, with_style
from search.test_segments import draft_of, segment_of

ONLY_STYLE = {"strength": 0.2, "encoder": 50.0}
TEXTS = [
    FIGURE_1,
    "The food was terrible, and we don't like it!",
    "so",
    "it was n't good .",
    "",
    "I can't believe how RUDE they were; really (really) rude ...",
]


@pytest.fixture(scope="module")
def masker() -> Masker:
    return with_style()


def test_edits_lead_from_source_to_text(masker: Masker) -> None:
    rewrites = masker.edit(TEXTS, to="positive", method="search", strength=0.99, min_score=-100.0)
    assert any(r.edits for r in rewrites)
    for rewrite in rewrites:
        text = rewrite.source
        for edit in reversed(rewrite.edits):
            assert text[edit.start : edit.end] == edit.old
            text = edit.apply(text)
        assert text == rewrite.text
        assert (rewrite.text == rewrite.source) == (not rewrite.edits)
        assert (rewrite.reason is None) == bool(rewrite.edits)


def test_search_is_the_default_of_models_with_a_style_classifier(masker: Masker) -> None:
    by_default = [r.text for r in masker.edit(TEXTS, to="positive")]
    assert by_default == [r.text for r in masker.edit(TEXTS, to="positive", method="search")]
    plain = Masker(make_model("bert"), device="cpu")
    assert [r.text for r in plain.edit(TEXTS, to="positive")] == [
        r.text for r in masker.edit(TEXTS, to="positive", method="paper")
    ]
    with pytest.raises(MaskerError, match="fit it again"):
        plain.edit("so", to="positive", method="search")


def test_what_cannot_be_is_said(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="known: auto, fast, search, paper"):
        masker.edit("so", to="positive", method="serach")
    with pytest.raises(MaskerError, match="between 0 and 1"):
        masker.edit("so", to="positive", strength=1.0)
    with pytest.raises(MaskerError, match="belongs to the method auto or search"):
        masker.edit("so", to="positive", method="paper", strength=0.5)
    with pytest.raises(MaskerError, match="at least 1"):
        masker.edit("so", to="positive", max_edits=0)


def test_a_text_that_reads_as_the_target_is_left_alone(masker: Masker) -> None:
    task, _, _ = searching(masker)
    style = Words(["great"], ["terrible"])
    sources = ["the food was great great .", "the food was terrible ."]
    done, todo = search_texts(task, style, sources, {"strength": 0.9, "max_edits": 1, "min_score": -math.inf})
    assert done.text == done.source
    assert re.fullmatch(r"it reads as positive already \(0\.99\)", done.reason or "")
    assert todo.edits


def test_what_is_clearly_of_the_target_domain_goes_before_what_is_better_otherwise(masker: Masker) -> None:
    task, style, _ = searching(masker)
    search = SearchEditor(task, style, SearchSettings(max_edits=2, convinced=0.1))
    segment = segment_of("so bad")
    parts = [Part(Span(0, 1), (), (), -1.0, -1.0, 0.0, 0.0)] * 3
    drafts = [
        Draft(tuple(parts[:count]), 0.0, 1.0, np.log([p, 0.99]), total, 0.0)
        for count, p, total in ((1, 0.3, 4.0), (2, 0.7, 3.0), (3, 0.95, 2.0), (1, 0.85, 1.0))
    ]
    segment.drafts = drafts
    for clear, best in ((0.0, 0), (0.5, 1), (0.8, 3), (0.9, 0)):  # the third has too many edits
        search.settings = SearchSettings(max_edits=2, convinced=0.1, clear=clear)
        assert search.chosen(segment) is drafts[best]
    search.settings = SearchSettings(max_edits=1, convinced=0.9)
    assert search.chosen(segment) is None


def test_a_text_that_no_edits_can_turn_is_left_alone_where_that_is_wanted(masker: Masker) -> None:
    task, _, _ = searching(masker)
    style = Words([], ["terrible", "rude", "bad", "awful"])
    sources = ["the food was terrible .", "terrible and rude and bad and awful ."]
    knobs = {**ONLY_STYLE, "max_edits": 1, "min_score": -math.inf}
    assert all(rewrite.edits for rewrite in search_texts(task, style, sources, knobs))
    turned, left = search_texts(task, style, sources, {**knobs, "convinced": 0.25}, top=2)
    assert turned.edits
    assert (left.text, left.reason) == (left.source, "a few edits cannot make it read as positive")
    assert left.alternatives  # what was thought of is still told
    with pytest.raises(MaskerError, match="`convinced` is 1"):
        SearchSettings(convinced=1.0)


def test_a_second_edit_is_made_only_where_the_first_was_not_enough(
    masker: Masker, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, _, _ = searching(masker)
    monkeypatch.setattr(editor, "JUDGED", 10_000)
    sources = ["the food was terrible .", "terrible people and the staff was rude ."]
    style = Words([], ["terrible", "rude"])
    one, two = search_texts(task, style, sources, {**ONLY_STYLE, "max_edits": 3, "min_score": 0.0})
    assert len(one.edits) == 1
    assert len(two.edits) == 2
    assert not {"terrible", "rude"} & set(two.text.split())
    single = search_texts(task, style, sources, {**ONLY_STYLE, "max_edits": 1, "min_score": 0.0})
    assert [len(r.edits) for r in single] == [1, 1]


def test_a_word_that_does_not_fit_is_worth_another_edit(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _, _ = searching(masker)
    style = Words([], ["terrible"])

    def most_edits(misfit: float) -> int:
        monkeypatch.setattr(editor, "MISFIT", misfit)
        (rewrite,) = search_texts(
            task,
            style,
            ["the food was terrible and we like it ."],
            {**ONLY_STYLE, "max_edits": 2, "min_score": -1e9},
            top=100,
        )  # it is sure enough after one edit
        return max(len(option.edits) for option in rewrite.alternatives or ())

    assert most_edits(0.0) == 2
    assert most_edits(math.inf) == 1


def test_alternatives_are_different_texts(masker: Masker) -> None:
    task, _, _ = searching(masker)
    source = "the food was terrible and we like it ."
    knobs = {**ONLY_STYLE, "max_edits": 2, "min_score": -1e9}
    (rewrite,) = search_texts(task, Words([], ["terrible"]), [source], knobs, top=100)
    texts = [option.text for option in rewrite.alternatives or ()]
    assert len(texts) == len(set(texts)) > 1


def test_a_word_that_speaks_for_the_source_is_worth_another_edit(
    masker: Masker, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, _, _ = searching(masker)
    monkeypatch.setattr(editor, "MISFIT", math.inf)

    def most_edits(spoken: float, residue: float = 1.0) -> int:
        monkeypatch.setattr(coherence, "SPOKEN", spoken)
        style, source = Words([], ["terrible"]), "the food was terrible and we like it ."
        knobs = {
            **ONLY_STYLE,
            "residue": residue,
            "max_edits": 2,
            "min_score": -1e9,
        }
        (rewrite,) = search_texts(task, style, [source], knobs, top=100)
        return max(len(option.edits) for option in rewrite.alternatives or ())

    assert most_edits(-100.0) == 2
    assert most_edits(100.0) == 1
    assert most_edits(-100.0, residue=0.0) == 1


def test_further_candidates_are_for_the_words_that_have_to_go(masker: Masker) -> None:
    task, _, _ = searching(masker)
    segment = segment_of("the food was terrible and we like it .")
    edited = Edited(task.vocabulary, [(segment.text, [Replacement(4, 8, "pasta")], {})])

    def around(misfits: tuple[tuple[float, int], ...], leftovers: tuple[int, ...]) -> set[Span]:
        draft = draft_of(segment, misfits=misfits, leftovers=leftovers)
        return {Span(a, b) for a, b in asking.misfitting(task, [(segment, draft)], edited).tolist()}

    like = {Span(6, 7), Span(5, 7), Span(6, 8)}
    assert around((), (6,)) == around(((-1.0, 6),), ()) == like
    assert around(((-1.0, 6), (0.5, 3)), ()) == like  # what has become likelier stays
    assert like < around(((-1.0, 6),), (3,))


def test_further_candidates_see_the_edits_before_them(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _, _ = searching(masker)
    asked: list[str] = []
    plain = asking.infill

    def noted(task: Any, texts: Edited, *spans: Any) -> Any:
        asked.extend(texts.sources)
        return plain(task, texts, *spans)

    monkeypatch.setattr(editor, "MISFIT", 0.0)
    monkeypatch.setattr(asking, "infill", noted)
    source = "the food was terrible and we like it and the people ."
    style = Words([], ["terrible"])
    (rewrite,) = search_texts(task, style, [source], {**ONLY_STYLE, "max_edits": 2, "min_score": -1e9}, top=20)
    singles = {r.text for r in rewrite.alternatives or () if len(r.edits) == 1}
    assert asked[0] == source
    assert 1 <= len(asked[1:]) <= editor.WIDTH
    assert set(asked[1:]) <= singles


def test_edits_that_gain_too_little_are_not_made(masker: Masker) -> None:
    (best,) = masker.edit([FIGURE_1], to="positive", strength=0.99, min_score=-100.0)
    assert best.score > -100
    (none,) = masker.edit([FIGURE_1], to="positive", strength=0.99, min_score=best.score + 0.01)
    assert none.text == FIGURE_1
    assert none.reason == f"no edit scores above {best.score + 0.01:g}"
    (same,) = masker.edit([FIGURE_1], to="positive", strength=0.99, min_score=best.score - 0.01)
    assert same == best


def test_the_best_rewrites_are_listed(masker: Masker) -> None:
    (rewrite,) = masker.edit([FIGURE_1], to="positive", strength=0.99, min_score=-100.0, top=3)
    assert rewrite.alternatives
    assert len(rewrite.alternatives) == 3
    assert rewrite.alternatives[0].text == rewrite.text
    scores = [a.score for a in rewrite.alternatives]
    assert scores == sorted(scores, reverse=True)


def test_what_is_protected_or_forbidden_stays_so(masker: Masker) -> None:
    options = {"strength": 0.99, "min_score": -100.0, "max_edits": 3}
    free = masker.edit(TEXTS, to="positive", **options)
    new = {word for r in free for e in r.edits for word in e.new.lower().split()}
    kept = masker.edit(TEXTS, to="positive", protect="food|born in", forbid=new, **options)
    for source, rewrite in zip(TEXTS, kept, strict=True):
        for found in re.findall("food|born in", source):
            assert found in rewrite.text
        assert not {w.lower() for e in rewrite.edits for w in e.new.split()} & new


def test_no_edit_doubles_a_word(masker: Masker) -> None:
    for rewrite in masker.edit(TEXTS, to="positive", strength=0.99, min_score=-100.0, max_edits=3, top=30):
        for option in rewrite.alternatives or ():
            assert doubled(option.text) <= doubled(option.source)


def test_edits_of_one_rewrite_are_apart(masker: Masker) -> None:
    for rewrite in masker.edit(TEXTS, to="positive", strength=0.999, min_score=-100.0, max_edits=3, top=30):
        for option in rewrite.alternatives or ():
            for a, b in zip(option.edits, option.edits[1:], strict=False):
                assert a.end < b.start


def test_a_long_text_is_edited_sentence_by_sentence(masker: Masker) -> None:
    task, _, _ = searching(masker)
    text = "the food was terrible . the staff was rude . we like it ."
    style = Words([], ["terrible", "rude"])
    (rewrite,) = search_texts(
        task, style, [text], {**ONLY_STYLE, "max_edits": 1, "min_score": -100.0}, unit=Unit(longest=6)
    )
    assert len(rewrite.edits) == 2  # one in each sentence that needs it
    assert rewrite.text.endswith("we like it .")


def test_sentences_are_edited_each_by_itself(masker: Masker) -> None:
    task, _, _ = searching(masker)
    text = "The food was terrible. We sat there. The staff was rude, and it was bad!"
    knobs = {**ONLY_STYLE, "max_edits": 1, "min_score": -100.0}
    style = Words(["sat", "sat"], ["terrible", "rude", "bad"])
    (rewrite,) = search_texts(task, style, [text], knobs, unit=Unit(sentences=True))
    first, last = rewrite.edits  # up to one edit a sentence
    assert first.end <= text.index(".")
    assert last.start >= text.index(" The staff")
    assert rewrite.text == apply_edits(text, rewrite.edits)
    assert ". We sat there." in rewrite.text
    assert rewrite.text.endswith("!")


def test_what_speaks_for_neither_domain_is_left_alone_beside_others(masker: Masker) -> None:
    task, _, _ = searching(masker)
    editor = SearchEditor(task, Words(["good"], ["bad"]), unit=Unit(sentences=True))  # type: ignore[arg-type]
    wanted = [
        [segment.wanted for segment in editor.read([text])]
        for text in ("it was bad . we sat .", "we sat .", "we sat . we sat . we ate .", "so good good . we sat .", "")
    ]
    assert wanted == [[True, False], [True], [True, False, False], [False, True], []]


def doubled(text: str) -> int:
    words = [text[a:b].lower() for a, b in split_words(text)]
    return sum(a == b and a.isalpha() for a, b in pairwise(words))


def test_a_word_before_a_mark_is_not_doubled_either(masker: Masker) -> None:
    lexicon = Lexicon()
    rows = [ids_of(lexicon, text) for text in ("so great great.", "so great.", "no , , no .", "Great great great!")]
    assert doubles(padded(rows, 0)[0], lexicon).tolist() == [1, 0, 0, 2]


def test_a_place_between_two_segments_belongs_to_one_of_them() -> None:
    text = UNIT_VOCABULARY.read("the food . the staff .")
    one, two = (Segment(0, text, Span(*words), np.zeros(3), np.zeros(2)) for words in ((0, 3), (3, 6)))
    assert [u.has(Span(3, 3)) for u in (one, two)] == [False, True]
    assert [u.has(Span(6, 6)) for u in (one, two)] == [False, True]
    assert [u.has(Span(0, 0)) for u in (one, two)] == [True, False]
    assert [u.has(Span(2, 4)) for u in (one, two)] == [False, False]
    assert [u.has(Span(0, 3)) for u in (one, two)] == [True, False]


def test_a_long_line_without_a_full_stop_is_edited(masker: Masker) -> None:
    task, style, _ = searching(masker)
    text = " ".join(["the food was terrible and"] * 5)
    (rewrite,) = search_texts(
        task, style, [text], {**ONLY_STYLE, "max_edits": 1, "min_score": -100.0}, unit=Unit(longest=6)
    )
    assert rewrite.edits


UNIT_VOCABULARY = make_model("bert").vocabulary


@settings(deadline=None, max_examples=30)
@given(st.text(alphabet="abc .!?'\tÀ–\u200b", max_size=40))
def test_any_text_can_be_searched(text: str) -> None:
    task, style, unit = searching(ANY)
    (rewrite,) = search_texts(task, style, [text], {"strength": 0.9, "max_edits": 2, "min_score": -math.inf}, unit=unit)
    edited = text
    for edit in reversed(rewrite.edits):
        edited = edit.apply(edited)
    assert edited == rewrite.text


ANY = with_style()


VOCABULARY = ["the", "food", "was", "terrible", "and", "we", "like", "it", "good", "bad", "rude", "so", "not", ".", ","]


@settings(
    deadline=None, max_examples=30, derandomize=True, phases=[Phase.explicit, Phase.generate]
)  # to shrink it takes minutes
@given(
    st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=9).map(" ".join), min_size=20, max_size=20),
    st.sampled_from([0.3, 0.6, 0.9]), st.sampled_from([1, 2, 3]), st.sampled_from([0, 5]), st.sampled_from([0.0, 9.0]),
)  # fmt: skip
def test_what_is_skipped_changes_nothing(
    texts: list[str], strength: float, max_edits: int, top: int, residue: float
) -> None:
    """Neither the classifier nor the close look is asked about drafts that could not win."""
    task, style, unit = searching(ANY)
    knobs = {"strength": strength, "similarity": 2.0, "residue": residue, "max_edits": max_edits}

    def searched() -> list[Rewrite]:
        return search_texts(task, style, texts, {**knobs, "min_score": -math.inf}, top=top, unit=unit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coherence, "SPOKEN", 0.0)  # nothing in a random model would speak more clearly
        patch.setattr(race, "FINALISTS", 10_000)
        some = searched()
        patch.setattr(race, "ASKED", 10_000)
        patch.setattr(race, "LOOKED", 10_000)
        everything = searched()
    for one, other in zip(some, everything, strict=True):
        options_ = [(one, other), *zip(one.alternatives or (), other.alternatives or (), strict=True)]
        for a, b in options_:
            assert a.score == pytest.approx(b.score, abs=1e-4)
            assert a.text == b.text or a.edits != b.edits  # other edits only where they score the same


def test_the_classifier_reads_only_what_could_win(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _, _ = searching(masker)

    def read(asked: int) -> int:
        monkeypatch.setattr(race, "ASKED", asked)
        style = Words([], ["terrible"])
        search_texts(task, style, ["the food was terrible ."], {"strength": 0.2, "similarity": 50.0, "max_edits": 1})
        return style.read

    assert 1 < read(1) < read(1000)


def test_the_lexicon_begins_anew_when_it_is_full(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [r.text for r in masker.edit(TEXTS, to="positive", method="search")]
    monkeypatch.setattr(lexicon, "_MOST", 3)
    one = masker.editor("positive", method="search")
    assert [r.text for _ in range(2) for r in one.begin(TEXTS)()] == before * 2


def test_the_style_classifiers_compare_the_two_domains(masker: Masker) -> None:
    task, style, _ = searching(masker)
    _, other, _ = searching(masker, "negative")
    pieces = [task.vocabulary.read(text).pieces for text in TEXTS]
    for ask in ("of_encoder", "of_words"):
        ours, theirs = (
            getattr(s, ask)(pieces if ask == "of_encoder" else padded([ids_of(s.lexicon, t) for t in TEXTS], 0)[0])
            for s in (style, other)
        )
        np.testing.assert_allclose(np.exp(ours) + np.exp(theirs), 1, atol=1e-5)
    assert DOMAINS == ("negative", "positive")
    one = searching(Masker(masker.model, device="cpu", exact=True, batch_tokens=1))[1]
    np.testing.assert_allclose(style.of_encoder(pieces), one.of_encoder(pieces), atol=1e-5)
    assert task.from_ == "negative"


WORD = st.sampled_from(["the", "food", "was", "n't", "don't", "Great", "great", ".", "日本", "naïve", "2.5"])


@given(st.lists(st.lists(WORD, max_size=9).map(" ".join), min_size=1, max_size=5))
def test_words_as_numbers_are_classified_as_words_are(texts: list[str]) -> None:
    _, style, _ = searching(ANY)
    rows = padded([ids_of(style.lexicon, text) for text in texts], 0)[0]
    log_p = style.bag_of_words.log_probs(texts)
    theirs = log_p[:, style.to] - np.logaddexp(log_p[:, style.to], log_p[:, style.from_])
    np.testing.assert_allclose(style.of_words(rows), theirs, atol=1e-5)
