import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import FIGURE_1, make_model

from masker import Masker, MaskerError, PaddedMLM, Rewrite
from masker.api import Explanation
from masker.core.text import split_words

TEXTS = [
    "The food was terrible, and we don't like it!",
    "",
    "I can't believe how RUDE they were ...",
    "   ",
    "so",
    FIGURE_1,
    "[MASK] [PAD] <mask> [domain:positive] 😀\u200b",
]


def check(rewrite: Rewrite) -> None:
    text, at = "", 0
    for edit in rewrite.edits:
        assert at <= edit.start <= edit.end
        assert rewrite.source[edit.start : edit.end] == edit.old
        text += rewrite.source[at : edit.start] + edit.new
        at = edit.end
    assert text + rewrite.source[at:] == rewrite.text


@pytest.fixture
def masker(maskers: Callable[[str], Masker]) -> Masker:
    return maskers("mpnet")


@pytest.fixture(scope="module")
def embedded() -> Masker:
    return Masker.from_pretrained(device="cpu")


# -- edit --------------------------------------------------------------------------------------------------------------


def test_edits_of_any_family(maskers: Callable[[str], Masker], family: str) -> None:
    rewrites = maskers(family).edit(TEXTS, to="positive", max_edits=2, min_score=-1.0, top=2)
    assert [r.source for r in rewrites] == TEXTS
    assert any(r.edits for r in rewrites)
    for rewrite in rewrites:
        check(rewrite)
        assert (rewrite.from_, rewrite.to) == ("negative", "positive")
        assert (rewrite.reason is None) == bool(rewrite.edits)
        json.dumps(rewrite.to_dict(), ensure_ascii=False)
    assert rewrites[1].text == ""
    assert rewrites[3].text == "   "
    assert rewrites[1].to_dict()["edits"] == rewrites[3].to_dict()["edits"] == []


@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
@pytest.mark.parametrize("prune", [False, True])
def test_texts_that_are_begun_before_others_are_finished_come_out_in_order(
    maskers: Callable[[str], Masker], ahead: int, prune: bool
) -> None:
    model = maskers("bert").model
    masker, plain = (Masker(model, device="cpu", prune=prune) for _ in range(2))
    masker._runtime.prefetch = ahead
    read: list[str] = []

    def texts() -> Iterator[str]:
        for text in TEXTS:
            read.append(text)
            yield text

    options: dict[str, Any] = {"to": "positive", "method": "paper", "max_edits": 2, "min_score": -1.0}
    seen = []
    for k, rewrite in enumerate(masker.edit_stream(texts(), chunk=1, **options)):
        assert len(read) == min(k + 1 + ahead, len(TEXTS))
        seen.append(rewrite)
    assert seen == plain.edit(TEXTS, chunk=1, **options)


def test_what_was_begun_before_an_error_comes_out(maskers: Callable[[str], Masker]) -> None:
    masker = Masker(maskers("bert").model, device="cpu", max_words=3)
    masker._runtime.prefetch = 2
    rewrites = masker.edit_stream(["so bad", "so so", "this is a bit much"], to="positive", chunk=1)
    assert [next(rewrites).source, next(rewrites).source] == ["so bad", "so so"]
    with pytest.raises(MaskerError, match="text 3: it has 5 words"):
        next(rewrites)


def test_a_model_may_read_a_domain_that_it_does_not_write() -> None:
    model = make_model("bert")
    model.settings.sources_only = ["negative"]
    masker = Masker(model, device="cpu")
    assert masker.edit("so bad", to="positive").from_ == "negative"
    for ask in (masker.edit, masker.explain):
        with pytest.raises(MaskerError, match=r"does not write 'negative'.*choose another domain \(positive\)"):
            ask("so good", to="negative")


def test_a_model_may_have_words_that_it_never_inserts() -> None:
    model = make_model("bert")
    model.settings.forbid = {"positive": ["great"]}
    masker = Masker(model, device="cpu")
    assert masker.task("positive", forbid="good").forbid == {"good", "great"}
    assert masker.task("negative").forbid == frozenset()


