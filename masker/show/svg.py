"""Small charts as SVG, drawn by hand so that a page needs nothing else. Colours are classes: the page says which."""

import html
from collections import Counter
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 40  # room for what is written beside the drawing
Points = Sequence[tuple[float, float]]


def lines(series: Mapping[str, Points], *, x: str) -> str:
    """Curves over the same axis, each with its name; `x` is what the axis is called."""
    xs = [px for points in series.values() for px, _ in points]
    ys = [py for points in series.values() for _, py in points]
    if not xs:
        return ""
    frame = _Frame(min(xs), max(xs), *_round_bounds(min(ys), max(ys)))
    drawn = [frame.axes(x)]
    for k, points in enumerate(series.values()):
        path = " ".join(f"{frame.x(px):.1f},{frame.y(py):.1f}" for px, py in points)
        drawn.append(f'<polyline class="line s{k}" points="{path}"/>')
        drawn += [
            f'<circle class="fill s{k}" cx="{frame.x(px):.1f}" cy="{frame.y(py):.1f}" r="2.5"/>' for px, py in points
        ]
    return _figure("".join(drawn), list(series))


def bars(groups: Mapping[str, Mapping[str, float]]) -> str:
    """Groups of bars from 0 to 100; the same names in each."""
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    frame = _Frame(0, max(1, len(groups)), 0, 100)
    drawn = [frame.axes("", ticks=False)]
    step = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = min(46.0, 0.8 * step / max(1, len(names)))
    for g, (label, values) in enumerate(groups.items()):
        middle = LEFT + (g + 0.5) * step
        drawn.append(_text(middle, HEIGHT - BOTTOM + 16, label, "middle"))
        for k, name in enumerate(names):
            value = values.get(name, 0.0)
            at, top = middle + (k - len(names) / 2) * wide, frame.y(value)
            drawn.append(f'<rect class="fill s{k}" x="{at + 1:.1f}" y="{top:.1f}" width="{wide - 2:.1f}" '
                         f'height="{frame.y(0) - top:.1f}"/>')  # fmt: skip
            drawn.append(_text(at + wide / 2, top - 3, f"{value:.0f}", "middle"))
    return _figure("".join(drawn), names)


def histogram(samples: Mapping[str, Sequence[int]], *, x: str, most: int) -> str:
    """How many per cent of each sample have which value; what is above `most` counts as that."""
    step = max(1, -(-most // 25))
    curves: dict[str, Points] = {}
    for name, values in samples.items():
        counts = Counter(min(value, most) // step for value in values)
        curves[name] = [(k * step, 100 * counts[k] / max(1, len(values))) for k in range(most // step + 1)]
    return lines(curves, x=x)


class _Frame:
    """Where values stand in the drawing."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right if right > left else left + 1, low, high

    def x(self, value: float) -> float:
        return LEFT + (value - self.left) / (self.right - self.left) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def axes(self, name: str, *, ticks: bool = True) -> str:
        parts = []
        for k in range(5):
            value = self.low + k / 4 * (self.high - self.low)
            y = self.y(value)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(_text(LEFT - 6, y + 4, f"{value:.3g}", "end"))
        for k in range(5 if ticks else 0):
            value = self.left + k / 4 * (self.right - self.left)
            parts.append(_text(self.x(value), HEIGHT - BOTTOM + 16, f"{value:,.0f}", "middle"))
        return "".join(parts) + _text(WIDTH / 2, HEIGHT - 6, name, "middle")


def _round_bounds(low: float, high: float) -> tuple[float, float]:
    """A little wider than the values, and never empty."""
    room = 0.08 * (high - low) or 1.0
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _figure(drawing: str, names: Sequence[str]) -> str:
    key = "".join(f'<span><i class="s{k}"></i>{html.escape(name)}</span>' for k, name in enumerate(names))
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{drawing}</svg><figcaption>{key}</figcaption></figure>'
    )
