import json
import multiprocessing
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy import CORPORA

from masker.api import Masker
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM, Settings, embeddings
from masker.training.fit import SIZES, fit, prepare, pretrain
from masker.training.settings import TrainSettings

QUICK = TrainSettings(steps=2, batch_size=8)
THREE = {**CORPORA, "neutral": [line.replace("terrible", "new") for line in CORPORA["negative"]]}


def test_what_is_returned_is_what_is_saved(base: Path, tmp_path: Path) -> None:
    model = fit(CORPORA, tmp_path, base=base, settings=QUICK)
    again = PaddedMLM.from_pretrained(tmp_path)
    assert again.settings == model.settings
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(p, q)
    a, b = (Masker(m).edit("the food was terrible .", to="positive", min_score=-2) for m in (model, again))
    assert a == b


def test_how_it_was_made_is_remembered(base: Path, tmp_path: Path) -> None:
    pretrain({"plain": CORPORA["negative"]}, tmp_path / "plain", base=base, settings=QUICK, licences={"plain": "CC0"})
    model = fit(CORPORA, tmp_path / "m", base=tmp_path / "plain", settings=QUICK, command="masker fit ...")
    first, second = model.settings.made
    assert (first["stage"], first["base"]) == ("pretrain", str(base))
    assert first["data"][0]["licence"] == "CC0"
    assert (second["stage"], second["command"]) == ("fit", "masker fit ...")
    words = sum(len(line.split()) for line in CORPORA["negative"])
    assert second["data"][0] == {"name": "negative", "lines": 80, "words": words, "licence": "not stated"}
    assert second["settings"]["batch_size"] == 8
    assert 0 <= second["scores"]["span_accuracy"] <= 100
    assert set(second["versions"]) == {"torch", "transformers"}


def test_domains_and_their_counterparts(base: Path, tmp_path: Path) -> None:
    two = fit(CORPORA, tmp_path / "two", base=base, settings=QUICK)
    assert two.settings.domains == {"negative": "positive", "positive": "negative"}
    three = fit(THREE, tmp_path / "three", base=base, settings=QUICK, counterparts={"neutral": "positive"})
    assert three.settings.domains == {"negative": None, "positive": None, "neutral": "positive"}
    assert len({three.vocabulary.domain(name) for name in THREE}) == 3
    one = fit({"formal": CORPORA["positive"]}, tmp_path / "one", base=tmp_path / "three", settings=QUICK)
    assert one.settings.domains == {"formal": None}  # what the base was fitted to is forgotten
    for wrong, named in (({"positive": "x"}, "unknown domain 'x'"), ({"positive": "positive"}, "own counterpart")):
        with pytest.raises(MaskerError, match=named):
            fit(CORPORA, tmp_path / "x", base=base, settings=QUICK, counterparts=wrong)


def test_long_sentences_may_have_more_edits(base: Path, tmp_path: Path) -> None:
    longer = {name: [4 * "and so on " + line for line in lines] for name, lines in CORPORA.items()}
    three = {"max_edits": 3}
    for corpora, knobs in ((CORPORA, {}), (longer, {"negative": three, "positive": three})):
        assert fit(corpora, tmp_path / str(len(knobs)), base=base, settings=QUICK).settings.search == knobs
    fused = {**longer, "negative": [5 * "and so on. " + line for line in CORPORA["negative"]]}  # edited as a whole
    assert fit(fused, tmp_path / "whole", base=base, settings=QUICK).settings.search == {
        "negative": three,
        "positive": three,
    }


def test_pieces_and_names_are_counted(base: Path, tmp_path: Path) -> None:
    corpora = {name: [f"Now Ann says {line}" for line in lines] for name, lines in CORPORA.items()}
    model = fit(corpora, tmp_path, base=base, settings=QUICK)
    assert model.settings.names == ["Ann"]
    odds = model.odds("positive", "negative")
    assert odds is not None
    (great,), (was,) = (model.vocabulary.read(word).pieces for word in ("great", "was"))
    assert odds[0, great] > 0 > odds[1, great]
    assert abs(odds[0, was]) < odds[0, great]
    assert Masker.from_pretrained(tmp_path).model.vocabulary.names == {"ann": "Ann"}


