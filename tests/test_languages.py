"""Tiny models fitted to many languages: every text comes out spaced and spelt as it went in, but for its edits."""

import logging
import random
import re
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import pytest
from conftest import BERT, wordpiece
from toy import make_base

from masker.api import Masker
from masker.core.candidates import spelt, write
from masker.core.edits import apply_edits
from masker.core.spacing import usual_gaps
from masker.core.spans import enumerate_spans
from masker.core.unspaced import is_tight
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.training.fit import fit
from masker.training.settings import TrainSettings
from masker.training.vocabulary import learn, spelling


def sentences() -> dict[str, list[str]]:
    """By language. ⍽ stands for the narrow no-break space, ␣ for the wider one."""
    text = (Path(__file__).parent / "golden" / "languages.txt").read_text("utf-8")
    parts = [part.splitlines() for part in text.replace("⍽", "\u202f").replace("␣", "\u00a0").split("# ")[1:]]
    return {name: lines for name, *lines in parts}


SENTENCES = sentences()
WITHOUT_SPACES = ("zh", "ja")  # Thai and the others have some between phrases


@pytest.fixture(scope="module")
def base(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("languages") / "base", vocabulary)


@pytest.mark.parametrize("language", SENTENCES)
def test_texts_are_edited_by_every_method(language: str, base: Path, tmp_path: Path) -> None:
    texts = SENTENCES[language]
    corpora = {"one": texts[::2] * 2, "other": texts[1::2] * 2}
    fit(corpora, tmp_path, base=base, vocabulary=600, settings=TrainSettings(steps=2, batch_size=4, held_out=0.2))
    masker = Masker.from_pretrained(tmp_path, device="cpu")
    texts = [
        *texts,
        *(normalize("NFD", text) for text in texts[:2]),
        ("" if language in WITHOUT_SPACES else " ").join(texts[:3]),
    ]
    for method in ("paper", "search"):
        rewrites = masker.edit(texts, to="other", method=method, min_score=-1e6)
        assert sum(bool(rewrite.edits) for rewrite in rewrites) > len(texts) // 2
        for text, rewrite in zip(texts, rewrites, strict=True):
            assert rewrite.error is None
            assert rewrite.source == text
            assert apply_edits(text, rewrite.edits) == rewrite.text
            assert all(text[edit.start : edit.end] == edit.old for edit in rewrite.edits)
            check_spaces(text, rewrite.text, language)


@pytest.mark.parametrize("language", SENTENCES)
def test_any_words_in_any_place(language: str) -> None:
    """Words of a language, one to three of them, in the place of every span of its sentences."""
    texts, rng = SENTENCES[language], random.Random(0)
    vocabulary = learn(texts, 600, wordpiece(BERT))
    vocabulary.gaps = usual_gaps(texts)
    read = [vocabulary.read(text) for text in texts]
    words = [word.pieces for text in read for i, word in enumerate(text.words) if any(map(str.isalpha, text.word(i)))]
    for text in read:
        fixed = [False] * len(text.words)
        for span in enumerate_spans(text, 6):
            pieces = [piece for word in rng.sample(words, rng.randint(0, 3)) for piece in word]
            if not pieces and not text.word(min(span.start, len(text.words) - 1)).isalpha():
                continue  # marks that lose their word stand as they may
            r = write(vocabulary, text, span, spelt(vocabulary, text, span, pieces), fixed)
            new = text.source[: r.start] + r.new + text.source[r.end :]
            check_spaces(text.source, new, language)


def check_spaces(source: str, text: str, language: str) -> None:
    """No two in a row, none before a comma or full stop, none in a script without; marks keep what they had."""
    assert not re.search(r"\s\s", text), text
    assert not re.search(r"\w\s[,.)](?!\w)", text), text
    assert text == text.strip()
    if language in WITHOUT_SPACES:
        assert not any((a == " " and is_tight(b)) or (is_tight(a) and b == " ") for a, b in pairwise(text)), text
    if language == "fr":
        assert not re.search(r"[^\u202f ][!?;]|[^\u202f\u00a0 ][:»]|«[^\u00a0]", text), text
        assert not re.search(r"[\u202f](?![!?;:»])", text), text


@pytest.mark.parametrize("language", SENTENCES)
def test_words_and_gaps_make_the_text(language: str) -> None:
    vocabulary = learn(SENTENCES[language], 600, wordpiece(BERT))
    for text in SENTENCES[language]:
        for source in (text, normalize("NFD", text)):
            read = vocabulary.read(source)
            ends = [0, *(word.end for word in read.words)]
            gaps = [source[end : word.start] for end, word in zip(ends, read.words, strict=False)]
            assert "".join(g + read.word(i) for i, g in enumerate(gaps)) + source[ends[-1] :] == source
            assert not "".join(gaps).strip()
            for word in read.words:
                assert all(0 <= a <= b <= word.end - word.start for a, b in word.offsets)
    assert spelling(vocabulary, SENTENCES[language])[1] == 0


def test_a_model_is_used_with_what_cut_its_words(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    texts = SENTENCES["zh"]
    quick = TrainSettings(steps=2, batch_size=4, held_out=0.2)
    corpora = {"one": texts[::2] * 2, "other": texts[1::2] * 2}
    model = fit(corpora, tmp_path, base=base, vocabulary=600, settings=quick)
    assert (model.settings.segmenter or "").startswith("ICU ")
    monkeypatch.setattr("masker.model.settings.segmenter", lambda: None)
    with pytest.raises(MaskerError, match=r"pip install 'masker-nlp\[languages\]'"):
        Masker.from_pretrained(tmp_path, device="cpu")
    monkeypatch.undo()
    model.settings.segmenter = "none"
    with caplog.at_level(logging.WARNING, "masker"):
        Masker(model, device="cpu")
    assert "was fitted without what cuts text without spaces" in caplog.text
