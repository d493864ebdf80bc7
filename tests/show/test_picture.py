import sys
from pathlib import Path

import pytest

from masker.core.explanation import Explanation, SpanRow
from masker.errors import MaskerError
from masker.show.picture import plot


def test_the_picture_is_drawn(explanation: Explanation, tmp_path: Path) -> None:
    from matplotlib import image

    explanation.plot(tmp_path / "figure.png")
    pixels = image.imread(tmp_path / "figure.png")
    assert pixels.shape[1] > pixels.shape[0] > 400
    dark_green = (pixels[..., :3] < [0.05, 0.3, 0.3]).all(-1) & (pixels[..., 1] > pixels[..., 0] + 0.1)
    assert dark_green.sum() > 1000  # the strongest score is there
    unmarked = tmp_path / "unmarked.png"
    plot(Explanation(explanation.source, None, "x", explanation.words, explanation.spans, None, None), unmarked)
    assert (image.imread(unmarked)[: pixels.shape[0]] != 1).any()
    assert unmarked.read_bytes() != (tmp_path / "figure.png").read_bytes()


def test_the_picture_says_what_was_chosen(explanation: Explanation, tmp_path: Path) -> None:
    plot(explanation, tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    for label in ("TargetScore", "SourceScore", "Score", "poland", "(end)", "words deleted", "0.49", "“. she” → “and”"):
        assert f"<!-- {label}" in drawn, label


def test_any_words_can_be_drawn(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    words = ["$5", "x$", r"$\frac{$", "日本", "😀", "Unfortunately", "_a^b"]
    rows = [
        SpanRow(i, n, "", "", r"$\frac{$", 0.1, 0.0, 0.1, 0.1, 0.0, None, None, True)
        for i in range(8)
        for n in range(2)
        if i + n < 8
    ]
    plot(Explanation(" ".join(words), None, "x", words, rows, rows[0], None), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000
    assert not recwarn.list


def test_a_picture_is_never_too_wide_for_its_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    pixels: list[float] = []
    monkeypatch.setattr(Figure, "savefig", lambda fig, path, dpi, **_: pixels.append(fig.get_figwidth() * dpi))
    for n in (10, 2000):
        rows = [SpanRow(i, 1, "", "", "", 0.1, 0.0, 0.1, 0.1, 0.0, None, None, True) for i in range(n)]
        plot(Explanation("", "a", "b", ["word"] * n, rows, None, None), tmp_path / "figure.png")
    assert 1000 < pixels[0] < pixels[1] < 1 << 16


def test_a_format_that_cannot_be_drawn_is_one_clear_line(explanation: Explanation, tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match=r"figure\.xyz") as error:
        plot(explanation, tmp_path / "figure.xyz")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "figure.xyz").exists()


def test_drawing_leaves_a_notebook_s_backend_alone(explanation: Explanation, tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    try:
        plot(explanation, tmp_path / "figure.png")
        assert matplotlib.get_backend().lower() == "svg"
    finally:
        matplotlib.use("agg")


def test_without_matplotlib_the_remedy_is_named(
    explanation: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MaskerError, match=r"pip install 'masker-nlp\[plot\]'"):
        plot(explanation, tmp_path / "figure.png")
