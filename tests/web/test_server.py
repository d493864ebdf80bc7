"""`masker serve` as a process: how it starts, and how it ends."""

import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from masker.api import Masker
from masker.model.folder import EMBEDDED

from .conftest import TEXT, TO, start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_busy(embedded: Masker, number: int) -> None:
    """Nothing hangs: what is being worked on is answered, the rest is refused or cut off."""
    service = start("--max-queue", "64")
    statuses: list[Any] = []

    def ask() -> None:
        try:
            fields = {"text": TEXT, "to": TO, "method": "search"}
            statuses.append(httpx2.post(f"{service.url}/v1/edit", json=fields, timeout=30).status_code)
        except httpx2.HTTPError as error:
            statuses.append(error)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    begun = time.monotonic()
    code = service.end(number)
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun < 25
    assert code in (130, -number, 128 + number)
    assert len(statuses) == 40
    assert {status for status in statuses if isinstance(status, int)} <= {200, 503}
    assert 503 in statuses


def test_a_token_from_the_environment(embedded: Masker) -> None:
    service = start(MASKER_TOKEN="s3cret")
    assert httpx2.get(f"{service.url}/v1/models").status_code == 401
    assert httpx2.get(f"{service.url}/v1/models", headers={"authorization": "Bearer s3cret"}).status_code == 200
    assert httpx2.get(service.url).status_code == 200
    service.end()


def test_a_port_that_is_taken_is_told(masker_fails: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in masker_fails("--port", str(taken.getsockname()[1]))


def test_a_domain_that_is_none_is_told(masker_fails: Callable[..., str]) -> None:
    assert masker_fails("--to", "nowhere").startswith("masker: unknown domain 'nowhere'")


def test_a_limit_that_is_none_is_told(masker_fails: Callable[..., str]) -> None:
    assert masker_fails("--max-queue", "0") == "masker: --max-queue is 0; it must be above 0\n"


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from masker.cli import main; sys.argv[1:] = ['serve']; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr == (
        "masker: masker serve needs packages that are not installed; pip install 'masker-nlp[serve]'\n"
    )


def test_the_rest_does_without_the_extra() -> None:
    code = "import sys, masker.cli.serve; print([n for n in ('fastapi', 'uvicorn', 'starlette') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["replaced", "emptied", "removed"])
def test_a_model_folder_that_changes_under_it_changes_nothing(tmp_path: Path, what: str) -> None:
    """It has all that it needs: answers stay as they were, also those of methods that nobody had asked for yet."""
    folder = tmp_path / "model"
    shutil.copytree(EMBEDDED, folder)
    service = start("--model", str(folder))

    def ask(method: str) -> Any:
        answer = httpx2.post(f"{service.url}/v1/edit", json={"text": TEXT, "to": TO, "method": method}, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    first = ask("auto")
    if what == "emptied":
        for path in (path for path in folder.rglob("*") if path.is_file()):
            path.write_bytes(b"")
    else:
        shutil.rmtree(folder)
        if what == "replaced":
            shutil.copytree(EMBEDDED, folder)
            (folder / "masker.json").write_text("{}")
    assert ask("auto") == first
    for method in ("search", "fast", "paper"):
        assert ask(method)["method"] == method
    service.end(signal.SIGTERM)


@pytest.mark.slow
def test_it_is_killed_at_any_moment_and_comes_back_on_its_port() -> None:
    chance = random.Random(0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        service = start("--port", port)
        asked = threading.Thread(target=_ask_in_vain, args=(service.url,))
        asked.start()
        time.sleep(chance.uniform(0, 0.5))
        assert service.end(number) in (-number, 128 + number)
        asked.join()
    service = start("--port", port)
    assert httpx2.post(f"{service.url}/v1/edit", json={"text": TEXT, "to": TO}, timeout=60).status_code == 200
    service.end(signal.SIGTERM)


def _ask_in_vain(url: str) -> None:
    with suppress(httpx2.HTTPError):
        for _ in range(50):
            httpx2.post(f"{url}/v1/edit", json={"text": TEXT, "to": TO, "method": "search"}, timeout=30)
