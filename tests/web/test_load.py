"""Many clients at once: right answers, refusals where there are too many, and memory that stays as it is."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from serving import command_line, measure

REFUSED = {429, 503}


def check(result: dict[str, Any]) -> None:
    print(result)
    assert set(result["statuses"]) <= {200, *REFUSED}
    assert result["statuses"][200] > 0
    assert result["wrong"] == 0
    after = len(result["memory_mb"]) // 4
    assert max(result["memory_mb"][after:]) < result["memory_mb"][after] + 40


def test_a_moment_of_load() -> None:
    check(measure(32, 3, "fast"))


def test_overload_is_refused_and_nothing_else_breaks() -> None:
    result = measure(32, 2, "fast", "--max-queue", "4")
    check(result)
    assert result["statuses"][429] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "lines", "least"), [("fast", 10_000, 0.4), ("paper", 150, 0.5)])
def test_a_minute_of_load(method: str, lines: int, least: float) -> None:
    """With the throughput of the command line beside it. On a busy machine an answer may take minutes."""
    result = measure(64, 60, method, "--max-seconds", "300")
    check(result)
    assert result["texts_per_second"] > least * command_line(method, lines)
