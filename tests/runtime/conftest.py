from pathlib import Path

import pytest
from conftest import make_model

from masker.model.bag_of_words import BagOfWords
from masker.model.padded_mlm import PaddedMLM


@pytest.fixture(scope="session")
def model() -> PaddedMLM:
    """A tiny random BERT with style classifiers."""
    model = make_model()
    model.add_style()
    model.bag_of_words = BagOfWords.fit([["bad food", "rude staff"], ["great food", "nice staff"]])
    return model


@pytest.fixture(scope="session")
def folder(model: PaddedMLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder, with graphs for ONNX Runtime."""
    from masker.runtime.export import export

    folder = tmp_path_factory.mktemp("exported") / "tiny"
    model.save_pretrained(folder)
    export(folder)
    return folder
