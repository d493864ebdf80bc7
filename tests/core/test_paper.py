import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masker.core.edits import Edit, Rewrite
from masker.core.matching import Pattern
from masker.core.padding import Frame
from masker.core.paper import PaperEditor, PaperSettings
from masker.core.scoring import DomainScorer, SpanScores
from masker.core.spans import Span, enumerate_spans
from masker.core.task import Range, Task
from masker.core.text import Text, split_words
from masker.core.vocabulary import Vocabulary

N_P = 4
Script = Callable[[Text, Span], tuple[list[int], float] | None]


@dataclass(frozen=True)
class Scripted(Task):
    """A task whose model says what a script says: an infill and its Score for a span, or the words that stand there."""

    script: Script = field(default=lambda text, span: None)
    complete: bool = True

    def begin(
        self, texts: Sequence[Text], keep: Sequence[Sequence[Range]], *, top: int, min_score: float
    ) -> Callable[[], list[SpanScores]]:
        return lambda: [self._scored(text, enumerate_spans(text, N_P, k)) for text, k in zip(texts, keep, strict=True)]

    def _scored(self, text: Text, spans: list[Span]) -> SpanScores:
        infills, L1 = [], []
        for span in spans:
            same = text.pieces[text.bounds[span.start] : text.bounds[span.stop]]
            pieces, score = self.script(text, span) or (same, 0.0)
            infills.append([*pieces, *[self.frame.pad] * (N_P - len(pieces))])
            L1.append(math.log(score) if score else -math.inf)
        nothing = np.full(len(spans), -np.inf)
        return SpanScores(text, spans, np.array(infills), np.array(L1), nothing, nothing, nothing)


def scripted(vocabulary: Vocabulary, script: Script, **options: Any) -> Scripted:
    side = DomainScorer(None, 0)  # type: ignore[arg-type]
    frame = Frame(tuple(vocabulary.start), tuple(vocabulary.end), vocabulary.mask, vocabulary.pad, N_P)
    return Scripted(vocabulary, frame, 48, "positive", "negative", side, side, script=script, **options)


def proposing(vocabulary: Vocabulary, *proposals: tuple[str, str, float], **options: Any) -> Scripted:
    """Proposals: the word before the span and its words, as `before|words`; the tokens of the infill; the Score."""
    wanted = {words: (vocabulary.tokenizer.convert_tokens_to_ids(infill.split()), s) for words, infill, s in proposals}
    assert not any(vocabulary.tokenizer.unk_token_id in pieces for pieces, _ in wanted.values())

    def script(text: Text, span: Span) -> tuple[list[int], float] | None:
        words = [text.word(i) for i in range(len(text.words))]
        left = words[span.start - 1] if span.start else "^"
        return wanted.get(f"{left}|{' '.join(words[span.start : span.stop])}")

    return scripted(vocabulary, script, **options)


def edit_texts(task: Scripted, sources: Sequence[str], **options: Any) -> list[Rewrite]:
    return PaperEditor(task, PaperSettings(**options), task).edit(sources)


def edited(task: Scripted, source: str, **options: Any) -> Rewrite:
    (rewrite,) = edit_texts(task, [source], **options)
    check(rewrite)
    return rewrite


def check(rewrite: Rewrite) -> None:
    """Edits are in order, apart, true to the source, and lead to the text."""
    text, at = "", 0
    for edit in rewrite.edits:
        assert at <= edit.start <= edit.end
        assert rewrite.source[edit.start : edit.end] == edit.old
        assert edit.old != edit.new
        text += rewrite.source[at : edit.start] + edit.new
        at = edit.end
    assert text + rewrite.source[at:] == rewrite.text
    assert (rewrite.reason is None) == bool(rewrite.edits)


# -- one edit ----------------------------------------------------------------------------------------------------------


