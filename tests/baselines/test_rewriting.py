"""Delete and retrieve with its generator: what it has written becomes edits."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import make_model, make_task
from toy import CORPORA

from masker.baselines import generator_training
from masker.baselines.base import fit_baseline, load_baseline
from masker.baselines.markers import Markers
from masker.baselines.retrieval import Index, Retrieval
from masker.baselines.rewriting import DeleteRetrieve, RetrievalAndGenerator
from masker.core.edits import apply_edits
from masker.core.matching import Pattern
from masker.core.task import Task
from masker.errors import MaskerError
from masker.training.settings import LoopSettings

MARKERS = Markers({"negative": {"terrible": 20.0, "so rude": 20.0}, "positive": {"great": 20.0, "the best": 20.0}})
INDEX = Index([["the", "food", "was"], ["i", "like", "paris"]], [["great"], ["the best"]])


class Writes:
    """A generator that writes what it is told to."""

    def __init__(self, *written: str) -> None:
        self.written, self.asked = [*written], list[tuple[list[str], list[str]]]()

    def write(self, content: Sequence[str], markers: Sequence[str]) -> tuple[list[str], float]:
        self.asked.append((list(content), list(markers)))
        return self.written.pop().split(), -0.5


class Shorter:
    """A language model that likes few characters."""

    def log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        return [-float(len(text) * (len(text.split()) + 1)) for text in texts]


def editor(generator: Writes, task: Task | None = None, index: Index = INDEX) -> DeleteRetrieve:
    learnt = RetrievalAndGenerator(
        Retrieval(MARKERS, {"positive": index}),
        generator,
        {"positive": Shorter()},  # type: ignore[arg-type, dict-item]
    )
    return DeleteRetrieve(task or make_task(make_model("bert")), learnt)


def test_what_is_written_becomes_edits_and_common_words_stay_as_they_are() -> None:
    generator = Writes("the food was great and the service good")
    (rewrite,) = editor(generator).begin(["The Food was so rude and the staff good ."])()
    assert generator.asked == [(["the", "food", "was", "and", "the", "staff", "good"], ["great"])]
    assert rewrite.text == "The Food was great and the service good ."
    assert apply_edits(rewrite.source, rewrite.edits) == rewrite.text
    assert [edit.new for edit in rewrite.edits] == ["great", "service"]


def test_words_are_added_before_the_final_mark_and_taken_away() -> None:
    more, less = (editor(Writes(new)).begin([text])()[0] for new, text in (
        ("we like the food here", "the food was terrible ."), ("paris", "i like paris terrible !")))  # fmt: skip
    assert more.text == "we like the food here ."
    assert less.text == "paris !"


def test_of_what_several_neighbours_give_the_likeliest_is_taken() -> None:
    index = Index(
        [["the", "food"], ["food", "here"], ["food"], ["else"]], [["great"], ["the best"], ["great"], ["new"]]
    )
    generator = Writes("the food was truly great", "the food was best")
    (rewrite,) = editor(generator, index=index).begin(["the food was terrible ."])()
    assert sorted(" ".join(markers) for _, markers in generator.asked) == ["great", "the best"]  # each once
    assert rewrite.text == "the food was best ."


def test_texts_without_a_neighbour_or_words_stay() -> None:
    nothing, empty = editor(Writes("great")).begin(["nothing .", ""])()
    assert nothing.text == "nothing ."
    assert nothing.reason
    assert empty.reason == "no words"


def test_what_is_protected_stays() -> None:
    task = make_task(make_model("bert"), protect=(Pattern(re.compile("terrible")),))
    generator = Writes("our food is great")
    (rewrite,) = editor(generator, task).begin(["the food was terrible ."])()
    assert "terrible" in generator.asked[0][0]  # it is no marker that may go
    assert rewrite.text == "our food was terrible ."


def test_it_is_fitted_into_a_folder_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = LoopSettings(steps=2, batch_size=8, lr=1e-2, patience=None)
    monkeypatch.setattr(generator_training, "SETTINGS", quick)
    fit_baseline("delete-retrieve", CORPORA, tmp_path)
    again = load_baseline("delete-retrieve", tmp_path)
    assert again.retrieval.markers.salience["negative"]["terrible"] == 41
    assert "terrible" in again.generator.words
    likely, less = again.choosers["negative"].log_likelihoods(["the food was terrible", "the food was great"])
    assert likely > less


def test_without_torch_fitting_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "masker.baselines.generator_training", None)
    with pytest.raises(MaskerError, match=r"masker-nlp\[train\]"):
        fit_baseline("delete-retrieve", CORPORA, tmp_path)
