import numpy as np
import pytest
from conftest import make_model
from hypothesis import given
from hypothesis import strategies as st

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.seen import packed, unpacked
from masker.model.settings import Settings


@given(st.sets(st.integers(0, 70_000)))
def test_pieces_come_back(pieces: set[int]) -> None:
    assert unpacked("seen", packed(np.array(sorted(pieces), int))).tolist() == sorted(pieces)


@pytest.mark.parametrize("text", ["?", "AAAA", "é", "YWJj" * 100])
def test_anything_else_is_told(text: str) -> None:
    with pytest.raises(MaskerError, match="`seen of a` is no list of pieces"):
        Settings(domains={"a": None}, seen={"a": text})


def test_what_a_model_knows_of_its_domains() -> None:
    model = make_model()
    a, b = model.domains[:2]
    every = len(model.vocabulary)
    assert len(model.known_pieces([a, b])) == every
    model.settings.seen = {a: packed(np.array([7, 9]))}
    assert len(model.known_pieces([a, b])) == every
    model.settings.seen[b] = packed(np.array([9, 11, every + 5]))
    assert model.known_pieces([a, b]).tolist() == sorted({0, model.vocabulary.pad, 7, 9, 11})


def test_the_embedded_model_narrows_reviews_and_not_wikipedia() -> None:
    masker = Masker.from_pretrained()
    task = masker.task("positive")
    narrow = masker.narrowed(task)
    assert narrow.target.runtime is not task.target.runtime
    assert narrow.source
    assert narrow.target.runtime is narrow.source.runtime is masker.narrowed(masker.task("negative")).target.runtime
    assert masker.narrowed(masker.task("fused")).target.runtime is task.target.runtime