def test_the_span_with_the_highest_score_is_replaced(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("food|was", "is", 0.2), ("was|terrible", "great", 0.5), ("^|The", "our", 0.3))
    rewrite = edited(task, "The food was terrible.")
    assert rewrite.text == "The food was great."
    assert rewrite.edits == (Edit(13, 21, "terrible", "great", *(pytest.approx(x) for x in (0.5, 0.5, 0.0))),)
    assert rewrite.score == pytest.approx(0.5)
    assert (rewrite.from_, rewrite.to, rewrite.reason, rewrite.alternatives) == ("negative", "positive", None, None)


def test_pad_is_dropped_wherever_it_stands(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("born|in poland . she", "in [PAD] and [PAD]", 0.5))
    source = "marie curie was born in poland . she died in the france ."
    assert edited(task, source).text == "marie curie was born in and died in the france ."


def test_an_infill_that_begins_with_a_continuation_piece_is_no_candidate(vocabulary: Vocabulary) -> None:
    task = proposing(
        vocabulary,
        ("food|was", "##s [PAD] [PAD] [PAD]", 0.9),
        ("^|the", "[PAD] ##ly the [PAD]", 0.8),
        ("was|bad", "nice ##ly", 0.5),
    )
    assert edited(task, "the food was bad .").text == "the food was nicely ."


@pytest.mark.parametrize(
    ("infill", "expected"),
    [
        ("do n ' t", "We don't like it."),
        ("don ' t", "We don't like it."),
        ("can ' t [PAD]", "We can't like it."),
        ("' re so", "We're so like it."),
        ("so - so [PAD]", "We so-so like it."),
        ("_ num _", "We _num_ like it."),
        (", do ,", "We, do, like it."),
    ],
)
def test_wordpieces_are_written_as_words(vocabulary: Vocabulary, infill: str, expected: str) -> None:
    assert edited(proposing(vocabulary, ("We|do", infill, 0.5)), "We do like it.").text == expected


def test_words_already_there_are_no_edit(vocabulary: Vocabulary) -> None:
    task = proposing(
        vocabulary, ("^|The  food", "the food", 0.9), ("NiCe|people", "people", 0.9), ("^|NiCe", "nice", 0.9)
    )
    for source in ("The  food was bad.", "NiCe people"):
        rewrite = edited(task, source)
        assert rewrite.text == source
        assert rewrite.edits == ()
        assert rewrite.reason == "no span has an infill other than the words that stand there"


def test_something_must_be_left(vocabulary: Vocabulary) -> None:
    for source in ("terrible", "Terrible!", "  terrible .", "(terrible) ..."):
        word = re.sub(r"\W", "", source)
        left = "(" if "(" in source else "^"
        assert edited(proposing(vocabulary, (f"{left}|{word}", "[PAD]", 0.9)), source).text == source
    assert edited(proposing(vocabulary, ("was|terrible", "[PAD]", 0.9)), "was terrible").text == "was"


