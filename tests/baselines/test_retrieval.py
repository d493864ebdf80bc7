"""Delete and retrieve: what is found, and how the template puts it in."""

from pathlib import Path

import pytest
from conftest import make_model, make_task

from masker.baselines.base import fit_baseline, load_baseline
from masker.baselines.markers import Markers
from masker.baselines.retrieval import Index, Retrieval
from masker.baselines.template import Template, _filled
from masker.core.edits import apply_edits
from masker.errors import MaskerError

MARKERS = Markers({"negative": {"terrible": 20.0, "so rude": 20.0}, "positive": {"great": 20.0, "the best": 20.0}})
INDEX = Index(
    [["the", "food", "was"], ["the", "staff", "was", "here"], ["i", "like", "paris"]],
    [["great"], ["the best", "great"], ["the best"]],
)


@pytest.fixture(scope="module")
def editor() -> Template:
    return Template(make_task(make_model("bert")), Retrieval(MARKERS, {"positive": INDEX}))


def test_rare_words_count_more() -> None:
    assert INDEX.nearest(["the", "was", "paris"]) == [["the best"]]
    assert INDEX.nearest(["the", "food"]) == [["great"]]
    assert INDEX.nearest(["the", "food"], 5) == [["great"], ["the best", "great"]]
    assert INDEX.nearest(["nothing"]) == []


def test_markers_are_put_where_those_of_the_text_were(editor: Template) -> None:
    (rewrite,) = editor.begin(["The food was terrible ."])()
    assert rewrite.text == "The food was great ."
    assert apply_edits(rewrite.source, rewrite.edits) == rewrite.text


def test_too_many_markers_go_before_the_final_mark_and_too_few_leave_holes(editor: Template) -> None:
    texts = ["terrible staff here .", "the food was terrible and so rude .", "nothing .", ""]
    more, fewer, none, empty = editor.begin(texts)()
    assert more.text == "the best staff here great ."
    assert fewer.text == "the food was great and ."
    assert none.text == "nothing ."
    assert none.reason
    assert empty.reason == "no words"


def test_places_that_touch_are_one() -> None:
    assert _filled([(0, 2), (4, 5)], ["a", "b", "c"], 5) == [((0, 2), "a"), ((4, 5), "b c")]
    assert _filled([(0, 2), (2, 3)], ["a"], 6) == [((0, 3), "a")]
    assert _filled([], ["a"], 6) == [((6, 6), "a")]


def test_it_is_fitted_into_a_folder_and_comes_back(tmp_path: Path) -> None:
    corpora = {"a": ["it was awful today ."] * 20, "b": ["it was lovely today ."] * 20 + ["we met"]}
    fit_baseline("delete-template", corpora, tmp_path)
    again = load_baseline("delete-template", tmp_path)
    assert again.indexes["b"].nearest(["it"]) == [["was lovely today"]] or again.indexes["b"].markers
    assert again.markers.salience["a"]["awful"] == 21
    with pytest.raises(MaskerError, match="did you mean 'delete-retrieve'"):
        fit_baseline("delete-retrive", corpora, tmp_path)
    with pytest.raises(MaskerError, match="two or more"):
        fit_baseline("delete-template", {"a": corpora["a"]}, tmp_path)
