"""The page of the paper's baselines is made of nothing but its figures."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

YELP = Path(__file__).parents[2] / "experiments" / "yelp"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(YELP))
    try:
        spec = importlib.util.spec_from_file_location("yelp_baselines", YELP / "baselines.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(YELP))
    return module


def test_the_page_is_that_of_the_figures(script: ModuleType) -> None:
    found = json.loads((YELP / "baselines.json").read_text("utf-8"))
    assert script.markdown(found) == (YELP / "BASELINES.md").read_text("utf-8")
    kept = [name for name in script.PEERS if name != "delete-template"]
    assert all((YELP / "baselines" / f"{name}.{i}.txt.xz").is_file() for name in kept for i in (0, 1))


def test_words_that_stay_are_compared_whatever_the_spacing(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("i do n 't like it\n")
    assert script._kept(["i do n't like that"], tmp_path / "out.txt") == [{"i", "don't", "like"}]
