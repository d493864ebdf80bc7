"""Style classifiers for tests of the search editor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from conftest import make_model
from toy import CORPORA

from masker.api import Masker
from masker.core.edits import Rewrite
from masker.core.runtime import Pending
from masker.core.segments import Unit
from masker.core.task import Task
from masker.core.text import split_words
from masker.model.bag_of_words import BagOfWords
from masker.model.settings import SearchSettings
from masker.search.editor import SearchEditor
from masker.search.lexicon import Lexicon


def ids_of(lexicon: Lexicon, text: str) -> list[int]:
    """The words of a text as numbers."""
    return lexicon.ids(text[a:b].lower() for a, b in split_words(text))


def with_style() -> Masker:
    torch.manual_seed(0)
    model = make_model("bert")
    model.add_style()
    model.bag_of_words = BagOfWords.fit(list(CORPORA.values()))
    return Masker(model, device="cpu", exact=True)


class Words:
    """Style classifiers that count words: each of `good` raises the log-odds by 3, each of `bad` lowers them."""

    def __init__(self, good: Sequence[str], bad: Sequence[str]) -> None:
        self.lexicon, self.read = Lexicon(), 0
        self.worth = dict.fromkeys(self.lexicon.ids(good), 3) | dict.fromkeys(self.lexicon.ids(bad), -3)
        self.pieces = {
            piece: worth
            for words, worth in ((good, 3), (bad, -3))
            for word in words
            for piece in VOCABULARY.read(word).pieces[:1]
        }

    def of_encoder(self, pieces: Sequence[Sequence[int]]) -> np.ndarray:
        self.read += len(pieces)
        odds = np.array([sum(self.pieces.get(piece, 0) for piece in row) - 1.0 for row in pieces])
        return np.asarray(-np.log1p(np.exp(-odds)))

    def begin_encoder(self, pieces: np.ndarray, sizes: np.ndarray) -> Pending[np.ndarray]:
        log_p = self.of_encoder([row.tolist() for row in np.split(pieces, sizes.cumsum())[:-1]])
        return lambda: log_p

    def of_words(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log1p(np.exp(-self.margins(rows))))

    def margins(self, rows: np.ndarray) -> np.ndarray:
        return np.array([sum(self.worth.get(word, 0) for word in row) - 1.0 for row in rows.tolist()])


VOCABULARY = make_model("bert").vocabulary


def searching(masker: Masker, to: str = "positive") -> tuple[Task, Any, Unit]:
    """What a search editor is made of: the task, the classifiers, and what is edited at a time."""
    editor = masker.editor(to, method="search")
    assert isinstance(editor, SearchEditor)
    return editor.task, editor.style, editor.unit


def search_texts(
    task: Task, style: Any, sources: Sequence[str], knobs: dict[str, Any], *, unit: Unit = Unit(), top: int = 0
) -> list[Rewrite]:
    return SearchEditor(task, style, SearchSettings(**knobs), unit=unit, top=top).edit(sources)


class Critic:
    """Accepts texts as it was told to."""

    def __init__(self, **sure: float) -> None:
        self.sure = sure

    def accepts(self, to: str, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        return np.array([max([self.sure.get(word, 0.01) for word in text.split()]) for text in texts])


class Idle:
    """Leaves all as it is."""

    name, chunk, prefetch = "fast", 8, 0

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: [Rewrite(text, text, "negative", "positive") for text in texts]