def test_domains_are_told_apart_by_their_token(base: Path, tmp_path: Path) -> None:
    """The same masked text, another domain, another answer."""
    settings = TrainSettings(steps=300, batch_size=32, lr=3e-3, dropout=0.0, eval_every=300)
    masker = Masker(fit(CORPORA, tmp_path, base=base, settings=settings))
    for to, words in (("positive", {"great", "good"}), ("negative", {"terrible", "rude"})):
        spans = masker.explain("the food was nice .", to=to).spans
        (row,) = [s for s in spans if (s.i, s.words) == (3, 1)]
        assert row.infill in words


def test_a_fitted_base_keeps_its_domain_tokens(base: Path, tmp_path: Path) -> None:
    first = fit(CORPORA, tmp_path / "a", base=base, settings=QUICK)
    second = fit(CORPORA, tmp_path / "b", base=tmp_path / "a", settings=QUICK)
    assert len(first.vocabulary) == len(second.vocabulary)
    assert first.vocabulary.domain("negative") == second.vocabulary.domain("negative")


def test_embeddings_may_stay_as_they_are(base: Path, tmp_path: Path) -> None:
    """All but those of new domains, which learn."""
    known = fit(CORPORA, tmp_path / "known", base=base, settings=QUICK)
    keeping = replace(QUICK, keep_embeddings=True)
    model = fit(THREE, tmp_path / "more", base=tmp_path / "known", settings=keeping)
    pieces = len(known.vocabulary)
    before, after = (dict(embeddings(m.mlm).named_parameters()) for m in (known, model))
    for name, weight in before.items():
        assert torch.equal(weight, after[name][: len(weight)]), name
    assert len(model.vocabulary) == pieces + 1
    fresh = fit(THREE, tmp_path / "first", base=tmp_path / "known", settings=replace(keeping, steps=1))
    name = "word_embeddings.weight"
    assert not torch.equal(after[name][pieces:], dict(embeddings(fresh.mlm).named_parameters())[name][pieces:])
    assert not torch.equal(known.mlm.base_model.encoder.layer[0].output.dense.weight,
                           model.mlm.base_model.encoder.layer[0].output.dense.weight)  # fmt: skip


def test_out_may_be_the_base(base: Path, tmp_path: Path) -> None:
    fit(CORPORA, tmp_path, base=base, settings=QUICK)
    PaddedMLM.from_pretrained(tmp_path).save_pretrained(tmp_path, packed=True)
    model = fit(CORPORA, tmp_path, base=tmp_path, settings=QUICK)
    again = PaddedMLM.from_pretrained(tmp_path)
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(p, q)


def test_few_texts_are_refused_before_training(base: Path, tmp_path: Path) -> None:
    for corpora in (
        {"a": ["one line"], "b": CORPORA["negative"]},
        {"a": ["x", "x"], "b": CORPORA["negative"]},
        {"a": []},
    ):
        with pytest.raises(MaskerError, match=r"domain 'a' has \d different lines"):
            fit(corpora, tmp_path / "x", base=base, settings=QUICK)
    for corpora in ({}, {"a": []}, {"a": ["x", "x"]}, {"a": ["x"], "b": []}):
        with pytest.raises(MaskerError, match="different lines"):
            pretrain(corpora, tmp_path / "x", base=base, settings=QUICK)
    with pytest.raises(MaskerError, match="train on"):
        fit({}, tmp_path / "x", base=base, settings=QUICK)
    with pytest.raises(MaskerError, match="unknown corpus 'c'; known: a, b"):
        fit({"a": [], "b": []}, tmp_path / "x", base=base, settings=QUICK, licences={"c": "CC0"})
    assert not (tmp_path / "x").exists()


def test_texts_longer_than_the_window(base: Path, tmp_path: Path) -> None:
    long = {name: [" ".join(lines[k : k + 20]) for k in range(60)] for name, lines in CORPORA.items()}
    for learn, name in ((fit, "fit"), (pretrain, "plain")):
        model = learn(long, tmp_path / name, base=base, settings=QUICK)
        read = [model.vocabulary.read(text).pieces for lines in long.values() for text in lines]
        assert min(map(len, read)) > model.settings.window
        saved = PaddedMLM.from_pretrained(tmp_path / name)
        assert saved.settings.window == model.settings.window
        assert all(longest <= saved.settings.window for longest in saved.settings.longest.values())


# -- where training starts ---------------------------------------------------------------------------------------------


