import re
from xml.etree import ElementTree

import pytest

from masker.show import svg


def drawn(source: str) -> ElementTree.Element:
    return ElementTree.fromstring(source)


def test_curves_have_a_name_and_a_point_for_every_value() -> None:
    figure = drawn(svg.lines({"a & b": [(0, 1.0), (5, 3.0), (10, 2.0)], "<c>": [(0, 0.0)]}, x="steps"))
    assert len(figure.findall(".//polyline")) == 2
    assert len(figure.findall(".//circle")) == 4
    assert [span.find("i").tail for span in figure.findall(".//span")] == ["a & b", "<c>"]  # type: ignore[union-attr]
    assert svg.lines({}, x="steps") == ""


def test_bars_are_as_high_as_their_values() -> None:
    figure = drawn(svg.bars({"one": {"before": 0.0, "after": 100.0}, "two": {"before": 50.0, "after": 25.0}}))
    heights = [float(rect.get("height", "")) for rect in figure.findall(".//rect")]
    assert heights[0] == 0
    assert heights[2] == pytest.approx(heights[1] / 2)
    assert heights[3] == pytest.approx(heights[1] / 4)


@pytest.mark.parametrize("points", [[(0, 1.0)], [(1, 5.0), (1, 5.0)], [(0, -3.0), (1, 0.0)]])
def test_everything_stays_inside(points: list[tuple[float, float]]) -> None:
    source = svg.lines({"x": points}, x="steps")
    for x, y in re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', source):
        assert 0 <= float(x) <= svg.WIDTH
        assert 0 <= float(y) <= svg.HEIGHT


def test_a_histogram_counts_what_is_too_long_at_its_end() -> None:
    figure = drawn(svg.histogram({"a": [1, 1, 2, 99]}, x="words", most=4))
    assert len(figure.findall(".//circle")) == 5
