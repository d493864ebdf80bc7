"""Chromium, where there is one: `apt-get install chromium` brings it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def browser() -> Iterator[Any]:
    """Playwright's own builds are not needed; without a browser the test is skipped, and says so."""
    playwright = pytest.importorskip("playwright.sync_api")
    named = os.environ.get("MASKER_CHROMIUM"), *map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    path = next(filter(None, named), None)
    if path is None:
        pytest.skip("THE PAGE IS NOT TESTED: no Chromium found; install it, or name it in MASKER_CHROMIUM")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        yield chromium
        chromium.close()
