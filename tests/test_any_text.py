"""Models fitted to corpora of every shape, and texts of every shape sent through every method: nothing stops them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import make_base

from masker.api import Masker
from masker.core.edits import apply_edits
from masker.core.vocabulary import Vocabulary
from masker.methods import METHODS
from masker.training.fit import fit
from masker.training.settings import TrainSettings

SHAPES = {
    "plain": ["the food was bad .", "it was good !", "we will be back , maybe ."],
    "no punctuation": ["the food was bad and the staff was rude and we left", "it was good and we will be back again"],
    "one word": ["bad", "good", "rude"],
    "long": ["the food was bad and so " * 30 + ".", "it was good . " * 40, "nice " * 150],
    "upper case": ["THE FOOD WAS BAD .", "IT WAS GOOD !", "WE WILL BE BACK ."],
    "emoji": ["good 😀😀 !", "👎🏽 bad food", "❤️", "so 😡😡😡😡 ..."],
    "scripts": ["это плохо .", "好 吃 。", "café ☕ ist gut", "لا بأس", "𝕓𝕒𝕕 food"],
    "junk": ['a,b,,c;;"d"', "1,2,3,4", "----", '""""', "x\u200by\u00a0z", "<td>bad</td>", "\t\t", "(((("],
}
TEXTS = [text for texts in SHAPES.values() for text in texts]


@pytest.fixture(scope="module", params=list(SHAPES))
def masker(request: pytest.FixtureRequest, vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Masker:
    """One that was fitted to texts of a shape."""
    folder = tmp_path_factory.mktemp("any")
    texts = [text for text in SHAPES[request.param] if text.strip()] * 3
    quick = TrainSettings(steps=2, batch_size=4, held_out=0.2)
    corpora = {"one": texts, "other": [text[::-1] for text in texts]}
    fit(corpora, folder / "model", base=make_base(folder / "base", vocabulary), settings=quick)
    return Masker.from_pretrained(folder / "model", device="cpu")


@pytest.mark.parametrize("method", [name for name in METHODS if name in ("search", "paper")])
def test_texts_of_every_shape_by_every_method(masker: Masker, method: str) -> None:
    for rewrite in masker.edit([*TEXTS, "", " "], to="other", method=method):
        assert apply_edits(rewrite.source, rewrite.edits) == rewrite.text
        assert rewrite.error is None


@settings(max_examples=8, deadline=None)
@given(st.lists(st.text(max_size=40) | st.sampled_from(TEXTS[:8]), max_size=3), st.sampled_from(["search", "paper"]))
def test_any_text(masker: Masker, texts: list[str], method: str) -> None:
    for source, rewrite in zip(texts, masker.edit(texts, to="other", method=method), strict=True):
        assert rewrite.source == source
        assert apply_edits(source, rewrite.edits) == rewrite.text
