import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy import CORPORA

from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.memory import OutOfMemory
from masker.training import accuracy, padded
from masker.training.examples import EncodedCorpus, encode_corpora
from masker.training.fit import fit, pretrain
from masker.training.objective import Objective
from masker.training.padded import Result, train
from masker.training.progress import Progress
from masker.training.settings import TrainSettings

SHORT = TrainSettings(steps=40, batch_size=16, eval_every=10, patience=99)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def run(base: Path, tmp_path: Path) -> Callable[..., Result]:
    """Train a fresh tiny model, without saving it, in the folder of that name."""

    def go(name: str, settings: TrainSettings, *, domains: bool = True, resume: bool = False,
           report: Callable[[Progress], None] = lambda _: None) -> tuple[PaddedMLM, Result]:  # fmt: skip
        torch.manual_seed(0)
        model = PaddedMLM.from_pretrained(base)
        model.add_domains(list(CORPORA))
        texts = [(lines, model.vocabulary.domain(name)) for name, lines in CORPORA.items()]
        if not domains:  # texts of one to four lines, so that they hold different numbers of spans
            texts = [([" ".join(lines[k : k + 1 + k % 4]) for k in range(80)], token) for lines, token in texts]
        corpus = encode_corpora(model.vocabulary, texts, window=32)
        held = encode_corpora(model.vocabulary, [(lines[::8], token) for lines, token in texts], window=32)
        result = train(
            model, corpus, held, settings, domains=domains, out=tmp_path / name, resume=resume, report=report
        )
        return model, result

    return go  # type: ignore[return-value]


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", [fit, pretrain])
def test_it_learns(
    base: Path, tmp_path: Path, learn: Callable[..., PaddedMLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "EVALUATED_SPANS", 200)
    settings = TrainSettings(steps=120, batch_size=32, lr=3e-3, dropout=0.0, eval_every=4, patience=999)
    learn(CORPORA, tmp_path, base=base, settings=settings)
    first, *_, last = metrics(tmp_path)
    assert last["loss"] < 0.4 * first["loss"]
    assert last["held_out_loss"] < 0.4 * first["held_out_loss"]
    assert first["span_accuracy"] < 10
    assert last["span_accuracy"] > 30


def test_a_seed_decides_everything(base: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        fit(CORPORA, tmp_path / name, base=base, settings=replace(SHORT, steps=12, seed=seed))
        torch.rand(3)  # what happens outside does not matter
    assert weights(tmp_path / "a") == weights(tmp_path / "b") != weights(tmp_path / "c")


@pytest.mark.parametrize("domains", [True, False])
def test_accumulating_gives_the_loss_of_one_batch(run: Any, tmp_path: Path, domains: bool) -> None:
    """Also where the parts hold different numbers of spans."""
    settings = replace(SHORT, steps=6, eval_every=1, dropout=0.0, precision="fp32")
    whole, _ = run("whole", settings, domains=domains)
    parts, _ = run("parts", replace(settings, accumulate=8), domains=domains)
    for a, b in zip(metrics(tmp_path / "whole"), metrics(tmp_path / "parts"), strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-4)
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-4)


def test_a_batch_that_does_not_fit_into_memory_is_computed_in_parts(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(SHORT, steps=3, eval_every=1, dropout=0.0, precision="fp32", batch_size=24)
    run("whole", settings)
    forward = Objective.forward

    def small(self: Objective, masked: Any, whole: Any) -> Any:
        if len(masked.ids) > 9:
            raise OutOfMemory("CUDA out of memory")
        return forward(self, masked, whole)

    monkeypatch.setattr(Objective, "forward", small)
    run("parts", settings)
    for a, b in zip(metrics(tmp_path / "whole"), metrics(tmp_path / "parts"), strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-4)
    said = [record.getMessage() for record in caplog.records if "memory" in record.getMessage()]
    assert said == [
        "masker: warning: out of memory with 24 rows of a batch at a time; going on with 12",
        "masker: warning: out of memory with 12 rows of a batch at a time; going on with 6",
    ]
    monkeypatch.setattr(Objective, "forward", lambda *_: (_ for _ in ()).throw(OutOfMemory("CUDA out of memory")))
    with pytest.raises(MaskerError, match=r"^the memory of the GPU is too small for one of the rows of a batch"):
        run("none", settings)


def test_every_epoch_shows_every_text(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    real = EncodedCorpus.draw

    def draw(self: EncodedCorpus, rows: torch.Tensor, *arguments: Any, **kw: Any) -> Any:
        if len(rows) == 16:  # not an evaluation
            shown.extend(rows.tolist())
        return real(self, rows, *arguments, **kw)

    monkeypatch.setattr(EncodedCorpus, "draw", draw)
    run("x", TrainSettings(epochs=2, batch_size=16, eval_every=100))
    assert len(shown) == 320
    assert sorted(shown[:160]) == sorted(shown[160:]) == list(range(160))
    assert shown[:160] != shown[160:]


# -- evaluating, stopping, keeping the best ----------------------------------------------------------------------------


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, torch.Tensor]]]:
    """Span accuracies 10, 30, 20, 20, 15, ... and the weights that they were measured with."""
    seen: list[dict[str, torch.Tensor]] = []

    def measure(model: PaddedMLM, *_: Any, **__: Any) -> tuple[float, float]:
        assert not model.training
        seen.append({name: p.detach().clone() for name, p in model.named_parameters()})
        return ([10.0, 30.0, 20.0, 20.0, 15.0] + [1.0] * 99)[len(seen) - 1], 1.0

    monkeypatch.setattr(padded, "span_accuracy", measure)
    return seen