def test_an_edit_needs_more_than_the_minimum_score(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|terrible", "great", 0.25))
    source = "the food was terrible ."
    made = edited(task, source, min_score=0.2)
    assert made.text == "the food was great ."
    assert edited(task, source, min_score=made.score).text == source
    rewrite = edited(task, source, min_score=0.3)
    assert rewrite.text == source
    assert rewrite.reason == "the best edit scores 0.2500, not above 0.3"


def test_a_final_mark_stays_and_a_final_word_can_go(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|terrible", "great", 0.5), ("terrible|.", "!", 0.9))
    assert edited(task, "the food was terrible .").text == "the food was great ."
    assert edited(task, "the food was terrible").text == "the food was great"


def test_blank_lines_come_back_as_they_were(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("^|bad", "good", 0.5), ("^|", "good", 0.4))
    sources = ["", "bad", "  ", "\t", "\u3000", "bad"]
    for top in (0, 3):
        rewrites = edit_texts(task, sources, top=top)
        assert [r.text for r in rewrites] == ["", "good", "  ", "\t", "\u3000", "good"]
        for rewrite in rewrites:
            check(rewrite)
        assert [r.reason for r in rewrites[2:5]] == ["no words"] * 3
        assert {r.alternatives is None for r in rewrites} == {top == 0}
        assert json.loads(json.dumps(rewrites[0].to_dict()))["edits"] == []


def test_no_texts_at_all(vocabulary: Vocabulary) -> None:
    assert edit_texts(proposing(vocabulary), []) == []


# -- protect and forbid ------------------------------------------------------------------------------------------------


def test_what_is_protected_stays(vocabulary: Vocabulary) -> None:
    proposals = [("saw|New", "the", 0.9), ("New|", "very", 0.8), ("New|York today", "it", 0.7), ("we|saw", "like", 0.3)]
    task = proposing(vocabulary, *proposals, protect=(Pattern(re.compile("New York")),))
    assert edited(task, "we saw New York today").text == "we like New York today"


def test_a_protected_neighbour_keeps_its_case(vocabulary: Vocabulary) -> None:
    proposals = [("^|", "how", 0.5)]
    assert edited(proposing(vocabulary, *proposals), "Paris was bad.").text == "How paris was bad."
    task = proposing(vocabulary, *proposals, protect=(Pattern(re.compile("Paris")),))
    assert edited(task, "Paris was bad.").text == "How Paris was bad."


def test_a_pattern_that_matches_nothing_anywhere_protects_nothing(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|terrible", "great", 0.5), protect=(Pattern(re.compile("x*")),))
    assert edited(task, "it was terrible").text == "it was great"


@pytest.mark.parametrize("word", ["nicely", "NICELY", "don't", "n't", "so-so"])
def test_forbidden_words_of_several_pieces_are_never_inserted(vocabulary: Vocabulary, word: str) -> None:
    pieces = {"n't": "do n ' t", "don't": "do n ' t"}.get(
        word, " ".join(vocabulary.tokens(vocabulary.read(word).pieces))
    )
    for source, left in (("we like it .", "we"), ("We like it.", "We")):
        assert len(pieces.split()) <= N_P
        proposals = [(f"{left}|like", pieces, 0.9), ("like|it", "food", 0.2)]
        assert edited(proposing(vocabulary, *proposals), source).text != source.replace("it", "food")
        natural = source == "We like it."
        if word == "don't" and not natural:
            continue  # here it is written "do n't"
        rewrite = edited(proposing(vocabulary, *proposals, forbid=[word]), source)
        assert rewrite.text == source.replace("it", "food")


def test_a_clitic_that_makes_a_forbidden_word_of_its_neighbour(vocabulary: Vocabulary) -> None:
    proposals = [("do|like", "n ' t", 0.9), ("like|it", "food", 0.2)]
    assert edited(proposing(vocabulary, *proposals), "We do like it.").text == "We don't it."
    assert edited(proposing(vocabulary, *proposals, forbid=["don't"]), "We do like it.").text == "We do like food."


@pytest.mark.parametrize("phrase", ["was great", "Was  Great", "great ."])
def test_a_forbidden_phrase_is_never_inserted_nor_completed(vocabulary: Vocabulary, phrase: str) -> None:
    proposal, source = ("was|terrible", "great", 0.5), "The food was terrible ."
    assert edited(proposing(vocabulary, proposal), source).text == "The food was great ."
    assert edited(proposing(vocabulary, proposal, forbid=[phrase]), source).edits == ()
    assert edited(proposing(vocabulary, proposal, forbid=["great was"]), source).edits


def test_forbidden_words_that_stand_there_are_no_hindrance(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("^|", "really", 0.5), forbid=["terrible"])
    assert edited(task, "Terrible food.").text == "Really terrible food."


# -- byte-level pieces -------------------------------------------------------------------------------------------------


def test_pieces_without_a_space_before_them(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["roberta"]
    for source, left, expected in [
        ("was food here", "was", None),  # `wasa`
        ("food.", "^", "a."),  # begins the text
        ("was (food)", "(", "was (a)"),  # follows a bracket
        ('was "food"', '"', 'was "a"'),
    ]:
        rewrite = edited(proposing(v, (f"{left}|food", "a", 0.5)), source)
        assert rewrite.text == (expected or source)
    assert edited(proposing(v, ("food|", "s", 0.5)), "the food.").text == "the food."  # `foods`


def test_half_a_character_is_no_candidate(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["roberta"]
    whole = " ".join(v.tokens(v.read("a 日").words[1].pieces))
    assert edited(proposing(v, ("was|food", whole, 0.5)), "was food").text == "was 日"
    half = " ".join(whole.split()[:-1])
    assert edited(proposing(v, ("was|food", half, 0.5)), "was food").text == "was food"


def test_pieces_of_white_space_or_control_characters(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["roberta"]
    assert edited(proposing(v, ("was|food", "Ġ Ċ", 0.5)), "was food here").text == "was here"
    assert edited(proposing(v, ("was|", "Ġ Ċ", 0.5)), "was food here").text == "was food here"
    assert edited(proposing(v, ("^|food", "Ġ", 0.5)), "food").text == "food"
    assert edited(proposing(v, ("was|food", "Ġthe Ā", 0.5)), "was food").text == "was food"  # NUL


# -- several edits -----------------------------------------------------------------------------------------------------


def test_several_edits_in_source_coordinates(vocabulary: Vocabulary) -> None:
    task = proposing(
        vocabulary, ("was|terrible", "really nice", 0.5), ("The|food", "service", 0.4), ("^|The", "our", 0.3)
    )
    source = "The food was terrible, really."
    assert edited(task, source, max_edits=2).text == "The service was really nice, really."
    rewrite = edited(task, source, max_edits=3)
    assert [(e.start, e.end, e.old, e.new) for e in rewrite.edits] == [
        (0, 3, "The", "Our"),
        (4, 8, "food", "service"),
        (13, 21, "terrible", "really nice"),
    ]
    assert [e.score for e in rewrite.edits] == pytest.approx([0.3, 0.4, 0.5])
    assert rewrite.score == pytest.approx(1.2)
    assert edited(task, source, max_edits=9) == rewrite  # nothing is left to do


def test_inserted_words_are_not_edited_again(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|bad", "really good", 0.5), ("really|good", "rude", 0.9), ("really|", "not", 0.9))
    assert edited(task, "it was bad .", max_edits=4).text == "it was really good ."


def test_edits_that_touch_become_one(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|very", "[PAD]", 0.5), ("was|", "not", 0.4))
    rewrite = edited(task, "it was very bad .", max_edits=2)
    assert rewrite.text == "it was not bad ."
    assert [(e.old, e.new) for e in rewrite.edits] == [("very ", "not ")]
    assert rewrite.edits[0].score == pytest.approx(0.9)


def test_an_edit_is_not_undone(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|nice", "[PAD]", 0.5), ("was|", "nice", 0.4))
    rewrite = edited(task, "it was nice food .", max_edits=4)
    assert rewrite.text == "it was food ."


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        [
            "Marie was born in Poland. She died in France, and we know.",
            "the food was n't good , but nice people .",
            '  "Terrible" food (really)\tand  RUDE staff!  I left... ',
            "so",
            "Bad.",
            "😀 日本 éß\u200b!?",
        ]
    ),
    st.integers(0, 1 << 30),
    st.integers(1, 6),
    st.sampled_from(["bert", "roberta"]),
)
def test_any_edits_compose(
    vocabularies: dict[str, Vocabulary], source: str, seed: int, max_edits: int, family: str
) -> None:
    v = vocabularies[family]
    rng = random.Random(seed)
    pool = [*v.read("the food was nice , but . and They really n't ! marie Paris ( 2.5 ) - 's").pieces, v.pad, v.pad]
    pool += [rng.randrange(len(v)) for _ in range(4)]
    allowed = [p for p in pool if v.infillable[p]]

    def script(text: Text, span: Span) -> tuple[list[int], float] | None:
        return [rng.choice(allowed) for _ in range(N_P)], rng.random()

    top = rng.randrange(4)
    rewrite = edited(scripted(v, script), source, max_edits=max_edits, top=top)
    assert len(rewrite.edits) <= max_edits
    for a, b in pairwise(rewrite.edits):
        assert a.end < b.start  # those that touch are one
    for other in rewrite.alternatives or ():
        check(other)
        assert len(other.edits) == 1
    json.dumps(rewrite.to_dict())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(2, 6))
def test_every_inserted_word_is_there_in_the_end(vocabulary: Vocabulary, seed: int, max_edits: int) -> None:
    rng = random.Random(seed)
    source = "We know it, and they died in London. She was born in New York!"
    fresh = ["food", "staff", "service", "germany", "raised", "stars"]
    ids = vocabulary.tokenizer.convert_tokens_to_ids(fresh)
    task = scripted(vocabulary, lambda text, span: ([rng.choice(ids) for _ in range(rng.randrange(3))], rng.random()))
    rewrite, inserted = Rewrite(source, source, None, "positive"), Counter[str]()
    for turns in range(1, max_edits + 1):
        rng.seed(seed)
        before, rewrite = rewrite, edited(task, source, max_edits=turns)
        words = Counter(rewrite.text[a:b].lower() for a, b in split_words(rewrite.text))
        now = Counter({w: n for w, n in words.items() if w in fresh})
        assert now >= inserted, (before, rewrite)
        inserted = now


# -- alternatives ------------------------------------------------------------------------------------------------------


def test_the_best_edits_are_listed_and_the_best_is_made(vocabulary: Vocabulary) -> None:
    proposals = [
        ("was|bad", "nice", 0.5),
        ("food|was bad", "was nice", 0.45),  # leads to the same text
        ("^|the", "our", 0.3),
        ("the|food", "service", 0.2),
        ("food|was", "is", 0.1),
    ]
    rewrite = edited(proposing(vocabulary, *proposals), "the food was bad .", top=3)
    assert rewrite.text == "the food was nice ."
    assert rewrite.alternatives is not None
    texts = ["the food was nice .", "our food was bad .", "the service was bad ."]
    assert [a.text for a in rewrite.alternatives] == texts
    for other in rewrite.alternatives:
        check(other)
        assert other.alternatives is None
    record = rewrite.to_dict()["alternatives"]
    assert [a["text"] for a in record] == texts
    assert [a["score"] for a in record] == pytest.approx([0.5, 0.3, 0.2])
    assert record[0]["edits"] == rewrite.to_dict()["edits"]


def test_alternatives_are_those_of_the_source_when_there_are_several_edits(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|bad", "nice", 0.5), ("^|the", "our", 0.3))
    rewrite = edited(task, "the food was bad .", top=5, max_edits=2)
    assert rewrite.text == "our food was nice ."
    assert [a.text for a in rewrite.alternatives or ()] == ["the food was nice .", "our food was bad ."]


def test_a_text_without_edits_has_no_alternatives(vocabulary: Vocabulary) -> None:
    assert edited(proposing(vocabulary), "the food .", top=5).to_dict()["alternatives"] == []


# -- records -----------------------------------------------------------------------------------------------------------


def test_the_record_of_a_rewrite(vocabulary: Vocabulary) -> None:
    task = proposing(vocabulary, ("was|terrible", "great", 0.5))
    record = edited(task, "the food was terrible .").to_dict()
    assert list(record) == ["source", "text", "from", "to", "edits"]
    assert list(record["edits"][0]) == ["start", "end", "old", "new", "score", "target_score", "source_score"]
    assert record["edits"][0] == {
        "start": 13, "end": 21, "old": "terrible", "new": "great",
        "score": 0.5, "target_score": 0.5, "source_score": 0.0,
    }  # fmt: skip
    unchanged = edited(task, "the food .").to_dict()
    assert list(unchanged) == ["source", "text", "from", "to", "edits", "reason"]
    assert unchanged["edits"] == []
