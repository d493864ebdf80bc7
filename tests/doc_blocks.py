"""The code blocks of the documents: found, run in order in a folder of their own, and compared with what is printed.

    ```sh         commands; a ```text block right behind is what they print (standard output)
    ```console    `$ command`, and below it what it prints
    ```python     all of a page in one namespace; a ```text block right behind is what it prints
    ```json       (and yaml, toml) is read, but not compared

`...` stands for what differs from run to run. A comment before a block says more of it:

    <!-- file: review.md -->    the block is written to that file; a text inside of the comment is, too, but not shown
    <!-- setup: COMMAND -->     what is run before, without being shown
    <!-- exit: 1 -->            the exit code of the command
    <!-- not run: REASON -->    REASON is one of those in CONTRIBUTING.md
    <!-- not run: REASON; instead: COMMAND -->    what is run in its place, so that later blocks find what they need
"""

import contextlib
import doctest
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUN = ("sh", "console", "python")
READ = ("json", "yaml", "toml")
SHOWN = ("", "text", "markdown", "csv", "dockerfile", "html", "bibtex")  # nothing to be run
_COMMENT = re.compile(r"<!--\s*(file|exit|setup|not run):\s*([^\n]*?)\s*(?:-->|\n(.*?)-->)", re.DOTALL)
_FENCE = r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)[ ]*$"
_PART = re.compile(rf"(?P<comment><!--.*?-->)|{_FENCE}", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)
    expected: str | None = None

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        return self.marks["not run"].partition("; instead: ")[0] if "not run" in self.marks else None

    @property
    def instead(self) -> str:
        return self.marks.get("not run", "").partition("; instead: ")[2]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """README.md, and all of docs/."""
    return ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]


def blocks_of(page: str, text: str) -> list[Block]:
    """The blocks of a page in order. A hidden file is a block without a language."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    end = 0  # of the last part: between a block and its marks, or its output, is nothing but space
    for part in _PART.finditer(text):
        near = not text[end : part.start()].strip()
        line, end = text.count("\n", 0, part.start()) + 1, part.end()
        marks = marks if near else {}
        if part["comment"]:
            if mark := _COMMENT.fullmatch(part["comment"]):
                if mark[1] == "setup":
                    found.append(Block(page, line, "sh", f"{mark[2]}\n{mark[3] or ''}"))
                elif mark[1] == "file" and mark[3] is not None:
                    found.append(Block(page, line, "", mark[3], {"file": mark[2]}))
                else:
                    marks[mark[1]] = " ".join((mark[2] + " " + (mark[3] or "")).split())
            continue
        if part["language"] == "text" and near and not marks and found and found[-1].language in ("sh", "python"):
            found[-1].expected = part["text"]
        else:
            found.append(Block(page, line, part["language"], part["text"], marks))
        marks = {}
    return found


class Runner:
    """Types the blocks of one page, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.groups: list[int] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        for name, command in {"masker": f'"{sys.executable}" -m masker', "python": f'"{sys.executable}"'}.items():
            (folder / ".bin").mkdir(exist_ok=True)
            (folder / ".bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (folder / ".bin" / name).chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self, block: Block) -> None:
        """Fails with the place of the block, what it should print and what it does."""
        if "file" in block.marks:
            (self.folder / block.marks["file"]).write_text(block.text, encoding="utf-8")
        if block.instead:
            self.shell(block, block.instead)
        elif block.reason or block.language not in RUN:
            read(block)
        elif block.language == "python":
            compare(block, block.expected, self.python(block))
        elif block.language == "sh":
            compare(block, block.expected, self.shell(block, block.text))
        else:
            for command, expected in typed(block.text):
                compare(block, expected, self.shell(block, command))

    def shell(self, block: Block, command: str) -> str:
        """Standard output. The port that the documents use may be taken."""
        path = f"{self.folder / '.bin'}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "dumb"}
        started = subprocess.Popen(
            ["sh", "-e", "-c", command.replace("8000", self.port)], cwd=self.folder, env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.groups.append(started.pid)
        out, errors = started.communicate(timeout=900)
        code = int(block.marks.get("exit", 0))
        assert started.returncode == code, f"{block}: exit code {started.returncode} of\n{command}\n{out}\n{errors}"
        return out.replace(self.port, "8000")

    def python(self, block: Block) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, str(block), "exec"), self.names)
        return printed.getvalue()

    def close(self) -> None:
        """End what was left running, such as a server."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


def typed(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console, each with what is below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        count = next(k for k, line in enumerate(lines, 1) if not line.endswith("\\\n"))
        yield "".join(lines[:count]), "".join(lines[count:])


def compare(block: Block, expected: str | None, printed: str) -> None:
    if expected is not None:
        wanted, got = (re.sub(r"[ ]+$", "", text, flags=re.MULTILINE).rstrip("\n") for text in (expected, printed))
        same = doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)
        assert same, f"{block} prints\n{printed}\nand not\n{expected}"


def read(block: Block) -> None:
    """Data has to be what it says it is."""
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        import yaml

        yaml.safe_load(block.text)
    elif block.language == "toml":
        import tomllib

        tomllib.loads(block.text)
