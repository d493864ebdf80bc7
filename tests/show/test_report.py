"""The page: whole, by itself, and safe whatever the texts say."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import make_model

from masker.core.edits import Edit, Rewrite
from masker.data.inspection import Look, look
from masker.errors import MaskerError
from masker.evaluation.heldout import DirectionFigures, HeldOutReport
from masker.evaluation.tally import Figure
from masker.model.folder import read_settings
from masker.model.padded_mlm import PaddedMLM
from masker.show.report import FitReport, report_html, write_report

EVIL = '<script>alert("x")</script> & <img src=x onerror=alert(1)>'
VOID = {"meta", "br", "img"}
CURVE = [
    {"step": k, "loss": 3 / k, "held_out_loss": 4 / k, "span_accuracy": 30.0 + k, "style_accuracy": 80.0}
    for k in (1, 2, 9)
]
MADE = {
    "stage": "fit", "command": f"masker fit --domain '{EVIL}'", "base": "embedded", "steps": 1200, "best_step": 1000,
    "seconds": 77, "device": "CPU", "date": "2026-11-15", "data": [], "settings": {"lr": 0.0002, "steps": None},
    "scores": {"span_accuracy": 61.25},
}  # fmt: skip


class Page(HTMLParser):
    """What is in a page: tags with their attributes, whether they are closed in order, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def rewrites(from_: str, to: str) -> tuple[Rewrite, ...]:
    edited = Rewrite("it was bad", "it was good", from_, to, (Edit(7, 10, "bad", "good", 1.5),))
    evil = Rewrite(f"it {EVIL}", f"it {EVIL}", from_, to, reason=f"because {EVIL}")
    return (edited, evil, *[edited] * 10)


@pytest.fixture(scope="module")
def held_out() -> HeldOutReport:
    figures = Figure(88.0, 80.0, 95.0), Figure(70.0, 65.0, 75.0), Figure(8.0, 2.0, 15.0)
    ways = (("negative", "positive"), ("positive", "negative"))
    found = [DirectionFigures(a, b, "search", *figures, 5.0, 93.0, 10.0, rewrites(a, b)) for a, b in ways]
    return HeldOutReport(400, 91.0, tuple(found))


@pytest.fixture(scope="module")
def seen() -> Look:
    corpora = {
        "negative": [f"{EVIL} number {k} was bad , table {k % 7} ." for k in range(200)],
        "positive": [f"what a great number {k} , table {k % 7} !" for k in range(200)],
    }
    found = look(corpora)
    return replace(found, warnings=(*found.warnings, f"beware of {EVIL}"))


@pytest.fixture(scope="module")
def source(seen: Look, held_out: HeldOutReport) -> str:
    return report_html(FitReport(seen, MADE, CURVE, held_out))


def test_the_page_is_well_formed_and_tells_all(source: str) -> None:
    page = Page(source)
    for told in ("negative ⇄ positive", "88 % read as positive", "5 % did before", "self-BLEU 70", "88 (80 to 95)",
                 "1,200 steps", "words a line", "great"):  # fmt: skip
        assert told in page.text, told
    tags = [tag for tag, _ in page.tags]
    assert tags.count("svg") == 4
    assert tags.count("li") >= 20
    assert (tags.count("del"), tags.count("ins")) == (18, 18)
    assert "prefers-color-scheme: dark" in source


def test_nothing_comes_from_elsewhere_and_nothing_runs(source: str) -> None:
    page = Page(source)
    assert not {"script", "link", "iframe", "img", "object", "embed"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith(("on", "src", "href")) for _, attributes in page.tags for name in attributes)
    assert not re.search(r"https?:|url\(|@import|//[a-z]", re.sub(r"&[a-z#0-9]+;", "", source))
    assert EVIL not in source
    assert EVIL in page.text  # as it was written


def test_a_judge_that_knows_little_says_so(seen: Look, held_out: HeldOutReport) -> None:
    doubtful = report_html(FitReport(seen, MADE, [], replace(held_out, judge_accuracy=61.0)))
    assert "read the rewrites instead" in Page(doubtful).text
    assert "read the rewrites instead" not in Page(report_html(FitReport(seen, MADE, [], held_out))).text


def test_it_is_written_into_the_folder_and_into_the_card(tmp_path: Path, seen: Look, held_out: HeldOutReport) -> None:
    model = make_model("bert")
    model.settings.made = [dict(MADE)]
    model.save_pretrained(tmp_path)
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CURVE))
    weights = (tmp_path / "model.safetensors").read_bytes()
    loaded = PaddedMLM.from_pretrained(tmp_path)
    path = write_report(loaded, seen, held_out)
    assert path == tmp_path / "report.html"
    Page(path.read_text("utf-8"))
    assert read_settings(tmp_path / "masker.json").made[-1]["report"] == held_out.to_dict()
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "| negative to positive | search | 12 | 5 | 88 (80 to 95) | 93 | 70 (65 to 75) | 8 (2 to 15) |" in card
    assert "| positive | it was bad | it was good |" in card
    assert "<script>" not in card.split("## How it rewrites")[1]
    assert (tmp_path / "model.safetensors").read_bytes() == weights
    with pytest.raises(MaskerError, match="loaded from its folder"):
        write_report(make_model("bert"), seen, held_out)
