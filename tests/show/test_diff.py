import sys

import pytest

from masker.core.edits import Edit, Rewrite
from masker.show.diff import diff_html, diff_rich
from show.printing import printed

SOURCE = "The <b>food</b> was terrible, really."
EDITED = Rewrite(
    SOURCE,
    "Our <b>food</b> was nice & good, really.",
    "negative",
    "positive",
    (Edit(0, 3, "The", "Our", 0.25, 0.5, -0.25), Edit(20, 28, "terrible", "nice & good", 0.5, 0.5, 0.0)),
)
UNCHANGED = Rewrite(SOURCE, SOURCE, "negative", "positive", reason="the best edit scores < 0")


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
    assert "<b>" not in page.partition("</style>")[2]
    assert "&lt;b&gt;food&lt;/b&gt;" in page
    assert ">nice &amp; good</ins>" in page
    assert ">terrible</del>" in page
    assert 'title="Score 0.500"' in page
    assert "the best edit scores &lt; 0" in UNCHANGED._repr_html_()
