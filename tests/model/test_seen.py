import numpy as np
import pytest
from conftest import make_model
from hypothesis import given
from hypothesis import strategies as st

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.seen import odds, packed, packed_counts, unpacked, unpacked_counts
from masker.model.settings import Settings


@given(st.sets(st.integers(0, 70_000)))
def test_pieces_come_back(pieces: set[int]) -> None:
    assert unpacked("seen", packed(np.array(sorted(pieces), int))).tolist() == sorted(pieces)


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_counts_come_back(counts: list[int]) -> None:
    assert unpacked_counts("counts", packed_counts(np.array(counts, np.int64))).tolist() == counts


def test_odds_tell_what_domains_prefer() -> None:
    a, b = odds([np.array([0, 9000, 9000, 3]), np.array([0, 0, 9000, 3, 9000, 70])], 5)  # piece 5 is of another model
    assert a[0] == b[0] == 0  # seen nowhere
    assert np.isclose(a[1], np.log(2), atol=0.01)
    assert b[1] == -4.0
    assert np.allclose((a[2], b[2]), 0, atol=0.01)
    assert abs(a[3]) < 0.2  # too few to tell
    assert a[4] == -4.0


def test_a_model_without_counts_knows_no_odds() -> None:
    model = make_model()
    a, b = model.domains[:2]
    assert model.odds(a, b) is None
    model.settings.counts = {name: packed_counts(np.array([5, 6, 7])) for name in (a, b)}
    found = model.odds(a, b)
    assert found is not None
    assert found.shape == (2, len(model.vocabulary))
    assert not found.any()


@pytest.mark.parametrize("text", ["?", "AAAA", "é", "YWJj" * 100])
def test_anything_else_is_told(text: str) -> None:
    with pytest.raises(MaskerError, match="`seen of a` is no list of pieces"):
        Settings(domains={"a": None}, seen={"a": text})
    with pytest.raises(MaskerError, match="`counts of a` is no list of pieces"):
        Settings(domains={"a": None}, counts={"a": text})


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
