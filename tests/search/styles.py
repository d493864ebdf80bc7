"""Style classifiers for tests of the search editor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from conftest import make_model
from toy import CORPORA

from masker.api import Masker
from masker.core.edits import Rewrite
from masker.core.task import Task
from masker.model.bag_of_words import BagOfWords
from masker.model.settings import SearchSettings
from masker.search.editor import SearchEditor


def with_style() -> Masker:
    torch.manual_seed(0)
    model = make_model("bert")
    model.add_style()
    model.bag_of_words = BagOfWords.fit(list(CORPORA.values()))
    return Masker(model, device="cpu", exact=True)


class Words:
    """A style classifier that counts words: each of `good` raises the log-odds by 3, each of `bad` lowers them."""

    def __init__(self, good: Sequence[str], bad: Sequence[str]) -> None:
        self.good, self.bad, self.read = set(good), set(bad), 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.of_encoder(texts), self.of_words(texts)], 1)

    def of_encoder(self, texts: Sequence[str]) -> np.ndarray:
        self.read += len(texts)
        return self.of_words(texts)

    def of_words(self, texts: Sequence[str]) -> np.ndarray:
        odds = [3 * sum((w in self.good) - (w in self.bad) for w in t.lower().split()) - 1 for t in texts]
        return np.asarray(-np.log1p(np.exp(-np.array(odds, dtype=float))))


def searching(masker: Masker, to: str = "positive") -> tuple[Task, Any, int | None]:
    """What a search editor is made of: the task, the classifiers, and how long a text is edited as one."""
    editor = masker.editor(to, method="search")
    assert isinstance(editor, SearchEditor)
    return editor.task, editor.style, editor.longest


def search_texts(
    task: Task, style: Any, sources: Sequence[str], knobs: dict[str, Any], *, longest: int | None = None, top: int = 0
) -> list[Rewrite]:
    return SearchEditor(task, style, SearchSettings(**knobs), longest=longest, top=top).edit(sources)
