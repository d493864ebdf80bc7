"""The plan of the house is the house: docs/design.md against the import contract, the rooms and their tests."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DESIGN = (ROOT / "docs" / "design.md").read_text("utf-8")
(CONTRACT,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]


def rooms(layer: str) -> list[str]:
    """The rooms of a line; brackets are round those that need not be there."""
    return [room.strip(" ()") for room in layer.split("|")]


def test_the_drawing_is_the_import_contract() -> None:
    drawing = re.search(r"## The rooms.*?```\n(.*?)```", DESIGN, re.DOTALL)
    assert drawing
    drawn = [re.split(r"\s{2,}", line)[0] for line in drawing[1].splitlines()]
    assert list(map(rooms, drawn)) == list(map(rooms, CONTRACT["layers"]))


def test_tests_mirror_the_rooms() -> None:
    for layer in CONTRACT["layers"]:
        for room in rooms(layer):
            if (ROOT / "masker" / room / "__init__.py").is_file() and room != "bench":  # tested by its verb
                assert list((ROOT / "tests" / room).glob("test_*.py")), f"no tests of {room}"