def start(base: Path, **options: Any) -> PaddedMLM:
    return prepare(base, **{"size": None, "n_p": None, "window": None, "seed": 0, **options})


@pytest.mark.parametrize("spans", [True, False])
@pytest.mark.parametrize("n_p", [1, 4, 9])
def test_windows_always_fit_the_positions(base: Path, spans: bool, n_p: int) -> None:
    """The longest text, with all its masks, is no longer than the model can see."""
    from masker.training.examples import encode_corpora

    with pytest.raises(MaskerError, match="room for") as error:
        start(base, n_p=n_p, window=10_000, spans=spans)
    room = int(str(error.value).split("room for ")[1].split()[0])
    model = start(base, n_p=n_p, window=room, spans=spans)
    corpus = encode_corpora(model.vocabulary, [(["the food was rude . " * 200], 0)], window=room)
    longest = 0
    for seed in range(200):
        generator = torch.Generator().manual_seed(seed)
        masked = corpus.draw(torch.arange(1), model.frame, generator, domains=not spans)
        longest = max(longest, masked.ids.shape[1])
    assert longest <= model.max_length
    assert longest > 0.75 * model.max_length  # and not much is wasted


def test_from_scratch(base: Path) -> None:
    for size in ("tiny", "mini"):
        model = start(base, size=size)
        layers, width, heads = SIZES[size]
        config = model.mlm.config
        assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (layers, width, heads)
        assert config.vocab_size == len(model.vocabulary)
    one, two, other = (start(base, size="tiny", seed=s).mlm.get_input_embeddings().weight for s in (3, 3, 4))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    with pytest.raises(MaskerError, match="unknown size 'large'; known: tiny"):
        start(base, size="large")


def test_n_p_and_window(base: Path) -> None:
    assert start(base).settings == Settings(n_p=4, window=32)
    assert start(base, n_p=2, window=16).settings == Settings(n_p=2, window=16)
    for wrong in ({"n_p": 0}, {"n_p": -1}, {"window": 0}, {"window": 15}, {"n_p": 100}):
        with pytest.raises(MaskerError, match="need `n_p` from 1 to 64 and `window` from 4 times `n_p` to 100,000"):
            start(base, **wrong)


# -- a real kill -------------------------------------------------------------------------------------------------------

LONG = TrainSettings(steps=60, batch_size=16, eval_every=4, patience=99)


def fit_in_a_process(base: Path, out: Path, resume: bool) -> None:
    torch.set_num_threads(1)
    fit(CORPORA, out, base=base, settings=LONG, resume=resume)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_as_an_unbroken_one(base: Path, tmp_path: Path) -> None:
    """SIGKILL, several times over: no cleaning up, no goodbye."""
    context = multiprocessing.get_context("forkserver")  # imports torch once, and forks from there
    context.set_forkserver_preload(["masker.training.fit", "transformers", "accelerate", "tensorboard"])
    rng, kills, out = random.Random(7), 0, tmp_path / "killed"
    for _ in range(40):
        resume = bool(list(out.glob("checkpoints/step-*")))
        process = context.Process(target=fit_in_a_process, args=(base, out, resume))
        process.start()
        began, enough = time.monotonic(), len(_lines(out)) + rng.randint(1, 2)
        while kills < 4 and process.is_alive() and time.monotonic() - began < 60:
            if len(_lines(out)) >= enough:  # it is at work: now any moment will do
                time.sleep(rng.random() * 0.15)
                process.kill()
                kills += 1
                break
            time.sleep(0.005)
        process.join(60)
        if process.exitcode == 0:
            break
        assert process.exitcode == -9, "it failed by itself"
    assert kills >= 3
    assert process.exitcode == 0
    fit(CORPORA, tmp_path / "unbroken", base=base, settings=LONG)
    killed, unbroken = (tmp_path / name / "model.safetensors" for name in ("killed", "unbroken"))
    assert killed.read_bytes() == unbroken.read_bytes()
    assert [json.loads(line)["step"] for line in _lines(out)] == list(range(4, 61, 4))
    assert not [p.name for p in out.iterdir() if p.name.startswith(".") or p.name == "checkpoints"]


def _lines(out: Path) -> list[str]:
    path = out / "metrics.jsonl"
    return path.read_text().splitlines() if path.is_file() else []