def test_one_text_or_several(masker: Masker) -> None:
    one = masker.edit(TEXTS[0], to="positive")
    assert isinstance(one, Rewrite)
    assert masker.edit([TEXTS[0]], to="positive") == [one]
    assert masker.edit((text for text in TEXTS), to="positive") == masker.edit(TEXTS, "positive", "negative")
    assert masker.edit([], to="positive") == []


def test_texts_are_rewritten_as_they_come_and_in_order(masker: Masker) -> None:
    taken = []

    def texts() -> Iterator[str]:
        for k in range(10):
            taken.append(k)
            yield f"{k} it was terrible"

    stream = masker.edit_stream(texts(), "positive", chunk=3)
    first = next(stream)
    assert first.source.startswith("0")
    assert taken == [0, 1, 2]
    assert [r.source[0] for r in [first, *stream]] == list("0123456789")


def test_neither_chunk_nor_batch_changes_the_result() -> None:
    model = make_model("distilbert")
    small, large = Masker(model, device="cpu", batch_tokens=20), Masker(model, device="cpu")
    a = list(small.edit_stream(TEXTS, "positive", chunk=1, max_edits=2))
    b = list(large.edit_stream(TEXTS, "positive", max_edits=2))
    assert [r.text for r in a] == [r.text for r in b]
    assert [r.score for r in a] == pytest.approx([r.score for r in b], abs=1e-4)


def test_what_is_protected_survives(masker: Masker) -> None:
    for rewrite in masker.edit(TEXTS, to="positive", protect=r"food|RUDE|\bwe don't", max_edits=5, min_score=-1):
        for match in re.findall(r"food|RUDE|\bwe don't", rewrite.source):
            assert match in rewrite.text
    everything = masker.edit(TEXTS[0], to="positive", protect=".*", min_score=-1)
    assert everything.text == TEXTS[0]


def test_forbidden_words_are_not_inserted(masker: Masker) -> None:
    source = TEXTS[0]
    old = {source[a:b].lower() for a, b in split_words(source)}
    forbidden: set[str] = set()
    for _ in range(4):
        text = masker.edit(source, to="positive", min_score=-1, forbid=forbidden).text
        new = {text[a:b].lower() for a, b in split_words(text)} - old
        assert not new & forbidden
        forbidden |= new
    assert forbidden


def test_a_single_forbidden_word_may_be_given_as_it_is(masker: Masker) -> None:
    free = masker.edit(TEXTS[0], to="positive", min_score=-1)
    assert masker.edit(TEXTS[0], to="positive", min_score=-1, forbid="xyz").text == free.text  # not x, y and z


def test_without_source_score(masker: Masker) -> None:
    edits = [e for r in masker.edit(TEXTS, to="positive", source_score=False) for e in r.edits]
    assert edits
    assert all(e.source_score == 0 and e.score == e.target_score for e in edits)


def test_top_lists_the_best_edits(masker: Masker) -> None:
    rewrite = masker.edit(TEXTS[0], to="positive", top=4, min_score=-1)
    assert rewrite.alternatives is not None
    assert len({a.text for a in rewrite.alternatives}) == 4
    assert rewrite.alternatives[0].text == rewrite.text
    scores = [a.score for a in rewrite.alternatives]
    assert scores == sorted(scores, reverse=True)


def test_a_long_text_is_edited_without_being_cut(masker: Masker) -> None:
    source = "the food was terrible , and we know it . " * 30
    rewrite = masker.edit(source, to="positive", min_score=-1)
    check(rewrite)
    assert abs(len(rewrite.text) - len(source)) < 80
    assert len(masker.explain(source, to="positive").spans) > 4 * 30 * 9


