"""The Dockerfile, read and run step by step in a folder that stands for the image: no engine is needed."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PORT = "8000"


@dataclass
class Image:
    """What a Dockerfile says: steps in order, and what the last stage runs."""

    steps: list[tuple[str, str]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    health: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, text: str) -> "Image":
        image = cls()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        for line in filter(None, re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n")):
            name, _, rest = line.partition(" ")
            if name == "ENV":
                image.env |= dict(part.split("=", 1) for part in shlex.split(rest))
            elif name == "USER":
                image.user = rest.partition(":")[0]
            elif name == "HEALTHCHECK":
                image.health = json.loads(rest.partition("CMD ")[2])
            elif name in ("ENTRYPOINT", "CMD"):
                image.command += json.loads(rest)
            elif name in ("WORKDIR", "COPY", "RUN"):
                image.steps.append((name, rest))
            else:
                assert name in ("FROM", "EXPOSE"), line
        return image


IMAGE = Image.read((ROOT / "Dockerfile").read_text("utf-8"))


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file out: the last line that matches decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        pattern = line.removeprefix("!").removeprefix("**/")
        parts = path.split("/")
        if (
            line
            and not line.startswith("#")
            and any(fnmatch(part, pattern) for part in (parts if "**" in line else parts[:1]))
        ):
            out = not line.startswith("!")
    return out


def test_it_runs_as_nobody_in_particular_and_is_asked_how_it_is() -> None:
    assert int(IMAGE.user) > 0
    assert IMAGE.command[:2] == ["masker", "serve"]
    assert f"127.0.0.1:{PORT}/healthz" in IMAGE.health[-1]
    assert IMAGE.command[IMAGE.command.index("--port") + 1] == PORT


def test_what_is_copied_is_not_ignored_and_nothing_else_is_sent() -> None:
    copied = [
        name for step, rest in IMAGE.steps if step == "COPY" and "--from" not in rest for name in rest.split()[:-1]
    ]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert not ignored(name)
    for name in (
        ".git",
        "tests",
        "experiments",
        ".venv",
        "docs",
        "masker/__pycache__/x.pyc",
        "masker/core/__pycache__",
    ):
        assert ignored(name)
    assert not ignored("masker/model/embedded/masker.json")


def is_open(path: Path) -> bool:
    """Whether any user may run it, who need not be the one that runs the tests."""
    return path.is_file() and all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))


def pythons() -> Iterator[Path]:
    """Interpreters that can make environments."""
    for path in (Path(sys.executable).resolve(), Path("/usr/local/bin/python3"), Path("/usr/bin/python3")):
        code = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
        if path.is_file() and subprocess.run([path, "-c", code], capture_output=True).returncode == 0:
            yield path.resolve()


@cache
def python() -> Path:
    return next(filter(is_open, pythons()), Path(sys.executable).resolve())


class Built:
    """The steps, done under a folder in the place of `/`; what they name by absolute paths is there."""

    def __init__(self, folder: Path) -> None:
        self.root, self.work = folder, folder
        folder.chmod(0o755)
        (folder / "python").mkdir()
        (folder / "python" / "python").symlink_to(python())
        for name, rest in IMAGE.steps:
            if name == "WORKDIR":
                self.work = folder / rest.strip("/")
                self.work.mkdir(parents=True)
            elif name == "COPY" and "--from" not in rest:
                *sources, target = rest.split()
                for source in sources:
                    self._copy(source, self.work / target)
            elif name == "RUN":
                subprocess.run(["sh", "-c", self.placed(rest)], cwd=self.work, env=self.env(plain=True), check=True)
        shutil.rmtree(folder / "src")  # the second stage has none of it

    def _copy(self, source: str, target: Path) -> None:
        path = ROOT / source
        if path.is_dir():
            listed = subprocess.run(
                ["git", "ls-files", "-co", "--exclude-standard", source], cwd=ROOT, capture_output=True
            )
            for name in listed.stdout.decode().splitlines():
                if not ignored(name):
                    (self.work / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, self.work / name)
        else:
            shutil.copy(path, target)

    def placed(self, text: str) -> str:
        return re.sub(r"(?<![\w.])/opt/masker", f"{self.root}/opt/masker", text)

    def env(self, *, plain: bool = False) -> dict[str, str]:
        path = f"{self.root / 'python'}:/usr/local/bin:/usr/bin:/bin"
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
        if plain:
            return {"PATH": path, "HOME": str(self.root), **kept}
        return {name: self.placed(value).replace("$PATH", path) for name, value in IMAGE.env.items()}


@pytest.mark.slow
def test_the_steps_make_a_service_that_is_healthy_answers_and_ends() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git repository")
    root = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    try:
        check_service(Built(root))
    finally:
        shutil.rmtree(root)


def check_service(built: Built) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    here = {PORT: port, "0.0.0.0": "127.0.0.1"}
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0 and is_open(python()):
        as_user = {"user": int(IMAGE.user), "group": int(IMAGE.user), "extra_groups": []}
    env = {**built.env(), "MASKER_TOKEN": "secret"}
    binary = built.root / "opt" / "masker" / "bin"

    def run(command: list[str]) -> list[str]:
        return [
            str(binary / command[0]),
            *(here.get(part, part.replace(f":{PORT}/", f":{port}/")) for part in command[1:]),
        ]

    service = subprocess.Popen(run(IMAGE.command), env=env, cwd="/", **as_user)
    try:
        until = time.monotonic() + 240
        healthy = 1
        while healthy and time.monotonic() < until and service.poll() is None:
            time.sleep(0.5)
            healthy = subprocess.run(
                run(IMAGE.health), env=env, cwd="/", stderr=subprocess.DEVNULL, **as_user
            ).returncode
        assert healthy == 0
        body = json.dumps({"text": "The soup was bland.", "to": "positive", "method": "fast"}).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer secret"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/edit", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert "bland" not in json.load(answer)["text"]
        listed = subprocess.check_output([binary / "python", "-m", "pip", "list"], text=True)
        assert not re.search(r"^(torch|transformers) ", listed, re.MULTILINE)
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) in (0, -signal.SIGTERM, 143)
    finally:
        service.kill()
        service.wait()
