"""What tests of the page ask of it, served or static."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from .conftest import TO

expect: Any = pytest.importorskip("playwright.sync_api").expect
DOCS = Path(__file__).parents[2] / "docs" / "images"
TWELVE = "The waitress was slow, the soup was bland and nobody said sorry."


def link(text: str, **fields: str) -> str:
    return "&".join(f"{name}={quote(value)}" for name, value in {"text": text, "to": TO, **fields}.items())


def edits(page: Any) -> list[str]:
    found: list[str] = page.locator("#diff button").evaluate_all("nodes => nodes.map(node => node.ariaLabel)")
    return found


def explained(page: Any) -> None:
    expect(page.locator("#table tbody tr").first).to_be_visible()
    expect(page.locator("#words")).not_to_have_class("waiting")


def result(page: Any) -> str:
    """The rewrite as it would be copied."""
    page.locator("#reuse").click()
    text: str = page.locator("#text").input_value()
    return text
