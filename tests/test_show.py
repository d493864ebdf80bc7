import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import FIGURE_1
from rich.console import Console

from masker.core.edits import Edit, Rewrite
from masker.core.explanation import Explanation, SpanRow
from masker.errors import MaskerError
from masker.show import diff_html, diff_rich, plot, table, table_html

SOURCE = "The <b>food</b> was terrible, really."
EDITED = Rewrite(
    SOURCE,
    "Our <b>food</b> was nice & good, really.",
    "negative",
    "positive",
    (Edit(0, 3, "The", "Our", 0.25, 0.5, -0.25), Edit(20, 28, "terrible", "nice & good", 0.5, 0.5, 0.0)),
)
UNCHANGED = Rewrite(SOURCE, SOURCE, "negative", "positive", reason="the best edit scores < 0")


@pytest.fixture
def explanation(figure_1: list[dict[str, Any]]) -> Explanation:
    """The paper's own, built from its table."""
    names = ("target_score", "source_score", "score", "L1", "L2", "L3", "L4")
    rows = [
        SpanRow(
            i=row["i"], words=row["words_deleted"], masked=row["masked_input"], replacement=row["replacement"],
            infill=row["replacement"].replace("[PAD]", "").strip(), candidate=row["i"] != 0,
            **{name: row[name] for name in names},
        )
        for row in figure_1
    ]  # fmt: skip
    chosen = max(rows, key=lambda row: row.score)
    edit = Edit(31, 36, ". she", "and", 0.488, 0.488, 0.0)
    return Explanation(FIGURE_1, "unfused", "fused", FIGURE_1.split(), rows, chosen, edit)


def printed(thing: Any, width: int = 200, **options: Any) -> str:
    console = Console(width=width, **options)
    with console.capture() as capture:
        console.print(thing)
    return capture.get()


# -- diffs -------------------------------------------------------------------------------------------------------------


def test_a_rewrite_prints_as_a_diff() -> None:
    assert EDITED.diff() == "[-The-]{+Our+} <b>food</b> was [-terrible-]{+nice & good+}, really."
    assert UNCHANGED.diff() == SOURCE


def test_a_rewrite_prints_in_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in EDITED.diff()
    assert not EDITED.diff().endswith("\n")


@pytest.mark.parametrize(
    ("source", "edit", "shown"),
    [
        ("it was bad.", (7, 10, "bad", "good"), "it was bad good."),
        ("it was bad.", (7, 7, "", "very "), "it was very bad."),
        ("it was very bad.", (7, 12, "very ", ""), "it was very bad."),
        ("no. She left", (2, 7, ". She", " and"), "no. She and left"),
        ("bad food", (0, 5, "bad f", "F"), "bad f Food"),
    ],
)
def test_old_and_new_words_stand_apart(source: str, edit: tuple[int, int, str, str], shown: str) -> None:
    text = source[: edit[0]] + edit[3] + source[edit[1] :]
    rewrite = Rewrite(source, text, None, "positive", (Edit(*edit, 0.5, 0.5, 0.0),))
    assert diff_rich(rewrite).plain == shown


def test_markup_of_the_user_is_text() -> None:
    rewrite = Rewrite("a [bold]b[/bold] c", "a [bold]b[/bold] d", None, "x", (Edit(17, 18, "c", "[d]", 0.1, 0.1, 0.0),))
    assert "[bold]b[/bold]" in printed(rewrite)
    assert "[d]" in printed(rewrite)


def test_html_is_escaped() -> None:
    page = EDITED._repr_html_()
    assert page == diff_html(EDITED)
    assert "<b>" not in page
    assert "&lt;b&gt;food&lt;/b&gt;" in page
    assert ">nice &amp; good</ins>" in page
    assert ">terrible</del>" in page
    assert 'title="Score 0.500"' in page
    assert "the best edit scores &lt; 0" in UNCHANGED._repr_html_()


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_of_the_paper_in_a_terminal(explanation: Explanation, figure_1: list[dict[str, Any]]) -> None:
    shown = printed(explanation, width=300)
    lines = shown.splitlines()
    assert len(lines) == 55
    assert lines[0].split() == "i words input replacement TargetScore SourceScore Score L1 L2 L3 L4".split()  # noqa: SIM905
    for line, row in zip(lines[1:], figure_1, strict=True):
        assert row["masked_input"] in line
        assert row["replacement"] in line
        expected = [row[k] for k in ("target_score", "source_score", "score", "L1", "L2", "L3", "L4")]
        assert [float(x) for x in line.split()[-7:]] == pytest.approx(expected, abs=0.0005)


def test_the_chosen_row_is_marked(explanation: Explanation) -> None:
    lines = printed(explanation, width=300, force_terminal=True, color_system="standard").splitlines()
    marked = [line for line in lines if "\x1b[1;32m" in line]
    assert len(marked) == 1
    assert "0.488" in marked[0]
    assert sum("\x1b[2m" in line for line in lines) == 4  # those that are no candidates


def test_brackets_and_backslashes_in_the_table_are_text(explanation: Explanation) -> None:
    row = SpanRow(0, 0, r"\[bold] [MASK] \\[x]", "[PAD]", "", 0.1, 0.0, 0.1, 0.1, 0.0, None, None, True)
    shown = printed(table(Explanation("", None, "x", [], [row], None, None)))
    assert r"\[bold] [MASK] \\[x]" in shown
    assert "None" not in shown


def test_the_table_in_a_notebook(explanation: Explanation) -> None:
    page = table_html(explanation)
    assert page.count("<tr") == 55
    assert "<del" in page
    assert page.count("font-weight:600;color:#1e8449") == 1
    row = SpanRow(0, 0, "<b>", "[PAD]", "", 0.1, 0.0, 0.1, 0.1, 0.0, None, None, True)
    assert "<b>" not in table_html(Explanation("<b>", None, "x", [], [row], None, None))


# -- the picture -------------------------------------------------------------------------------------------------------


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
