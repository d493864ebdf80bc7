"""Golden documents, and what is and is not prose in each kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents import Document, kind_of
from masker.errors import MaskerError

from .fake import edit, rewrite

GOLDEN = Path(__file__).parents[2] / "golden" / "documents"


# -- whole documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["readme.md", "page.html", "mail.txt"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_golden_documents(name: str, ending: str) -> None:
    before = GOLDEN / name
    source, wanted = (
        path.read_bytes().decode().replace("\n", ending) for path in (before, before.with_stem(f"{before.stem}.after"))
    )
    done = edit(source, kind_of(name))
    assert str(done) == done.text == wanted
    assert apply_edits(source, done.edits) == wanted
    assert edit(source, kind_of(name), {"no such word": "x"}).text == source


@pytest.mark.parametrize("kind", ["markdown", "html", "plain"])
@pytest.mark.parametrize("source", ["", "\n", "\ufeff", "   \r\n\r\n", "---\n", "<!-- -->", "&", "`"])
def test_nothing_to_edit(kind: str, source: str) -> None:
    assert edit(source, kind).text == source


@pytest.mark.parametrize("kind", ["markdown", "html", "plain"])
def test_a_byte_order_mark_stays(kind: str) -> None:
    assert edit("\ufeffIt is bad.", kind).text == "\ufeffIt is good."
    assert edit("\ufeff---\nx: bad\n---\nIt is bad.", "markdown").text == "\ufeff---\nx: bad\n---\nIt is good."


def test_kinds() -> None:
    assert [kind_of(name) for name in ("a.md", "B.MARKDOWN", "c.htm", "d.html", "e.rst", "-")] == [
        "markdown", "markdown", "html", "html", "plain", "plain",
    ]  # fmt: skip
    with pytest.raises(MaskerError, match="did you mean 'markdown'"):
        Document.read("x", "markdwn")


# -- what the editor reads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("one\n  two *three*\nfour", ["one two three four"]),
        ("> - a\n>   b\n\nc", ["a b", "c"]),
        ("a `b` <https://c.d> $e$ <code>f</code> g", ["a `code` `code` `code` `code` g"]),
        ("[a](b) ![c](d) e[^1]", ["a  e"]),
        ("a <https://é.x/%C3%A9> b <script>c()</script> d", ["a `code` b `code` d"]),
        ("a &amp; \\* b", ["a & * b"]),
        ("a  \nb\\\nc<br>d", ["a", "b", "c", "d"]),
        ("# a #\n\nb\n===", ["a", "b"]),
        ("| a | b \\| c |\n|-|-|\n| 1 | ``x\\|y`` d |", ["a", "b | c", "`code` d"]),
        ("+++\nx = 1\n+++\na", ["a"]),
        ("---\na: [\n", ["a: ["]),  # no end, so it is no front matter
        ("    a\n\n\tb\n\n~~~\nc\n~~~\n", []),
        ("[a]: /b 'c'\n\n[a] d", ["a d"]),
        ("$$\na\n\n- b\n$$\n\nc costs $5 and $6", ["c costs $5 and $6"]),
        ("<div>\na\n\nb\n</div>", ["a", "b"]),
        ("- [x] a :smile: {{ b }} {% c %}", [" a   "]),
    ],
)
def test_texts_of_markdown(source: str, texts: list[str]) -> None:
    assert [block.text for block in Document.read(source, "markdown").blocks] == texts


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<p>one\n  two <b>three</b>\n</p>four", ["one two three", "four"]),
        ("a &amp; b&nbsp;c &#33; &bogus; d", ["a & b\xa0c ! &bogus; d"]),
        ("a <code>b <code>c</code></code> <svg><text>d</text></svg> e", ["a `code` `code` e"]),
        ("a<script>b</script>c<style>d</style><pre>e</pre><!-- f -->g", ["a", "c", "g"]),
        ("a<br/>b<hr>c <img alt=d> e", ["a", "b", "c  e"]),
        ("<title>a &lt; b</title><p", ["a < b"]),
        ("<p>a <unfinished", ["a "]),
    ],
)
def test_texts_of_html(source: str, texts: list[str]) -> None:
    assert [block.text for block in Document.read(source, "html").blocks] == texts


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("a\nb\n\n  c\n", ["a b", "c"]),
        ("> a\n> b\n>\n> c", ["a b", "c"]),
        ("a:\n- b\n  c\n2) d\n-----\ne", ["a:", "b c", "d", "e"]),
    ],
)
def test_texts_of_plain_text(source: str, texts: list[str]) -> None:
    assert [block.text for block in Document.read(source, "plain").blocks] == texts


def test_a_label_is_no_prose() -> None:
    source = "# Masker\n\n| `x` food | bad food |\n|-|-|\n| Bad! | *bad* |\n\n- **bad:** `y`"
    assert Document.read(source, "markdown").texts == ["bad food", "Bad!", "bad: `code`"]


# -- edits among marks and lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "old", "new", "wanted"),
    [
        ("a *b c* d", "b c", "x", "a *x* d"),
        ("a *b c* d", "c d", "x", "a *b x*"),
        ("a *b c* d", "a b", "x", "*x c* d"),
        ("a *b* c", "a b c", "x", "*x*"),
        ("*a* *b*", "a b", "x", None),  # with their words gone, marks would be no emphasis
        ("a *b* c", "b", "", None),
        ("a [b](u) c", "a b c", "x", "[x](u)"),
        ("a `b` c", "a `code` c", "x", None),
        ("a `b` c", "code", "x", None),
        ("a b[^1] c", "b c", "x", "a x[^1]"),
        ("a\nb\nc", "a b", "x", "x\nc"),
        ("a b\nc.", "b c", "x", "a\nx."),
        ("> a\n> b c", "a b", "x y", "> x\n> y c"),
        ("a *b\nc* d", "b c", "x", "a *x* d"),
        ("a b", "b", "*x* [y](z) <q>", r"a \*x\* \[y\](z) \<q>"),
        ("a\nb c", "b", "-", None),  # it would begin a list
        ("a\nb c", "b", "1.", None),
        ("[a]: /u\n\n[a] c", "a", "x", None),  # it would be no link any more
        ("|a|b|\n|-|-|\n|c e|d|", "c", "x|y", "|a|b|\n|-|-|\n|x\\|y e|d|"),
    ],
)
def test_markdown_stays_markdown(source: str, old: str, new: str, wanted: str | None) -> None:
    done = edit(source, "markdown", {old: new})
    assert done.text == (source if wanted is None else wanted)
    reasons = {block.rewrite.reason for block in done.blocks if not block.edits and old in block.block.text}
    assert reasons == ({"the edit would have broken the document's marks"} if wanted is None else set())


@pytest.mark.parametrize(
    ("at", "new", "wanted"),
    [
        (2, "x ", "a *x b* c"),
        (1, " x", "a x *b* c"),
        (3, " x", "a *b x* c"),
        (0, "x ", "x a *b* c"),
        (5, " x", "a *b* c x"),
    ],
)
def test_insertions_keep_to_their_words(at: int, new: str, wanted: str) -> None:
    document = Document.read("a *b* c", "markdown")
    (text,) = document.texts
    made = Edit(at, at, "", new, 0.0)
    assert document.rewrite([Rewrite(text, made.apply(text), None, "x", (made,))]).text == wanted


def test_html_is_escaped() -> None:
    assert edit("<p>a bad <b>b</b>", "html", {"bad": "1 < 2 & 3"}).text == "<p>a 1 &lt; 2 &amp; 3 <b>b</b>"
    assert edit("<p>a &amp; b", "html", {"& b": "or c"}).text == "<p>a or c"


def test_one_bad_edit_does_not_take_others_with_it() -> None:
    document = Document.read("a\nb c\n\nd e\n\nf\ng", "markdown")
    words = {"b": "-", "d": "x", "g": "+ y", "f": "z"}
    done = document.rewrite(rewrite(text, words) for text in document.texts)
    assert done.text == "a\nb c\n\nx e\n\nz\ng"
    assert [len(block.rewrite.edits) for block in done.blocks] == [0, 1, 1]
    assert done.blocks[2].rewrite.text == "z g"


def test_what_has_changed_is_told_with_its_place() -> None:
    document = Document.read("# Good\r\n\r\nIt was\r\n*so bad* &\r\nbad.\r\n\r\n- some poison", "markdown")
    made = [rewrite(text) for text in document.texts]
    made[1] = replace(made[1], error="oh no")
    done = document.rewrite(made)
    changed, failed = done.to_dicts()
    assert (changed["kind"], changed["line"], changed["to"]) == ("paragraph", 3, "positive")
    assert changed["source"] == document.source[changed["start"] : changed["end"]] == "It was\r\n*so bad* &\r\nbad."
    assert changed["text"] == "It was\r\n*so good* &\r\ngood."
    assert [(e["line"], e["column"], e["old"], e["new"]) for e in changed["edits"]] == [
        (4, 5, "bad", "good"),
        (5, 1, "bad", "good"),
    ]
    assert all(document.source[e["start"] : e["end"]] == e["old"] for e in changed["edits"])
    assert (failed["line"], failed["error"], failed["edits"]) == (7, "oh no", [])
