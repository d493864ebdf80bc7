"""A model without its network tells the same as one with it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import FIGURE_1, make_model

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.card import facts
from masker.model.light import LightModel
from masker.model.tokenizer import FileTokenizer

TEXTS = [FIGURE_1, "The food was terrible, and we don't like it!", "so", "[MASK] it was n't good .", "a é 😀 ...", ""]


def test_vocabularies_read_and_write_the_same(vocabularies: dict[str, Vocabulary], family: str, tmp_path: Path) -> None:
    theirs = vocabularies[family]
    theirs.tokenizer.save_pretrained(tmp_path)
    ours = Vocabulary(FileTokenizer(tmp_path))
    assert len(ours) == len(theirs)
    assert (ours.start, ours.end, ours.mask, ours.pad) == (theirs.start, theirs.end, theirs.mask, theirs.pad)
    for text in TEXTS:
        assert ours.read(text) == theirs.read(text)
    np.testing.assert_array_equal(ours.infillable, theirs.infillable)
    np.testing.assert_array_equal(ours.continuation, theirs.continuation)
    assert ours.domain("positive") == theirs.domain("positive")


@pytest.mark.parametrize("packed", [False, True])
def test_the_same_is_told(packed: bool, tmp_path: Path) -> None:
    model = make_model()
    model.add_style()
    model.bag_of_words = BagOfWords.fit([["bad food"], ["good food"]])
    model.save_pretrained(tmp_path, packed=packed)
    light = LightModel.read(tmp_path)
    assert list(facts(light, "x")) == list(facts(model, "x"))
    assert light.settings == model.settings
    assert light.frame == model.frame
    assert light.counterpart("positive") == "negative"
    assert light.has_style
    assert light.bag_of_words is not None
    np.testing.assert_allclose(light.bag_of_words.log_probs(["bad"]), model.bag_of_words.log_probs(["bad"]))


def test_a_tokenizer_that_cannot_be_read_is_one_line(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(MaskerError, match="cannot read the tokenizer of"):
        FileTokenizer(tmp_path)


def test_a_domain_without_a_token_is_named(model_folder: Path, tmp_path: Path) -> None:
    for path in model_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    settings = (tmp_path / "masker.json").read_text().replace('"positive"', '"cheerful"')
    (tmp_path / "masker.json").write_text(settings)
    with pytest.raises(MaskerError, match="no token for the domain 'cheerful'"):
        LightModel.read(tmp_path)


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, masker.model.light, masker.model.folder, masker.runtime.onnx; "
    heavy = "{'torch', 'transformers', 'onnxruntime', 'huggingface_hub', 'scipy', 'sklearn'}"
    code += f"print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"[]"
