import pytest
from conftest import make_model

from masker.training.pace import seconds_for
from masker.training.settings import TrainSettings
from masker.training.suited import FEWEST, MOST_ON_CPU, for_device, suited


def steps(settings: TrainSettings, texts: int) -> float:
    return settings.steps or settings.epochs * (texts // settings.batch_size)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize(
    ("texts", "batch", "epochs"), [(850, 32, 10.0), (2550, 32, 4.0), (6460, 64, 3.0), (26_000, 64, 3.0)]
)
def test_few_texts_are_seen_more_often_in_smaller_batches(texts: int, batch: int, epochs: float, gpu: bool) -> None:
    found = suited(TrainSettings(), texts, smallest=texts // 2, gpu=gpu)
    assert (found.batch_size, found.epochs, found.steps) == (batch, epochs, None)
    assert steps(found, texts) >= FEWEST or found.epochs == 10


def test_many_texts_make_large_batches_on_a_gpu_and_a_run_of_hours_on_a_cpu() -> None:
    assert suited(TrainSettings(), 600_000, smallest=300_000, gpu=True).batch_size == 2048
    found = suited(TrainSettings(), 600_000, smallest=300_000, gpu=False)
    assert (found.batch_size, found.steps) == (64, MOST_ON_CPU)
    assert suited(TrainSettings(), 600_000, smallest=300_000, gpu=True).lr > found.lr


def test_what_was_chosen_stays_so() -> None:
    chosen = {"epochs": 2.0, "batch_size": 16, "lr": 1e-3, "patience": 3, "held_out": 0.3}
    settings = TrainSettings(**chosen)
    assert suited(settings, 850, smallest=425, chosen=chosen, gpu=True) == settings
    assert suited(settings, 10**7, smallest=425, chosen=chosen, gpu=False) == settings
    assert suited(TrainSettings(steps=7), 850, smallest=425, chosen={"steps"}, gpu=False).steps == 7
    assert suited(TrainSettings(accumulate=4), 850, smallest=425, chosen={"accumulate"}, gpu=True).batch_size == 32


def test_so_few_lines_that_more_of_them_are_measured() -> None:
    assert [suited(TrainSettings(), 2 * n, smallest=n, gpu=False).held_out for n in (425, 1250, 50_000)] == [
        0.08, 0.04, 0.02
    ]  # fmt: skip
    assert suited(TrainSettings(), 850, smallest=425, gpu=False).patience == 10
    assert suited(TrainSettings(), 26_000, smallest=13_000, gpu=False).patience == 5


def test_a_run_of_twice_the_steps_takes_about_twice_as_long() -> None:
    model = make_model("bert")
    short, long = (seconds_for(model, TrainSettings(steps=n, batch_size=8), 100, 12.0) for n in (10, 1000))
    assert 0 < short < long
    assert all(parameter.grad is None for parameter in model.parameters())


def test_pretraining_follows_the_device_alone() -> None:
    assert for_device(TrainSettings(), 850, gpu=False) == TrainSettings()
    assert for_device(TrainSettings(epochs=1.0), 10**7, gpu=True).batch_size == 2048
    assert for_device(TrainSettings(), 10**7, chosen={"batch_size", "lr"}, gpu=True) == TrainSettings()
