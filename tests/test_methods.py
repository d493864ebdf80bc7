"""Which method edits, with the embedded model: the one that is named, or the first that can do what is asked."""

import json
import shutil
from pathlib import Path

import pytest

from masker import Masker
from masker.core.edits import apply_edits
from masker.core.protection import STANDARD
from masker.errors import MaskerError
from masker.model.folder import EMBEDDED, STUDENT
from masker.search.auto import AutoEditor
from masker.students.base import CARD
from masker.students.lasertagger.light import LightTagger

TEXT = "the food was terrible and the waiter was rude ."


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.from_pretrained(device="cpu")


def test_the_embedded_model_has_a_student(masker: Masker) -> None:
    assert isinstance(masker.student, LightTagger)
    assert masker.student.targets == ("civil", "negative", "positive")
    assert sum(path.stat().st_size for path in (EMBEDDED / STUDENT).iterdir()) < 8_000_000


def test_by_default_the_student_and_the_search_editor_work_together(masker: Masker) -> None:
    editor = masker.editor("positive")
    assert isinstance(editor, AutoEditor)
    rewrite, *others = masker.edit([TEXT, "We had to leave after an hour.", "i love it , great food !"], to="positive")
    assert rewrite.method == "fast"
    assert rewrite.to_dict()["method"] == "fast"
    assert rewrite.text == _fast(masker)
    assert {other.method for other in others} == {"search"}
    assert others[1].reason
    assert "already" in others[1].reason


def _fast(masker: Masker) -> str:
    (rewrite,) = masker.edit([TEXT], to="positive", method="fast")
    assert apply_edits(TEXT, rewrite.edits) == rewrite.text != TEXT
    assert all(0 < edit.score <= 1 and edit.target_score is None for edit in rewrite.edits)
    return rewrite.text


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "auto"), ({"strength": 0.8}, "auto"), ({"max_edits": 1}, "auto"), ({"top": 0}, "auto"),
        ({"top": 2}, "search"), ({"min_score": 0.5}, "search"), ({"min_score": 0.5, "strength": 0.9}, "search"),
        ({"source_score": False}, "paper"),
    ],
)  # fmt: skip
def test_the_first_that_has_all_the_options(masker: Masker, options: dict[str, object], name: str) -> None:
    assert masker.editor("positive", **options).name == name  # type: ignore[arg-type]


def test_without_a_student_for_it_texts_are_searched(masker: Masker) -> None:
    assert masker.editor("split").name == "search"
    with pytest.raises(MaskerError, match="writes only from toxic to civil or from positive to negative or"):
        masker.editor("split", method="fast")
    with pytest.raises(MaskerError, match="writes only"):
        masker.editor("positive", "split", method="auto")


def test_options_of_the_student(masker: Masker) -> None:
    with pytest.raises(MaskerError, match="`max_edits` belongs to the method auto or search or paper"):
        masker.edit(TEXT, to="positive", method="fast", max_edits=1)
    assert masker.edit(TEXT, to="positive", method="fast", min_score=0.999).text == TEXT
    assert "terrible" in masker.edit(TEXT, to="positive", method="fast", protect="terrible").text


def test_a_model_without_a_student(tmp_path: Path) -> None:
    folder = shutil.copytree(EMBEDDED, tmp_path / "model", ignore=shutil.ignore_patterns(STUDENT))
    masker = Masker.from_pretrained(folder, device="cpu")
    assert masker.student is None
    assert masker.editor("positive").name == "search"
    with pytest.raises(MaskerError, match=r"has no student; teach it one \(masker distill\)"):
        masker.editor("positive", method="fast")


def test_a_student_that_does_not_say_what_it_writes(tmp_path: Path) -> None:
    folder = shutil.copytree(EMBEDDED, tmp_path / "model")
    fields = json.loads((folder / STUDENT / CARD).read_text("utf-8"))
    (folder / STUDENT / CARD).write_text(json.dumps(fields | {"targets": []}), "utf-8")
    with pytest.raises(MaskerError, match="does not say which domains it writes"):
        Masker.from_pretrained(folder, device="cpu").editor("positive")


def test_exact_is_float32_for_the_student_too() -> None:
    exact = Masker.from_pretrained(device="cpu", exact=True)
    assert isinstance(exact.student, LightTagger)
    assert exact.student._graph._kind == "float32"
    texts = [TEXT, "worst service ever .", "i will never be back to this place !"]
    alone = [exact.edit(text, to="positive", method="fast").text for text in texts]
    assert [rewrite.text for rewrite in exact.edit(texts, to="positive", method="fast")] == alone


def test_raw_text(masker: Masker) -> None:
    (rewrite,) = masker.edit(["Horrible food, and the staff wasn't friendly!"], to="positive", method="fast")
    assert rewrite.text[0].isupper()
    assert " ," not in rewrite.text
    assert rewrite.text.endswith("!")


def test_numbers_links_and_terms_stay(masker: Masker) -> None:
    texts = [
        "My $45 steak was cold.", "Terrible: 2 stars of 5!", "see www.awful.com for the worst pizza .",
        "the rude staff at Bad Boys was terrible .", "#worst food ever , @badplace !",
        "I waited 45 minutes for cold soup.",
    ]  # fmt: skip
    kept = [match for text in texts for pattern in masker.task("positive", standard=True).protect
            for match in pattern.pattern.findall(text)]  # fmt: skip
    for method in ("auto", "search", "fast"):
        rewrites = masker.edit(texts, to="positive", method=method)
        assert [m for r in rewrites for m in STANDARD.findall(r.text)] == kept
        assert any(rewrite.edits for rewrite in rewrites)
    for rewrite in masker.edit(texts, to="positive", keep=["bad boys", "rude"]):
        assert ("Bad Boys" in rewrite.source) == ("rude" in rewrite.text and "Bad Boys" in rewrite.text)
    assert masker.editor("positive", method="paper").task.protect == ()  # type: ignore[attr-defined]
    assert masker.editor("positive", method="search", protect="none").task.protect == ()  # type: ignore[attr-defined]
