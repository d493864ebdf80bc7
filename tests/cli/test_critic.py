import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy import lines

Cli = Callable[..., Any]


def write_ratings(path: Path) -> None:
    """A reader who likes all that is `great`, and nothing else."""
    with path.open("w") as file:
        for source in lines("terrible", "rude"):
            for text, value in ((source.replace("terrible", "great").replace("rude", "great"), 5), (source + " !", 2)):
                rating = {"style": value, "content": 5, "fluency": value}
                file.write(json.dumps({"to": "positive", "source": source, "text": text, **rating}) + "\n")


def test_what_is_refused(masker: Cli, here: Path, fitted: Path) -> None:
    write_ratings(here / "ratings.jsonl")
    assert (
        "the embedded model's own critic is not replaced; name a folder with --out" in masker("critic", "x.jsonl").err
    )
    assert "x.jsonl" in masker("critic", "x.jsonl", "--model", fitted).err
    (here / "bad.jsonl").write_text("[]\n")
    assert "bad.jsonl, line 1: not a JSON object" in masker("critic", "bad.jsonl", "--model", fitted).err
    options = ["--to", "positive", "--model", fitted, "--min-confidence", "0.5", "--method", "search"]
    told = masker("edit", "negative.txt", *options)
    assert told.code == 2
    assert "no critic for positive; teach it one (masker critic), or leave out --min-confidence" in told.err


@pytest.mark.slow
def test_a_critic_is_taught_and_used(masker: Cli, here: Path, fitted: Path, tmp_path: Path) -> None:
    import shutil

    model = shutil.copytree(fitted, here / "model")
    write_ratings(here / "ratings.jsonl")
    taught = masker("critic", "ratings.jsonl", "--model", model, "--epochs", "4", "--batch-size", "16", "--lr", "0.01")
    assert taught.code == 0, taught.err
    assert "of held-out pairs of good and bad rewrites apart" in taught.err
    command = ["edit", "negative.txt", "--to", "positive", "--model", model, "--method", "search"]
    found = [json.loads(line) for line in masker(*command, "--format", "jsonl").out.splitlines()]
    changed = [rewrite for rewrite in found if rewrite["edits"]]
    assert changed
    assert all(0 < rewrite["confidence"] < 1 for rewrite in changed)
    least = sorted(rewrite["confidence"] for rewrite in changed)[len(changed) // 2]
    command += ["--min-confidence", str(least), "--format", "jsonl"]
    sure = [json.loads(line) for line in masker(*command).out.splitlines()]
    assert 0 < sum(bool(rewrite["edits"]) for rewrite in sure) < len(changed)
    assert all(rewrite["confidence"] >= least - 0.01 for rewrite in sure if rewrite["edits"])
    assert any("a reader would accept" in rewrite.get("reason", "") for rewrite in sure)
