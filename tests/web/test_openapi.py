"""The service against its own description, by a tool that thinks of what nobody would send."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .conftest import start


@pytest.mark.slow
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_no_request_breaks_the_service(tmp_path: Path) -> None:
    """No server error, no answer that is not described, no nonsense accepted, in hundreds of requests."""
    service = start("--to", "positive")
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/openapi.json", "--seed", "1",
        "--max-examples", "10", "--request-timeout", "60", "--phases", "examples,coverage,fuzzing", "--checks", "all",
        "--exclude-checks", "positive_data_acceptance",  # a domain that fits the schema need not be one of the model's
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path)
    service.end()
    assert ended.returncode == 0, ended.stdout[-5000:]
