"""Training in several processes, started as users start them."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from toy import CORPORA

from masker.cli import main

STEPS = 30


def test_two_processes_have_the_loss_curve_of_one(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step, with the same global batch, through `accelerate launch`; and so they end with the same weights."""
    monkeypatch.chdir(tmp_path)
    for name, texts in CORPORA.items():
        (tmp_path / f"{name}.txt").write_text("".join(text + "\n" for text in texts))
    arguments = ["fit", "--base", str(base), "--domain", "negative=negative.txt", "--domain", "positive=positive.txt"]
    arguments += [
        "--steps",
        str(STEPS),
        "--eval-every",
        "1",
        "--patience",
        "99",
        "--batch-size",
        "16",
        "--dropout",
        "0",
    ]
    launch = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--cpu", "--num_processes", "2"]
    command = [*launch, "--main_process_port", "0", "-m", "masker", *arguments, "--out", "two"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
    monkeypatch.setattr(sys, "argv", ["masker", *arguments, "--out", "one"])
    with suppress(SystemExit):
        main()
    one, two = (
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    )
    assert [m["step"] for m in two] == [m["step"] for m in one] == list(range(1, STEPS + 1))
    for name in ("loss", "held_out_loss", "lr"):
        assert [m[name] for m in two] == pytest.approx([m[name] for m in one], abs=1e-3), name
    assert two[-1]["loss"] < two[0]["loss"] - 0.1, "it has learnt nothing, so that the curve tells nothing"
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("one", "two")]
    for name, tensor in weights[0].items():
        assert abs(tensor - weights[1][name]).max() < 0.02, name