# -- what is wrong is said ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"to": "neutral"}, "unknown domain 'neutral'; known: negative, positive"),
        ({"to": "positive", "from_": "x"}, "unknown domain 'x'; known: negative, positive"),
        ({"to": "positive", "from_": "positive"}, "name two different domains"),
        ({"to": "positive", "protect": "("}, "no valid pattern"),
        ({"to": "positive", "max_edits": 0}, "`max_edits` is 0"),
        ({"to": "positive", "top": -1}, "`top` is -1"),
    ],
)
def test_wrong_arguments(masker: Masker, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MaskerError, match=re.escape(message)) as error:
        masker.edit("bad food", **arguments)
    assert "\n" not in str(error.value)


def test_too_long_a_text_is_refused(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="text 2: it has 2,001 words, more than the limit of 2,000"):
        masker.edit(["fine", "bad " * 2001], to="positive")
    with pytest.raises(MaskerError, match="20,000 words"):
        masker.explain("bad " * 20_000, to="positive")
    patient = Masker(masker.model, device="cpu", max_words=3000)
    assert patient.edit("it " * 2001, to="positive", protect=".*").edits == ()


@pytest.mark.parametrize("method", ["paper", None])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bad \udcff food", r"not valid Unicode \(half of a surrogate pair at character 5\)"),
        (b"bad food", "text 1: it is bytes, not str; decode it first"),
        (["bad", None], "text 2: it is NoneType, not str; give text"),
        (7, "text 1: it is int, not str; give text"),
        ("a" * 100_001, "100,001 characters"),
    ],
)
def test_what_is_no_text_is_refused(masker: Masker, text: Any, why: str, method: str | None) -> None:
    with pytest.raises(MaskerError, match=why):
        masker.edit(text, to="positive", method=method)
    if isinstance(text, str):
        with pytest.raises(MaskerError, match="the text: "):
            masker.explain(text, to="positive")


@pytest.mark.parametrize(
    "options",
    [
        {"forbid": ["a\udcff"]}, {"forbid": 5}, {"keep": [b"x"]}, {"protect": 5}, {"protect": b"x"}, {"chunk": 0},
        {"chunk": "3"}, {"max_edits": 1.5}, {"max_edits": "2"}, {"max_edits": True}, {"min_score": float("nan")},
        {"min_score": "0"}, {"top": -1}, {"top": 1.5}, {"from_": 5}, {"to": None}, {"method": 3}, {"methd": "paper"},
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_one_line(masker: Masker, options: dict[str, Any]) -> None:
    with pytest.raises(MaskerError) as error:
        masker.edit("the food was bad .", **{"to": "positive", **options})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.edit("x", to="positive", method="fast", min_score="0"),
        lambda m: m.edit("x", to="positive", min_confidence="x"),
        lambda m: m.edit("x", to="positive", min_confidence=""),
        lambda m: m.edit("x", to="positive", below="x"),
        lambda m: m.edit("x", to="positive", method="auto", reader=5),
        lambda m: m.edit("x", to="positive", method="auto", writer=5),
        lambda m: m.edit("x", to="positive", method="auto", writer=[5]),
        lambda m: m.edit("x", to="positive", method=["auto"]),
        lambda m: m.edit("x", to=["positive"]),
        lambda m: m.edit("x", to="positive", from_=["negative"]),
        lambda m: m.edit_document(None, "positive"),
        lambda m: m.edit_document(b"a b", "positive"),
        lambda m: m.edit_document("a b", "positive", kind=["html"]),
        lambda m: list(m.edit_stream(None, "positive")),
        lambda m: list(m.edit_stream("ab", "positive")),
        lambda m: Masker.from_pretrained(5),
        lambda m: Masker.from_pretrained(batch_tokens="x"),
    ],
)  # fmt: skip
def test_values_of_a_wrong_type_are_one_line(embedded: Masker, wrong: Callable[[Any], object]) -> None:
    with pytest.raises(MaskerError) as error:
        wrong(embedded)
    assert "\n" not in str(error.value)


def test_a_model_without_domains_is_refused() -> None:
    model = make_model()
    with pytest.raises(MaskerError, match="no domains"):
        Masker(PaddedMLM(model.mlm, model.vocabulary, replace(model.settings, domains={})), device="cpu")


