"""An explanation as a page: it needs nothing else, and what the user wrote is text."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from masker.api import Masker
from masker.core.account import Account, Check, DraftRow, SegmentAccount, TagRound, TagRow
from masker.core.edits import Edit, Rewrite
from masker.core.explanation import Explanation
from masker.show.heat import disagreement, told
from masker.show.words import summary
from show.printing import printed

EVIL = "<script>alert(\"1\")</script> & 'bad' <img src=x>"
VOID = {"meta", "img", "br"}


class Tags(HTMLParser):
    """All tags with their attributes; they have to be balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found, self._open = list[tuple[str, dict[str, str | None]]](), list[str]()
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def accounts(text: str) -> Account:
    edit = Edit(0, 3, text[:3], "new", 1.0)
    names = ("encoder", "bag_of_words", "likelihood", "similarity", "coherence", "residue", "sure", "reader")
    rows = [
        DraftRow("new" + text[3:], (edit,), dict.fromkeys(names, 1.0), 8.0, 2.0, True),
        DraftRow(text, (), dict.fromkeys(names, 0.75), 6.0, 0.0),
    ]
    checks = (
        Check("edits", 3, 2, False, at_most=True),
        Check("encoder", 0.5, 0.9, False),
        Check("misfit", 1, 4, True, True),
    )
    chances = {"encoder": 0.1, "bag_of_words": 0.2}
    one = SegmentAccount(0, len(text), text, "search", "because " + text, chances, text, checks, rows[1], (rows[0],))
    tag = TagRow(0, 3, text[:8], "delete", text, 0.5)
    return Account((TagRound(text, (tag, replace(tag, word="", tag="keep"))),), (one,))


@pytest.fixture
def evil(explanation: Explanation) -> Explanation:
    made = Rewrite(
        EVIL, "new" + EVIL[3:], EVIL, EVIL, (Edit(0, 3, EVIL[:3], "new", 1.0),), method="search", reason=EVIL
    )
    words = EVIL.split(" ")
    rows = [replace(row, new=EVIL, candidate=True) for row in explanation.spans if row.i < len(words)]
    offsets = [(EVIL.index(word), EVIL.index(word) + len(word)) for word in words]
    return Explanation(EVIL, EVIL, EVIL, words, rows, None, None, offsets, "auto", made, accounts(EVIL))


def test_what_the_user_wrote_is_text(evil: Explanation) -> None:
    for html in (evil.html(), evil._repr_html_(), evil.rewrite._repr_html_()):
        names = {tag for tag, _ in Tags(html).found}
        assert not names & {"script", "img", "link", "iframe"}
        assert "&lt;script&gt;" in html
    assert EVIL in printed(evil, width=400)


def test_a_page_needs_nothing_else_and_says_so(explanation: Explanation) -> None:
    page = replace(explanation, account=accounts(explanation.source), method="search").html()
    tags = Tags(page).found
    allowed = {"class", "title", "lang", "charset", "http-equiv", "content", "name"}
    assert {name for _, attributes in tags for name in attributes} <= allowed  # no addresses, no style, no handlers
    assert "url(" not in page
    assert "@import" not in page
    policy = next(a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_a_notebook_looks_the_same(explanation: Explanation) -> None:
    body = explanation.html().partition('<body class="masker">')[2].partition("</body>")[0]
    shown = explanation._repr_html_()
    style, _, inside = shown.partition("</style>")
    assert style.startswith('<div class="masker"><style>')
    assert body.endswith(inside.removesuffix("</div>"))
    assert all(
        line.startswith((".masker", "body.masker", "@media", " ", "/*")) for line in style.splitlines()[1:] if line
    )
    rewrite = explanation.rewrite._repr_html_()
    assert rewrite.startswith(style)
    assert "<del" in rewrite


def test_words_are_tinted_by_the_domain_that_they_speak_for(explanation: Explanation) -> None:
    offsets, at = [], 0
    for word in explanation.words:
        at = explanation.source.index(word, at)
        offsets.append((at, at + len(word)))
        at += len(word)
    explanation = replace(explanation, offsets=offsets)
    heats = disagreement(explanation)
    single = {row.i: row for row in explanation.spans if row.words == 1}
    for i, heat in enumerate(heats):
        if i in single and heat is not None:
            assert (heat > 0) == ((single[i].L4 or 0) < single[i].L2)
    assert told("a", None, explanation) == "“a” is never changed"
    assert told("a", 0.1, explanation) == "“a” is as likely in both"
    assert told("a", 1.0, explanation) == "“a” is 2.7 times as likely in fused"
    assert told("a", -3.0, explanation) == "“a” is 20 times as likely in unfused"
    assert 'class="grid"' in explanation.html()


def test_it_is_summed_up(explanation: Explanation) -> None:
    assert summary(explanation) == "1 edit by the paper's method."
    assert (
        summary(replace(explanation, edit=None, chosen=None))
        == "Left alone by the paper's method: no edit scores high enough."
    )


@pytest.mark.slow
def test_a_browser_shows_it_and_loads_nothing(tmp_path: Path) -> None:
    from web.browser import browser

    text = 'Our waitress was slow and the soup was <b onclick="alert(1)">bland</b>.'
    explanation = Masker.from_pretrained().explain(text, to="positive")
    (tmp_path / "out.html").write_text(explanation.html(), "utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        said, asked = list[str](), list[str]()
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "out.html").as_uri())
        assert said == []  # no refusal by its policy either
        assert len(asked) == 1
        assert page.locator("b[onclick]").count() == 0
        assert "<b onclick=" in page.locator(".card .prose").first.inner_text()
        assert page.evaluate("getComputedStyle(document.querySelector('ins')).fontWeight") == "600"
