import json
from pathlib import Path

import pytest

from masker.errors import MaskerError
from masker.model.causal import load_causal
from masker.model.reader import ReaderCard, is_reader, prefix, shown


def test_a_card_is_read_as_it_was_written(tmp_path: Path) -> None:
    card = ReaderCard(("negative", "positive"), 40, {"base": "somewhere"})
    assert not is_reader(tmp_path)
    with pytest.raises(MaskerError, match="holds no reader"):
        ReaderCard.read(tmp_path)
    card.write(tmp_path)
    assert is_reader(tmp_path)
    assert ReaderCard.read(tmp_path) == card
    (tmp_path / "reader.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(MaskerError, match="has format 9, this version reads 1"):
        ReaderCard.read(tmp_path)
    with pytest.raises(MaskerError, match="did you mean 'positive'"):
        card.check_domain("positiv")


def test_texts_stand_behind_their_domain(causal: Path) -> None:
    _, vocabulary = load_causal(causal)
    assert prefix(vocabulary, "negative") == [vocabulary.start, *vocabulary.pieces("negative:")]
    assert shown("i like\n it .") == " I like it."
