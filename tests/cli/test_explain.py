import json
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]
TEXT = "the food was terrible ."


@pytest.fixture
def explain(masker: Cli, fitted: Path, here: Path) -> Cli:
    """By the paper's method, unless another is named."""
    usual = ("--model", fitted, "--to", "positive", "--method", "paper")
    return lambda *arguments: masker("explain", *usual, *arguments)


def test_json(explain: Cli, masker: Cli, fitted: Path) -> None:
    record = json.loads(explain(TEXT, "--format", "json").text)
    spans = record["spans"]
    # 5 words, the last of them protected: 6 places to insert at, and spans of 1 to 4 of the first four words
    assert [(s["i"], s["words"]) for s in spans] == [(i, n) for i in range(6) for n in range(5) if n == 0 or i + n <= 4]
    for span in spans:
        assert list(span)[:4] == ["i", "words", "masked", "replacement"]
        assert span["masked"].count("[MASK]") == 4
        assert len(span["replacement"].split()) == 4
        assert span["target_score"] == pytest.approx(span["L1"] - span["L2"], abs=2e-6)
        assert span["source_score"] == pytest.approx(-max(0, span["L3"] - span["L4"]), abs=2e-6)
        assert span["score"] == pytest.approx(span["target_score"] + span["source_score"], abs=2e-6)
    assert [TEXT[a:b] for a, b in record["offsets"]] == TEXT.split()
    for span in spans:
        if span["candidate"]:
            assert TEXT[: span["start"]] + span["new"] + TEXT[span["end"] :] != TEXT
        else:
            assert span["new"] is None
            assert TEXT[span["start"] : span["end"]].split() == TEXT.split()[span["i"] : span["i"] + span["words"]]
    edited = json.loads(
        masker(
            "edit", "--model", fitted, "--to", "positive", "--method", "paper", "--format", "jsonl", stdin=TEXT.encode()
        ).text
    )
    assert record["text"] == edited["text"]
    (edit,), chosen = edited["edits"], spans[record["chosen"]]
    assert {key: chosen[key] for key in ("score", "start", "end", "new")}.items() <= edit.items()


def test_table(explain: Cli) -> None:
    result = explain(TEXT)
    assert result.code == 0
    header, *rows = result.text.splitlines()
    assert header.split() == [
        *("i", "words", "input", "replacement", "TargetScore", "SourceScore", "Score", "L1", "L2", "L3", "L4")
    ]
    assert len(rows) == 16 + 1
    assert "[MASK] [MASK] [MASK] [MASK] the food was terrible ." in rows[0]


def test_without_source_score(explain: Cli) -> None:
    spans = json.loads(explain(TEXT, "--format", "json", "--no-source-score").text)["spans"]
    assert all(s["L3"] is None and s["source_score"] == 0 for s in spans)


def test_brackets_are_text(explain: Cli) -> None:
    """Rich's markup must not swallow what looks like it."""
    assert explain("a [bold]b[/bold] [/x] [MASK] c").code == 0


@pytest.mark.parametrize("name", ["picture.png", "picture.svg"])
def test_plot(explain: Cli, here: Path, name: str) -> None:
    result = explain(TEXT, "--plot", name)
    assert result.code == 0, result.err
    assert result.err == f"wrote {name}\n"
    assert (here / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert sorted(p.suffix for p in here.iterdir()) == sorted([".txt", ".txt", Path(name).suffix])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([TEXT, "--to", "happy"], "known: negative, positive"),
        ([""], "no words"),
        (["  "], "no words"),
        ([TEXT, "--format", "xml"], "known: table, json"),
        ([TEXT, "--plot", "picture.xyz"], "known: .png"),
        ([TEXT, "--plot", "picture"], "known: .png"),
        ([TEXT, "--plot", "no/such/picture.png"], "no/such"),
        ([TEXT, "--protect", "["], "no valid pattern"),
        (["word " * 20_000], "20,000 words"),
    ],
)
def test_bad_input(fails: Fails, fitted: Path, here: Path, arguments: list[str], named: str) -> None:
    assert named in fails("explain", "--model", fitted, "--to", "positive", *arguments)
    assert len(list(here.iterdir())) == 2


@pytest.mark.usefixtures("loaded_once")
def test_what_the_default_did(masker: Cli, here: Path) -> None:
    """The same as masker edit, of the same options."""
    text = "Our waitress was slow and the soup was bland."
    told = json.loads(masker("explain", text, "--to", "positive", "--format", "json").text)
    made = json.loads(masker("edit", "--to", "positive", "--format", "jsonl", stdin=text.encode()).text)
    assert (told["method"], told["made_by"]) == ("auto", made["method"])
    assert {name: told[name] for name in ("text", "edits")} == {name: made[name] for name in ("text", "edits")}
    assert told["rounds"][0]["tags"][3]["probability"] > 0.2
    shown = masker("explain", text, "--to", "positive").text
    assert shown.startswith("2 edits by the student (fast), which auto chose")
    assert shown.splitlines()[-1] == "Our waitress was [-slow-]{+great+} and the soup was [-bland-]{+delicious+}."


@pytest.mark.usefixtures("loaded_once")
def test_drafts_in_a_table(masker: Cli, here: Path) -> None:
    result = masker("explain", "The soup was bland.", "--to", "positive", "--method", "search", "--html", "out.html")
    assert (result.code, result.out, result.err) == (0, b"", "wrote out.html\n")
    assert (here / "out.html").read_text("utf-8").startswith("<!doctype html>")
    lines = masker("explain", "The soup was bland.", "--to", "positive", "--method", "search").text.splitlines()
    head = next(line for line in lines if line.startswith("draft"))
    assert head.split() == [
        *(
            "draft",
            "score",
            "encoder",
            "words",
            "likelihood",
            "similarity",
            "coherence",
            "residue",
            "sure",
            "critic",
            "total",
        )
    ]
    assert lines[lines.index(head) + 1].startswith("bland → ")
