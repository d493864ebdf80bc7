from pathlib import Path

import pytest
from toy import make_base

from masker.core.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, vocabulary: Vocabulary) -> Path:
    """A tiny BERT that knows nothing yet."""
    return make_base(tmp_path_factory.mktemp("base") / "model", vocabulary)