def test_of_three_domains_the_source_is_named() -> None:
    masker = Masker(make_model(domains=("formal", "plain", "pirate")), device="cpu")
    assert masker.domains == ["formal", "plain", "pirate"]
    with pytest.raises(MaskerError, match="`from_`"):
        masker.edit("hello", to="plain")
    assert masker.edit("hello", to="plain", from_="pirate").from_ == "pirate"


def test_a_source_model_of_several_domains_needs_one_named() -> None:
    positive, other = make_model(domains=("positive",)), make_model(domains=("negative", "neutral"))
    masker = Masker(positive, other, device="cpu")
    with pytest.raises(MaskerError, match="negative, neutral"):
        masker.edit("bad", to="positive")
    assert masker.edit("bad", to="positive", from_="neutral").from_ == "neutral"


def test_a_model_folder_is_loaded(model_folder: Path) -> None:
    masker = Masker.from_pretrained(model_folder, device="cpu")
    assert masker.domains == ["negative", "positive"]
    check(masker.edit(TEXTS[0], to="positive"))


# -- explain -----------------------------------------------------------------------------------------------------------


def test_the_rows_of_an_explanation_are_those_of_figure_1(
    maskers: Callable[[str], Masker], figure_1: list[dict[str, Any]]
) -> None:
    explanation = maskers("bert").explain(FIGURE_1, to="positive")
    rows = [(row.i, row.words, row.masked) for row in explanation.spans]
    assert rows == [(row["i"], row["words_deleted"], row["masked_input"]) for row in figure_1]


def test_the_record_of_an_explanation(masker: Masker) -> None:
    record = json.loads(json.dumps(masker.explain(TEXTS[0], to="positive").to_dict()))
    assert record["source"] == TEXTS[0]
    assert (record["from"], record["to"]) == ("negative", "positive")
    needed = {"i", "words", "masked", "replacement", "L1", "L2", "L3", "L4", "target_score", "source_score", "score"}
    for row in record["spans"]:
        assert needed <= set(row)
        assert row["target_score"] == pytest.approx(row["L1"] - row["L2"], abs=2e-6)
        assert row["source_score"] == pytest.approx(-max(0, row["L3"] - row["L4"]), abs=2e-6)
        assert row["score"] == pytest.approx(row["target_score"] + row["source_score"], abs=2e-6)
        assert len(row["replacement"].split()) == 4
        assert row["masked"].split().count("<mask>") == 4


@pytest.mark.parametrize("options", [{}, {"min_score": -1.0}, {"source_score": False}, {"protect": "food"}])
def test_an_explanation_is_of_the_edit_that_is_made(
    maskers: Callable[[str], Masker], family: str, options: dict[str, Any]
) -> None:
    masker = maskers(family)
    explanation = masker.explain(TEXTS[0], to="positive", **options)
    rewrite = masker.edit(TEXTS[0], to="positive", **options)
    assert explanation.rewrite.text == rewrite.text
    for ours, theirs in zip(explanation.rewrite.edits, rewrite.edits, strict=True):
        assert asdict(ours) == pytest.approx(asdict(theirs), abs=1e-5)  # pruning puts other spans in a batch
    if rewrite.edits:
        chosen = explanation.chosen
        assert chosen is not None
        assert chosen.candidate
        assert chosen.score == max(row.score for row in explanation.spans if row.candidate)
        assert explanation.to_dict()["spans"][explanation.to_dict()["chosen"]]["score"] == round(chosen.score, 6)
    else:
        assert explanation.chosen is None
        assert explanation.to_dict()["chosen"] is None


def test_a_blank_text_cannot_be_explained(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="no words"):
        masker.explain("  ", to="positive")


def test_an_explanation_shows_itself(masker: Masker, tmp_path: Path) -> None:
    explanation = masker.explain(TEXTS[0], to="positive", min_score=-1)
    assert isinstance(explanation, Explanation)
    explanation.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert "<table>" in explanation._repr_html_()
