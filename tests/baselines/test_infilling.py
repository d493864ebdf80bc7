"""AC-MLM's infilling with a tiny random model: only what was chosen changes."""

import re

import numpy as np
import pytest
from conftest import make_model, make_task

from masker.baselines.infilling import MaskAndInfill, _runs
from masker.core.edits import apply_edits
from masker.core.matching import Pattern
from masker.core.padding import mask_spans
from masker.core.spans import Span
from masker.core.task import Task

TEXT = "the food was terrible and the staff was not good ."


class Chosen:
    """A selector that is told which words to choose."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def select(self, words: list[str], domain: str) -> set[int]:
        assert domain == "negative"
        return {i for i, word in enumerate(words) if word in self.words}


def editor(task: Task, *words: str) -> MaskAndInfill:
    return MaskAndInfill("acmlm-frequency", task, Chosen(*words))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def task() -> Task:
    return make_task(make_model("bert", seed=4))


def test_only_chosen_words_change(task: Task) -> None:
    (rewrite,) = editor(task, "terrible", "not").edit([TEXT])
    assert apply_edits(TEXT, rewrite.edits) == rewrite.text
    kept = [word for word in TEXT.split() if word not in ("terrible", "not")]
    left = iter(rewrite.text.split())
    assert all(word in left for word in kept)  # all the others are there, in order
    assert len(rewrite.edits) == 2


def test_all_masks_of_a_text_are_filled_at_once_with_as_many_pieces_as_there_were(task: Task) -> None:
    spans = [Span(3, 5), Span(8, 9)]
    text = task.vocabulary.read(TEXT)
    sizes = [text.bounds[span.stop] - text.bounds[span.start] for span in spans]
    (answers,) = editor(task)._fill([(text, spans)])
    flat = np.array(text.pieces)
    starts, widths = np.array([[text.bounds[span.start] for span in spans]]), np.array([sizes])
    masked = mask_spans(flat, np.array([0]), np.array([len(flat)]), starts, widths, task.frame, domain=True)
    allowed = task.allowed()
    allowed[task.frame.pad] = False
    bias = np.where(allowed, 0.0, -np.inf).astype(np.float32)
    put = task.target.runtime.to_device
    said = task.target.runtime(
        put(masked.with_domain(task.target.token)), put(masked.attention), put(masked.slots),
        put(masked.targets.clip(0)[:, :, None]), put(bias),
    )  # fmt: skip
    best = said.best[0, :, 0].reshape(2, -1).tolist()
    assert [pieces for pieces, _ in answers] == [row[:size] for row, size in zip(best, sizes, strict=True)]
    assert task.frame.pad not in {piece for row in best for piece in row}


def test_texts_do_not_mind_their_company(task: Task) -> None:
    texts = [TEXT, "nothing here", "", "terrible !", "the " * 30 + "terrible service was not good ."]
    together = editor(task, "terrible", "not").edit(texts)
    alone = [editor(task, "terrible", "not").edit([text])[0] for text in texts]
    assert [a.text for a in together] == [b.text for b in alone]
    assert together[1].reason
    assert together[2].reason == "no words"


def test_what_is_protected_stays(task: Task) -> None:
    protected = make_task(make_model("bert", seed=4), protect=(Pattern(re.compile("terrible")),))
    (rewrite,) = editor(protected, "terrible", ".").edit(["the food was terrible ."])
    assert rewrite.text == "the food was terrible ."


def test_a_run_of_words_is_masked_in_parts_and_written_as_one(task: Task) -> None:
    assert list(_runs([Span(0, 4), Span(4, 6), Span(7, 8)])) == [range(0, 2), range(2, 3)]
    (rewrite,) = editor(task, *["food", "was", "terrible", "and", "the", "staff"]).edit([TEXT])
    assert len(rewrite.edits) <= 2
    assert rewrite.text.endswith("not good .")
