"""docs/your-own-styles.md: every command of it is typed, on small data, with a small model."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "your-own-styles.md"
WORDS = ["page", "article", "comment", "idea", "edit", "source", "name", "point", "talk", "list"]
SMALL = " --size tiny --steps 80 --batch-size 32 --lr 2e-3"  # so that it takes a minute


def lines(kind: str) -> list[str]:
    draw = random.Random(kind)
    ends = {"rude": ["is stupid", "is crap , idiot", "sucks"], "civil": ["is fine", "is good , thanks", "helps"]}[kind]
    return [f"your {draw.choice(WORDS)} {draw.choice(WORDS)} {draw.choice(ends)} ." for _ in range(420)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    for kind in ("rude", "civil"):
        (folder / f"{kind}.txt").write_text("\n".join(lines(kind)) + "\n")
    (folder / "comments.csv").write_text("id,comment\n1,your page sucks .\n")
    (folder / "page.md").write_text("# A page\n\nyour `idea` sucks .\n")
    (folder / "bin").mkdir()
    masker = folder / "bin" / "masker"
    masker.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m masker "$@"\n')
    masker.chmod(0o755)
    return folder


@pytest.mark.slow
def test_every_command_of_the_tutorial(place: Path) -> None:
    blocks = re.findall(r"```(sh|python)\n(.*?)```", TUTORIAL.read_text(), re.S)
    assert len(blocks) == 8
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for language, block in blocks:
        block = block.replace("--out mymodel --student", f"--out mymodel --student{SMALL}")
        block = block.replace("head -n 200", "head -n 20").replace("tail -n +201", "tail -n +21")
        command = ["sh", "-e", "-c", block] if language == "sh" else [sys.executable, "-c", block]
        run = subprocess.run(command, cwd=place, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert run.returncode == 0, f"{block}\n{run.stdout}\n{run.stderr}"
    assert (place / "mymodel" / "report.html").exists()
    assert (place / "mymodel" / "student").is_dir()
    assert len((place / "rewritten.jsonl").read_text().splitlines()) == 20
    assert (place / "new.csv").read_text().startswith("id,comment\n1,")
    assert "`idea`" in (place / "new.md").read_text()
