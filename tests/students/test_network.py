from typing import Any

import torch

from masker.model.padded_mlm import PaddedMLM
from masker.students.network import Encoder, table


def test_the_encoder_sees_what_the_model_sees(family: str, maskers: Any) -> None:
    model: PaddedMLM = maskers(family).model
    ids = torch.tensor([[*model.vocabulary.start, 9, 10, *model.vocabulary.end, model.vocabulary.pad]])
    attention = torch.ones_like(ids)
    attention[0, -1] = 0
    hidden = Encoder(model.mlm)(ids, attention)
    assert torch.allclose(hidden, model.encode(ids, attention), atol=1e-6)


def test_a_table_of_rows() -> None:
    rows = table([[1, 2], [], [3, 4, 5]], -1, torch.device("cpu"))
    assert rows.tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]
