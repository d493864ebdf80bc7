"""The paper's table of a text: every row says what stands there, what would, and how likely each is."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import make_model, make_task

from masker.core.account import Account, TagRound
from masker.core.edits import Edit, Rewrite
from masker.core.explanation import Explanation, SpanRow, explain
from masker.core.matching import Pattern
from masker.core.paper import Exhaustive
from masker.core.task import Task
from masker.errors import MaskerError

SOURCE = "the food was , terrible !"


@pytest.fixture(scope="module")
def task() -> Task:
    return make_task(make_model("bert"))


@pytest.fixture
def explained(task: Task) -> Explanation:
    return explain(task, SOURCE, min_score=-10)


def test_it_names_the_text_and_the_domains(explained: Explanation) -> None:
    assert (explained.source, explained.from_, explained.to) == (SOURCE, "negative", "positive")
    assert explained.words == ["the", "food", "was", ",", "terrible", "!"]
    assert [SOURCE[start:end] for start, end in explained.offsets] == explained.words
    assert (explained.method, explained.made, explained.account) == ("paper", None, None)


def test_rows_are_those_of_the_scores(task: Task, explained: Explanation) -> None:
    text = task.vocabulary.read(SOURCE)
    (scores,) = Exhaustive(task).begin([text], [task.keep(text)])()
    assert len(explained.spans) == len(scores.spans)
    L1, L2, L3, L4 = (np.exp(L) for L in scores.log_L)  # type: ignore[arg-type]
    for k, (row, span) in enumerate(zip(explained.spans, scores.spans, strict=True)):
        assert (row.i, row.words) == (span.start, span.stop - span.start)
        likelihoods = [row.L1, row.L2, row.L3, row.L4]
        assert likelihoods == pytest.approx([L1[k], L2[k], L3[k], L4[k]], rel=1e-5)
        assert row.target_score == pytest.approx(float(scores.target_score[k]), rel=1e-5)
        assert row.source_score == pytest.approx(float(scores.source_score[k]), rel=1e-5)
        assert row.score == pytest.approx(float(scores.score[k]), rel=1e-5)
        assert row.replacement.split() == task.vocabulary.tokens(scores.infills[k].tolist())
        assert row.infill == row.infill.strip()
        pieces = [token.removeprefix("##") for token in row.replacement.split() if token != "[PAD]"]
        assert row.infill.removeprefix("##").replace(" ", "") == "".join(pieces)


def test_masks_stand_where_the_span_was(task: Task, explained: Explanation) -> None:
    words = [task.vocabulary.tokens(list(word.pieces)) for word in task.vocabulary.read(SOURCE).words]
    for row in explained.spans:
        shown = [*words[: row.i], ["[MASK]"] * task.frame.n_p, *words[row.i + row.words :]]
        assert row.masked == " ".join(token for part in shown for token in part)


def test_a_row_that_could_be_made_says_what_it_makes(explained: Explanation) -> None:
    made = [row for row in explained.spans if row.candidate]
    assert made
    assert len(made) < len(explained.spans)
    for row in made:
        assert row.new is not None
        text = SOURCE[: row.start] + row.new + SOURCE[row.end :]
        assert text != SOURCE
        assert row.infill.split()[0].lower() in text.lower() if row.infill else True
    for row in (row for row in explained.spans if not row.candidate):
        assert row.new is None
        if row.words:
            words = explained.offsets[row.i : row.i + row.words]
            assert (row.start, row.end) == (words[0][0], words[-1][1])
        else:
            assert row.start == row.end == (explained.offsets[row.i - 1][1] if row.i else 0)


def test_the_chosen_row_is_the_best_that_could_be_made(explained: Explanation) -> None:
    assert explained.chosen is not None
    assert explained.edit is not None
    assert explained.chosen.score == max(row.score for row in explained.spans if row.candidate)
    assert (explained.edit.start, explained.edit.end, explained.edit.new) == (
        explained.chosen.start, explained.chosen.end, explained.chosen.new,
    )  # fmt: skip
    rewrite = explained.rewrite
    assert (rewrite.source, rewrite.from_, rewrite.to) == (SOURCE, "negative", "positive")
    assert rewrite.text == explained.edit.apply(SOURCE)
    assert rewrite.edits == (explained.edit,)
    assert rewrite.method == "paper"


def test_nothing_is_chosen_below_the_least_score(task: Task) -> None:
    explained = explain(task, SOURCE, min_score=10)
    assert explained.chosen is None
    assert explained.edit is None
    assert explained.rewrite.text == SOURCE
    assert explained.rewrite.edits == ()
    assert explained.to_dict()["chosen"] is None


def test_what_is_protected_is_no_candidate() -> None:
    kept = make_task(make_model("bert"), protect=(Pattern(re.compile("food was")),))
    explained = explain(kept, SOURCE, min_score=-10)
    assert {row.i for row in explained.spans if row.words} == {0, 3, 4}
    assert any(row.candidate for row in explained.spans)
    for row in explained.spans:
        if row.candidate and row.new is not None:
            assert "food was" in SOURCE[: row.start] + row.new + SOURCE[row.end :]


def test_without_a_source_model_its_likelihoods_are_missing() -> None:
    rows = explain(make_task(make_model("bert"), source=None), SOURCE).spans
    assert all(row.L3 is None and row.L4 is None for row in rows)
    assert any(row.L1 for row in rows)


def test_a_text_without_words_cannot_be_explained(task: Task) -> None:
    with pytest.raises(MaskerError, match=r"^the text has no words; nothing can be explained$"):
        explain(task, " \t")


def test_as_json(explained: Explanation) -> None:
    record = json.loads(json.dumps(explained.to_dict()))
    assert record["source"] == SOURCE
    assert record["method"] == record["made_by"] == "paper"
    assert record["offsets"] == [list(word) for word in explained.offsets]
    assert record["text"] == explained.rewrite.text
    assert len(record["spans"]) == len(explained.spans)
    assert explained.chosen is not None
    assert record["spans"][record["chosen"]]["new"] == explained.chosen.new
    row = record["spans"][0]
    assert "infill" not in row
    assert row["score"] == round(explained.spans[0].score, 6)
    assert {"i", "words", "masked", "replacement", "target_score", "source_score", "L1", "L4", "candidate"} <= {*row}


def test_what_another_method_made_is_told_with_its_account() -> None:
    row = SpanRow(0, 1, "[MASK]", "good", "good", 0.1, 0.2, 0.3, 0.4, 0.5, None, None, True, 0, 3, "good")
    made = Rewrite("bad", "fine", None, "positive", (Edit(0, 3, "bad", "fine", 0.5),), method="fast")
    account = Account((TagRound("bad", ()),))
    told = Explanation("bad", None, "positive", ["bad"], [row], row, None, [(0, 3)], "auto", made, account)
    record = told.to_dict()
    assert told.rewrite is made
    assert (record["text"], record["method"], record["made_by"]) == ("fine", "auto", "fast")
    assert record["chosen"] == 0
    assert record["rounds"] == [{"text": "bad", "tags": []}]


def test_it_shows_itself(explained: Explanation, tmp_path: Path) -> None:
    page = explained.html()
    assert page.startswith("<!doctype html>")
    assert explained._repr_html_() in page or "food" in explained._repr_html_()
    assert explained.__rich__() is not None
    explained.plot(tmp_path / "figure.svg")
    assert "food" in (tmp_path / "figure.svg").read_text("utf-8")
