"""The wheel in an environment of its own, as a user has it: for tests that must not see the source tree."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def build(folder: Path) -> Path:
    """The wheel of this source tree, in that folder."""
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def lowest(folder: Path) -> Path:
    """The lower bounds of pyproject.toml as a constraints file."""
    bounds = subprocess.run([sys.executable, ROOT / ".ci" / "lowest.py"], check=True, capture_output=True, text=True)
    (folder / "lowest.txt").write_text(bounds.stdout, "utf-8")
    return folder / "lowest.txt"


@cache
def interpreter(version: str) -> str | None:
    """A Python of that version that can make environments: on the path, or where pyenv puts it."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for found in (*map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python"))), f"python{version}"):
        code = f"import sys, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
        try:
            if subprocess.run([found, "-c", code], capture_output=True, check=False).returncode == 0:
                return found
        except OSError:
            continue
    return None


class Installed:
    """An environment with the wheel, an extra of it perhaps, and what these depend on; nothing else."""

    def __init__(
        self,
        folder: Path,
        wheel: Path,
        *,
        extra: str = "",
        python: str = sys.executable,
        constraints: Path | None = ROOT / "constraints.txt",
    ) -> None:
        self.wheel = wheel
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        self.bin = folder / "venv" / "bin"
        options: list[str | Path] = ["install", "--no-compile", f"{wheel}[{extra}]" if extra else wheel]
        if constraints:
            options += ["-c", constraints]
        subprocess.run([self.bin / "python", *PIP, *options], check=True)

    def run(self, *command: str, stdin: str = "", cwd: str | Path = "/", status: int = 0) -> str:
        """What it prints: from elsewhere, and without a home that could be written to."""
        done = subprocess.run(
            self._words(command), input=stdin, capture_output=True, text=True, env=self._env(), cwd=cwd, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    @contextmanager
    def running(self, *command: str) -> Iterator[IO[str]]:
        """What a command that goes on says on standard error; it is ended afterwards."""
        words, env = self._words(command), self._env()
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=env, cwd="/") as process:
            try:
                assert process.stderr is not None
                yield process.stderr
            finally:
                process.terminate()

    def _words(self, command: Sequence[str]) -> list[str]:
        return [str(self.bin / command[0]), *command[1:]]

    def _env(self) -> dict[str, str]:
        env = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
        return env | {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
