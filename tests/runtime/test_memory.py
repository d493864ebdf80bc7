"""Out of memory: what does not fit at once is computed in parts, with the same result, and one line says so."""

from typing import Any

import numpy as np
import pytest
import torch
from conftest import make_model

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.memory import InParts, OutOfMemory
from masker.runtime.torch import TorchRuntime


class Small:
    """Adds one, as long as at most `most` rows are asked for at a time; notes how many were."""

    def __init__(self, most: int) -> None:
        self.most, self.asked = most, list[int]()

    def __call__(self, ids: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.asked.append(len(ids))
        if len(ids) > self.most:
            raise OutOfMemory("CUDA out of memory")
        return ids + 1, other * 2


def rows(count: int, length: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(count * length).view(count, length), torch.arange(count)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 50])
def test_parts_give_what_the_whole_would_give(most: int) -> None:
    in_parts, small = InParts(), Small(most)
    ids, other = rows(20)
    found = in_parts(small, ids, other)
    assert torch.equal(found[0], ids + 1)
    assert torch.equal(found[1], other * 2)
    assert max(small.asked[-3:]) <= most


def test_it_is_said_once_a_step_and_remembered(caplog: pytest.LogCaptureFixture) -> None:
    in_parts, small = InParts(), Small(6)
    in_parts(small, *rows(20))
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "masker: warning: out of memory with 20 texts of 6 pieces at a time; going on with 10",
        "masker: warning: out of memory with 10 texts of 6 pieces at a time; going on with 5",
    ]
    small.asked.clear()
    in_parts(small, *rows(20))
    in_parts(small, *rows(20, length=10))  # longer texts, so fewer of them
    assert small.asked == [5] * 4 + [3] * 6 + [2]
    assert len(caplog.records) == 2


def test_one_text_that_does_not_fit_is_one_line() -> None:
    with pytest.raises(MaskerError, match=r"^the memory of the GPU is too small for one of the texts of 6 pieces; "):
        InParts()(Small(0), *rows(4))


def test_rows_of_any_kind() -> None:
    asked = list[int]()

    def doubled(words: list[str]) -> list[str]:
        asked.append(len(words))
        if len(words) > 2:
            raise OutOfMemory("CUDA out of memory")
        return [word * 2 for word in words]

    assert InParts().rows(doubled, ["a", "b", "c", "d", "e"], length=7) == ["aa", "bb", "cc", "dd", "ee"]
    assert asked == [5, 2, 2, 1]


def test_an_empty_batch() -> None:
    found = InParts()(Small(3), *rows(0))
    assert [len(each) for each in found] == [0, 0]


def narrow(model: PaddedMLM, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model on a device with memory for so many rows."""
    compute = model.at

    def limited(ids: Any, *others: Any, **options: Any) -> Any:
        if len(ids) > most:
            raise OutOfMemory("CUDA out of memory")
        return compute(ids, *others, **options)

    monkeypatch.setattr(model, "at", limited)


def test_editing_goes_on_in_smaller_batches(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["the food was terrible .", "i can't believe how rude they were .", "we like it !"]
    roomy = Masker(make_model("bert"), device="cpu", batch_tokens=4096)
    expected = [rewrite.to_dict() for rewrite in roomy.edit(texts, to="positive", method="paper", min_score=-5)]
    model = make_model("bert")
    narrow(model, 5, monkeypatch)
    masker = Masker(model, device="cpu", batch_tokens=4096)
    found = [rewrite.to_dict() for rewrite in masker.edit(texts, to="positive", method="paper", min_score=-5)]
    assert [each["text"] for each in found] == [each["text"] for each in expected]
    assert any(each["edits"] for each in found)
    assert "out of memory" in caplog.text
    assert "going on with" in caplog.text


def test_the_style_classifier_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model("bert")
    model.add_style()
    ids = np.random.default_rng(0).integers(5, 60, (9, 7))
    whole = TorchRuntime(model, "cpu").styles(ids, np.ones_like(ids))
    narrow(model, 2, monkeypatch)
    np.testing.assert_allclose(TorchRuntime(model, "cpu").styles(ids, np.ones_like(ids)), whole, atol=1e-5)