def test_it_stops_early_and_keeps_the_best(run: Any, scripted: list[dict[str, torch.Tensor]]) -> None:
    model, result = run("x", replace(SHORT, steps=100, eval_every=5, patience=3))
    assert (result.steps, result.best_step, result.span_accuracy, result.stopped_early) == (25, 10, 30.0, True)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, scripted[1][name][: len(parameter)])  # there is more room while training


def test_it_runs_to_the_end_and_keeps_the_best(run: Any, scripted: list[dict[str, torch.Tensor]]) -> None:
    model, result = run("x", replace(SHORT, steps=23, eval_every=5, patience=99))
    assert (result.steps, result.best_step, result.stopped_early) == (23, 10, False)
    assert len(scripted) == 5  # at 5, 10, 15, 20 and at the end
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, scripted[1][name][: len(parameter)])  # there is more room while training


# -- what is written ---------------------------------------------------------------------------------------------------


def test_metrics_and_events(run: Any, tmp_path: Path) -> None:
    reports: list[Progress] = []
    run("x", replace(SHORT, steps=25), report=reports.append)
    lines = metrics(tmp_path / "x")
    assert [line["step"] for line in lines] == [10, 20, 25]
    for line in lines:
        assert {"step", "loss", "span_accuracy", "held_out_loss", "tokens_per_second", "lr", "seconds"} <= set(line)
        assert all(math.isfinite(value) for value in line.values())
        assert line["tokens_per_second"] > 0
    (events,) = (tmp_path / "x" / "tensorboard").iterdir()
    assert events.name.startswith("events.out.tfevents")
    assert b"span_accuracy" in events.read_bytes()
    assert [(r.step, r.steps, r.evaluated) for r in reports] == [(10, 25, True), (20, 25, True), (25, 25, True)]
    assert [r.loss for r in reports] == pytest.approx([line["loss"] for line in lines], abs=1e-5)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_it(run: Any, tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match=r"the loss is nan after step \d+; lower `lr`, it is 1e\+30"):
        run("x", replace(SHORT, lr=1e30, clip=1e30))


def test_nothing_to_train_on_or_to_measure_with(base: Path, tmp_path: Path) -> None:
    model = PaddedMLM.from_pretrained(base)
    some, none = (encode_corpora(model.vocabulary, [(lines, 0)], window=32) for lines in (CORPORA["negative"], [" "]))
    for corpus, held in ((some, none), (none, some)):
        with pytest.raises(MaskerError, match="texts to train on"):
            train(model, corpus, held, SHORT, domains=False, out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU can do fp16")
def test_fp16_needs_a_gpu(run: Any) -> None:
    with pytest.raises(MaskerError, match="cannot train with `precision` fp16"):
        run("x", replace(SHORT, precision="fp16"))


# -- resuming ----------------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("domains", [True, False])
def test_a_run_stopped_again_and_again_ends_as_an_unbroken_one(run: Any, tmp_path: Path, domains: bool) -> None:
    whole, result = run("whole", SHORT, domains=domains)
    for k, stop_at in enumerate((12, 20, 33)):  # between checkpoints, and at one

        def stop(progress: Progress, at: int = stop_at) -> None:
            if progress.step >= at:
                raise Stop

        with pytest.raises(Stop):
            run("broken", SHORT, domains=domains, resume=k > 0, report=stop)
        torch.rand(5)
    broken, again = run("broken", replace(SHORT, workers=2), domains=domains, resume=True)
    assert (again.steps, again.best_step, again.span_accuracy) == (result.steps, result.best_step, result.span_accuracy)
    for p, q in zip(whole.parameters(), broken.parameters(), strict=True):
        assert torch.equal(p, q)
    shared = [
        {k: m[k] for k in ("step", "loss", "span_accuracy", "held_out_loss")} for m in metrics(tmp_path / "broken")
    ]
    assert shared == [{k: m[k] for k in shared[0]} for m in metrics(tmp_path / "whole")]


def test_resuming_with_something_else_is_refused(base: Path, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        raise Stop

    with pytest.raises(Stop):
        fit(CORPORA, tmp_path, base=base, settings=SHORT, report=stop)
    other = {**CORPORA, "positive": [*CORPORA["positive"][:-1], "the food was nice ."]}
    swapped = {"negative": CORPORA["positive"], "positive": CORPORA["negative"]}
    for corpora, options, named in (
        (other, {}, "data"),
        (swapped, {}, "data"),
        (CORPORA, {"settings": replace(SHORT, lr=1e-3)}, "lr"),
        (CORPORA, {"settings": replace(SHORT, steps=50)}, "steps"),
        (CORPORA, {"n_p": 3}, "n_p"),
        (CORPORA, {"size": "tiny"}, "model"),
        (CORPORA, {"window": 16}, "window"),
    ):
        with pytest.raises(MaskerError, match=f"other .*{named}.*; resume it with the same"):
            fit(corpora, tmp_path, resume=True, **{"base": base, "settings": SHORT, **options})  # type: ignore[arg-type]
    fit(CORPORA, tmp_path, base=base, settings=SHORT, resume=True)
    with pytest.raises(MaskerError, match="no checkpoint to resume"):
        fit(CORPORA, tmp_path, base=base, settings=SHORT, resume=True)
