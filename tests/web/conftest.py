"""The service with the embedded model: without a port, and in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.testclient import TestClient
from toy import hears_ctrl_c

from masker.api import Masker
from masker.web.app import create_app
from masker.web.limits import Limits

FROM, TO = "negative", "positive"
TEXT = "Our waitress was slow and the soup was bland."


@pytest.fixture(scope="session")
def embedded() -> Masker:
    return Masker.from_pretrained()


@pytest.fixture(scope="module")
def client(embedded: Masker) -> Iterator[TestClient]:
    """To be asked anything."""
    with TestClient(create_app(embedded, to=TO), base_url="http://localhost") as client:
        yield client


@pytest.fixture
def client_of(embedded: Masker) -> Iterator[Any]:
    """A client of a service with options or limits of its own."""
    entered: list[TestClient] = []

    def make(limits: Limits | None = None, **options: Any) -> TestClient:
        entered.append(TestClient(create_app(embedded, limits, **options)).__enter__())
        return entered[-1]

    yield make
    for client in entered:
        client.__exit__(None, None, None)


@dataclass
class Process:
    """`masker serve` in a process of its own."""

    process: "subprocess.Popen[str]"
    url: str

    def end(self, signal_number: int = signal.SIGINT) -> int:
        self.process.send_signal(signal_number)
        return self.process.wait(30)


def start(*arguments: str, **environment: str) -> Process:
    """On a free port; returns when it answers."""
    command = [sys.executable, "-m", "masker", "serve", "--port", "0", *arguments]
    env = {**os.environ, "COLUMNS": "200", **environment}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=hears_ctrl_c)
    assert process.stderr
    line = process.stderr.readline()
    found = re.match(r"Masker is at (http://\S+)", line)
    assert found, line + process.stderr.read()
    return Process(process, found[1])


@pytest.fixture(scope="module")
def service_url() -> Iterator[str]:
    service = start("--to", TO)
    yield service.url
    service.end()


@pytest.fixture
def masker_fails() -> Callable[..., str]:
    """What `masker serve` says when it does not start."""

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "masker", "serve", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 2, ended
        return ended.stderr

    return run
