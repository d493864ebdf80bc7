"""The wheel alone, in an environment of its own, does what the README's quick start shows."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT_MB = {"wheel": 46, "installed": 300}


class Installed:
    """An environment with the wheel and what it depends on, and nothing else."""

    def __init__(self, folder: Path) -> None:
        pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "-w", folder, ROOT], check=True)
        (self.wheel,) = folder.glob("*.whl")
        venv.create(folder / "venv", with_pip=True)
        self.bin = folder / "venv" / "bin"
        options = ["install", "--no-compile", "-c", ROOT / "constraints.txt", self.wheel]
        subprocess.run([self.bin / "python", *pip, *options], check=True)

    def run(self, *command: str, stdin: str = "") -> str:
        """From elsewhere, and without a home to write to."""
        env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
        command = (str(self.bin / command[0]), *command[1:])
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, cwd="/", check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("light"))


@pytest.mark.slow
def test_torch_is_not_there(installed: Installed) -> None:
    heavy = ("torch", "transformers", "sklearn", "scipy", "onnx")
    code = f"from importlib.util import find_spec; print([name for name in {heavy} if find_spec(name)])"
    assert installed.run("python", "-c", code) == "[]\n"


@pytest.mark.slow
def test_the_quick_start(installed: Installed) -> None:
    shown = re.findall(r'\$ echo "(.*?)" \| masker edit --to positive\n(.*)', (ROOT / "README.md").read_text("utf-8"))
    assert shown
    for source, text in shown:
        assert installed.run("masker", "edit", "--to", "positive", stdin=source + "\n") == text + "\n"
    assert "{+Worst+}" in installed.run("masker", "explain", "Best coffee in town!", "--to", "negative")
    assert "negative (from positive)" in installed.run("masker", "info")
    code = "from masker import Masker; print(Masker.from_pretrained().edit('the worst pizza .', to='positive').text)"
    assert installed.run("python", "-c", code) == "the best pizza .\n"


@pytest.mark.slow
def test_it_is_small(installed: Installed) -> None:
    assert installed.wheel.stat().st_size <= LIMIT_MB["wheel"] * 1e6
    (packages,) = installed.bin.parent.glob("lib/python*/site-packages")
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    files = [p for p in packages.rglob("*") if p.is_file() and not p.relative_to(packages).parts[0].startswith(tools)]
    assert sum(path.stat().st_size for path in files) <= LIMIT_MB["installed"] * 1e6


def test_tracked_files_are_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git repository")
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert sum(path.stat().st_size for path in files if path.is_file()) < 44 * 2**20
