from pathlib import Path

import pytest
from conftest import make_vocabulary

from masker.errors import MaskerError
from masker.model.causal import CausalVocabulary, load_causal, window_of
from masker.model.tokenizer import FileTokenizer


def test_pieces_spell_their_text_with_and_without_transformers(causal: Path) -> None:
    model, vocabulary = load_causal(causal)
    light = CausalVocabulary(FileTokenizer(causal))
    for text in ("The food was great.", " the  food", "déjà <s> vu </s>"):
        pieces = vocabulary.pieces(text)
        assert light.pieces(text) == pieces == vocabulary.many([text])[0]
        assert vocabulary.start not in pieces  # a literal <s> is text
        assert vocabulary.text([*pieces, vocabulary.end, *pieces]) == " ".join(text.split())
    assert (light.start, light.end, len(light)) == (vocabulary.start, vocabulary.end, len(vocabulary)) == (0, 1, 340)
    assert window_of(model, 100) == 100
    assert window_of(model, 1000) == 160


def test_what_a_text_begins_and_ends_with_need_not_be_called_so() -> None:
    roberta = CausalVocabulary(make_vocabulary("roberta").tokenizer)
    assert roberta.start == roberta.end == roberta.tokenizer.sep_token_id


def test_what_is_no_causal_lm_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="no model folder at"):
        load_causal(tmp_path / "missing")
    with pytest.raises(MaskerError, match="no fast tokenizer"):
        CausalVocabulary(object())
