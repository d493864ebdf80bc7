import json
import os
from pathlib import Path

import numpy as np
import pytest
from toy import narrow
from typer.testing import CliRunner

from masker.cli import app, judge  # noqa: F401  (registers the verb)
from masker.errors import MaskerError
from masker.evaluation.judges.base import Judge, Training
from masker.evaluation.judges.transformer import TransformerJudge

DATA = os.environ.get("MASKER_DATA")
NOUNS = ["food", "service", "staff", "place", "pizza", "coffee", "room", "salad"]
CORPORA = {
    "negative": [f"the {noun} was {word} ." for noun in NOUNS for word in ("bad", "awful", "not good")],
    "positive": [f"the {noun} was {word} ." for noun in NOUNS for word in ("good", "great", "not bad", "fine")],
}
DEV = {"positive": ["the food was great ."], "negative": ["the food was awful .", "the food was not good ."]}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random encoder without a head."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("base")
    trained = BertWordPieceTokenizer()
    trained.train_from_iterator([text for texts in CORPORA.values() for text in texts], vocab_size=120)
    tokenizer = BertTokenizerFast(tokenizer_object=trained._tokenizer)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_attention_heads=2,
        num_hidden_layers=2,
        intermediate_size=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.2,
    )
    tokenizer.save_pretrained(folder)
    BertModel(config).save_pretrained(folder)
    return folder


def check(fitted: Judge, folder: Path) -> None:
    """What every judge must do, before and after being saved."""
    texts = ["The food was AWFUL.", "the food was great .", ""]
    fitted.save_pretrained(folder)
    loaded = Judge.from_pretrained(folder)
    for one in (fitted, loaded):
        assert one.domains == ("negative", "positive")
        assert one.dev_accuracy == 100
        assert one.predict(texts)[:2] == ["negative", "positive"]
        assert one.log_probs(texts).shape == (3, 2)
        assert np.exp(one.log_probs(texts)).sum(1) == pytest.approx(1)
        assert one.log_probs([]).shape == (0, 2)
    assert loaded.log_probs(texts) == pytest.approx(fitted.log_probs(texts), abs=1e-5)
    assert loaded.kind == fitted.kind
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".safetensors", ".txt"}


def test_ngram_judge(tmp_path: Path) -> None:
    fitted = Judge.fit(CORPORA, dev=DEV)
    assert fitted.predict(["the soup was not bad .", "the soup was not good ."]) == ["positive", "negative"]
    check(fitted, tmp_path)


def test_transformer_judge(base: Path, tmp_path: Path) -> None:
    training = Training(base=base, epochs=20, batch_size=8, lr=2e-3)
    steps = []
    fitted = Judge.fit(
        CORPORA, dev=DEV, kind="transformer", training=training, on_step=lambda step, of: steps.append((step, of))
    )
    assert steps[-1] == (140, 140)
    assert len(steps) == 140
    check(fitted, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["id2label"] == {"0": "negative", "1": "positive"}
    one, two = (
        Judge.from_pretrained(tmp_path).log_probs(texts) for texts in (["good"], ["good", "the food was bad ."])
    )
    assert one[0] == pytest.approx(two[0], abs=1e-5)  # padding has no say


def test_texts_that_do_not_fit_into_memory_are_judged_in_parts(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    fitted = Judge.fit(CORPORA, dev=DEV, kind="transformer", training=Training(base=base, steps=1))
    assert isinstance(fitted, TransformerJudge)
    texts = CORPORA["negative"]
    expected = fitted.log_probs(texts)
    narrow(fitted.model, 5)
    assert fitted.log_probs(texts) == pytest.approx(expected, abs=1e-5)
    assert "out of memory with 24 texts of 8 pieces at a time; going on with 12" in caplog.text


def test_without_a_base_a_transformer_judge_starts_from_the_embedded_encoder() -> None:
    fitted = Judge.fit(CORPORA, dev=DEV, kind="transformer", training=Training(epochs=1, batch_size=8))
    assert fitted.predict(["what a terrible place .", "we love it here ."]) == ["negative", "positive"]


def test_any_number_of_domains_and_lines_held_out_by_default(tmp_path: Path) -> None:
    corpora = CORPORA | {"question": [f"where is the {noun} {word} ?" for noun in NOUNS for word in ("now", "then")]}
    fitted = Judge.fit(corpora)
    assert fitted.card.dev_lines > 0
    assert fitted.card.train_lines + fitted.card.dev_lines == sum(map(len, corpora.values()))
    fitted.save_pretrained(tmp_path)
    assert Judge.from_pretrained(tmp_path).predict(["where is it ?", "awful ."]) == ["question", "negative"]


def test_case_can_be_a_matter_of_style() -> None:
    corpora = {"shout": [t.upper() for t in CORPORA["negative"]], "talk": CORPORA["negative"]}
    assert Judge.fit(corpora, normalised=False).predict(["THE FOOD", "the food"]) == ["shout", "talk"]


def test_errors_name_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="masker judge fit"):
        Judge.from_pretrained(tmp_path)
    with pytest.raises(MaskerError, match="known: ngram, transformer"):
        Judge.fit(CORPORA, kind="forest")
    with pytest.raises(MaskerError, match="two domains"):
        Judge.fit({"negative": CORPORA["negative"]})
    with pytest.raises(MaskerError, match="same names"):
        Judge.fit(CORPORA, dev={"negative": ["bad"]})
    with pytest.raises(MaskerError, match="'negative' has no lines"):
        Judge.fit(CORPORA | {"negative": []}, dev=DEV)
    with pytest.raises(MaskerError, match=r"^`lr` is 0 but must be above 0$"):
        Training(lr=0)


def test_pickles_are_not_read(base: Path, tmp_path: Path) -> None:
    import torch

    torch.save({}, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text((base / "config.json").read_text())
    with pytest.raises(MaskerError, match="cannot load a transformer"):
        Judge.fit(CORPORA, dev=DEV, kind="transformer", training=Training(base=tmp_path))
    (tmp_path / "judge.json").write_text("{}")
    with pytest.raises(MaskerError, match="pickles are not read"):
        Judge.from_pretrained(tmp_path)


def test_cli_fits_and_saves(tmp_path: Path) -> None:
    arguments = ["judge", "fit", "--out", str(tmp_path / "judge"), "--seed", "3"]
    for name, texts in CORPORA.items():
        (tmp_path / name).write_text("\n".join(texts))
        arguments += ["--domain", f"{name}={tmp_path / name}"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert Judge.from_pretrained(tmp_path / "judge").card.settings["seed"] == 3
    assert isinstance(CliRunner().invoke(app, [*arguments, "--domain", "negative"]).exception, MaskerError)


@pytest.mark.skipif(not DATA, reason="THE N-GRAM JUDGE IS NOT MEASURED: set MASKER_DATA to the folder that holds yelp/")
def test_ngram_judge_on_yelp(tmp_path: Path) -> None:
    yelp = Path(DATA or ".", "yelp")
    arguments = ["judge", "fit", "--judge-lines", "--out", str(tmp_path)]
    for i, name in enumerate(("negative", "positive")):
        arguments += ["--domain", f"{name}={yelp}/sentiment.train.{i}.gz", "--dev", f"{name}={yelp}/sentiment.dev.{i}"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    card = Judge.from_pretrained(tmp_path).card
    assert card.train_lines == 35_755 + 51_280  # a quarter of each file
    assert card.dev_accuracy >= 96.5
