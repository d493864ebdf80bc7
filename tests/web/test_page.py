"""The page in a real browser, typed into and clicked at as by a person."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from .browser import browser
from .conftest import TEXT, start
from .pages import DOCS, TWELVE, edits, explained, link, result

expect: Any = pytest.importorskip("playwright.sync_api").expect
SLOWLY = 20_000  # ms: other tests may be running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as chromium:
        yield chromium


@pytest.fixture
def open_page(chromium: Any, service_url: str) -> Iterator[Callable[..., Any]]:
    """The page, of which every error fails the test."""
    contexts, errors = [], list[str]()

    def open_(fragment: str = "", **options: Any) -> Any:
        values = {"viewport": {"width": 1180, "height": 900}, **options}
        context = chromium.new_context(**values)
        context.set_default_timeout(SLOWLY)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("request", lambda r: None if r.url.startswith((service_url, "blob:")) else errors.append(r.url))
        page.goto(f"{service_url}/#{fragment}")
        return page

    expect.set_options(timeout=SLOWLY)
    yield open_
    for context in contexts:
        context.close()
    assert errors == []


# a browser's clock, from the last key to the first words of a rewrite
WATCH = """() => {
  const text = document.getElementById("text"), diff = document.getElementById("diff");
  text.addEventListener("input", () => { window.lastKey = performance.now(); window.answered = null; });
  new MutationObserver(() => {
    if (window.lastKey && !window.answered && diff.querySelector("ins")) window.answered = performance.now();
  }).observe(diff, { childList: true });
}"""


def test_a_sentence_is_rewritten_as_it_is_typed(open_page: Callable[..., Any]) -> None:
    page = open_page()
    explained(page)
    page.locator("#text").fill("")
    page.evaluate(WATCH)
    page.keyboard.type(TWELVE, delay=20)
    expect(page.locator("#diff ins").first).to_be_visible()
    took = page.evaluate("window.answered - window.lastKey")
    print(f"first answer {took:.0f} ms after the last key")
    assert took < 1000  # 300 on two idle cores
    assert any("becomes" in edit for edit in edits(page))
    expect(page.locator("#status")).to_contain_text("edits, by")


@pytest.mark.slow
def test_the_diff_shows_old_and_new(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    expect(page.locator("#diff del").first).to_have_text("slow")
    explained(page)
    made = edits(page)
    text = result(page)
    assert "slow" not in text
    assert all(edit.split("“")[2].split("”")[0] in text for edit in made)


@pytest.mark.slow
def test_edits_are_accepted_rejected_and_swapped(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    explained(page)
    count = len(edits(page))
    page.locator("#diff button").first.click()
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#diff button").first).to_have_text("slow")
    page.locator("#diff button").first.click()
    page.get_by_role("button", name="Accept", exact=True).click()
    expect(page.locator("#diff button.kept")).to_have_count(1)
    page.locator("#diff button").first.click()
    other = page.locator("#choice .chip").first
    new = other.locator("ins").inner_text()
    other.click()
    expect(page.locator("#choice")).to_be_hidden()
    assert any(new in edit for edit in edits(page))
    page.locator("#undo-all").click()
    expect(page.locator("#diff .undone")).to_have_count(len(edits(page)))
    assert count >= 1
    assert result(page) == TEXT


@pytest.mark.slow
def test_it_can_be_used_with_the_keyboard_alone(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    explained(page)
    page.locator("#diff button").first.focus()
    page.keyboard.press("Delete")
    expect(page.locator("#diff .undone")).to_have_count(1)
    assert page.evaluate("document.activeElement.closest('#diff') !== null")
    page.keyboard.press("Enter")
    expect(page.locator("#choice")).to_be_visible()
    grid = page.locator("#grid button[tabindex='0']")
    grid.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('#grid') !== null")
    expect(page.locator("#grid button[tabindex='0']")).to_have_count(1)
    page.locator("#tab-one").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lines")).to_be_visible()


@pytest.mark.slow
def test_words_are_tinted_and_protected(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    explained(page)
    heats = dict(
        page.locator("#words .word").evaluate_all(
            "nodes => nodes.map(node => [node.textContent, Number(node.style.getPropertyValue('--heat'))])"
        )
    )
    assert heats["slow"] > 0.5 > heats["and"]
    colours = page.locator("#words .word").evaluate_all("nodes => nodes.map(n => getComputedStyle(n).backgroundColor)")
    assert len(set(colours)) > 3
    page.locator("#words .word", has_text="slow").click()
    expect(page.locator("#words .word", has_text="slow")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#diff")).not_to_have_class("waiting")
    explained(page)
    assert not any("slow" in edit for edit in edits(page))
    assert "keep=slow" in page.url
    page.locator("#protected button").click()
    expect(page.locator("#diff del").first).to_have_text("slow")


@pytest.mark.slow
def test_a_candidate_is_shown_and_applied(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    explained(page)
    row = page.locator("#table tbody tr", has_text="bland").first
    row.hover()
    expect(page.locator("#words .marked").last).to_have_text("bland")
    expect(page.locator("#grid .pointed")).to_have_count(1)
    expect(page.locator("#readout")).to_contain_text("Score")
    new = row.locator("ins").inner_text()
    row.click()
    assert any(f"“{new}”" in edit for edit in edits(page))
    page.locator("#more").click()
    expect(page.locator("#table tbody tr")).to_have_count(page.locator("#grid button").count())
    page.locator("#grid button:not(.idle)").first.click()
    expect(page.locator("#diff .kept").first).to_be_visible()


@pytest.mark.slow
def test_strength_and_methods(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT))
    explained(page)
    page.locator("#strength").focus()
    with page.expect_request(lambda r: "v1/edit" in r.url and "strength" in (r.post_data or "")) as asked:
        page.keyboard.press("ArrowLeft")
    assert json.loads(asked.value.post_data)["strength"] == 0.89
    assert "strength=0.89" in page.url
    page.locator("#strength-reset").click()
    assert "strength" not in page.url
    page.locator("#methods summary").click()
    expect(page.locator("#method-table tbody tr")).to_have_count(4)
    expect(page.locator("#method-table button:enabled")).to_have_count(4)
    page.locator("#method-table tr", has_text="paper").get_by_role("button").click()
    expect(page.locator("#status")).to_contain_text("by paper in")


@pytest.mark.slow
def test_a_link_brings_everything_back(open_page: Callable[..., Any]) -> None:
    page = open_page()
    explained(page)
    page.locator("#swap").click()
    expect(page.locator("#to")).to_have_value("negative")
    page.locator("#text").fill("Best coffee in town & more: 100 % #1 😀")
    expect(page.locator("#status")).to_contain_text("by")
    other = open_page(page.url.partition("#")[2])
    expect(other.locator("#text")).to_have_value("Best coffee in town & more: 100 % #1 😀")
    expect(other.locator("#to")).to_have_value("negative")


@pytest.mark.slow
def test_a_domain_that_is_only_read_is_no_target(open_page: Callable[..., Any]) -> None:
    page = open_page(link("What a stupid idea!", to="civil"))
    expect(page.locator("#from")).to_have_value("toxic")
    expect(page.locator("#swap")).to_be_disabled()
    assert "toxic" not in page.locator("#to option").all_inner_texts()
    expect(page.locator("#status")).to_contain_text("by")


@pytest.mark.slow
def test_stale_answers_are_dropped(open_page: Callable[..., Any]) -> None:
    """What was asked about an older text never shows, however late it comes."""
    page = open_page(link("The first soup was bland."))
    page.wait_for_timeout(600)  # the model is being asked now
    page.locator("#text").fill("The second pizza was terrible.")
    explained(page)
    page.wait_for_timeout(1500)
    assert "first" not in page.locator("#diff").inner_text() + page.locator("#words").inner_text()


@pytest.mark.slow
def test_many_lines_and_their_files(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.locator("#tab-many").click()
    lines = [TEXT, "", 'He said "bad", twice.', "<b>bad</b> 😀"]
    page.locator("#lines").fill("\n".join(lines))
    page.locator("#run").click()
    expect(page.locator("#lines-status")).to_contain_text("4 of 4 lines")
    expect(page.locator("#results li")).to_have_count(4)
    with page.expect_download() as saved:
        page.locator("#jsonl").click()
    records = [json.loads(line) for line in Path(saved.value.path()).read_text("utf-8").splitlines()]
    assert [record["source"] for record in records] == lines
    with page.expect_download() as saved:
        page.locator("#csv").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_bytes().decode())))
    assert [(row["source"], row["text"]) for row in rows] == [(r["source"], r["text"]) for r in records]
    assert saved.value.suggested_filename == "rewrites.csv"


@pytest.mark.slow
def test_what_is_typed_is_text(open_page: Callable[..., Any]) -> None:
    evil = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'> was bad 😀."
    page = open_page(link(evil))
    explained(page)
    page.locator("#methods summary").click()
    expect(page.locator("#method-table button:enabled")).to_have_count(4)
    assert page.evaluate("window.evil") is None
    assert page.locator("main script, main img").count() == 0
    assert "<script>" in page.locator("#words").inner_text()
    spans = page.locator("#words .word").all_inner_texts()
    assert "bad" in spans
    assert "😀" in "".join(spans)
    for edit in edits(page):
        assert "\ufffd" not in edit


@pytest.mark.slow
def test_it_fits_a_phone(open_page: Callable[..., Any]) -> None:
    page = open_page(link(TEXT), viewport={"width": 360, "height": 740}, has_touch=True)
    explained(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#diff button").first.tap()
    expect(page.locator("#choice")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_a_token_is_asked_for(chromium: Any) -> None:
    service = start("--token", "s3cret")
    page = chromium.new_page()
    page.goto(service.url)
    page.locator("#token").fill("s3cret")
    page.keyboard.press("Enter")
    expect(page.locator("#diff ins").first).to_be_visible()
    page.close()
    service.end()
    assert service.process.returncode == 130


@pytest.mark.slow
def test_it_says_when_the_service_is_gone(chromium: Any) -> None:
    service = start()
    page = chromium.new_page()
    page.goto(service.url)
    expect(page.locator("#diff ins").first).to_be_visible()
    service.end()
    page.locator("#text").fill("The pizza was bad.")
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.close()


@pytest.mark.slow
def test_every_control_has_a_name(open_page: Callable[..., Any]) -> None:
    """What a screen reader would say of each thing that can be used."""
    page = open_page(link(TEXT))
    explained(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, a")]
        .filter(node => node.checkVisibility() && !(node.ariaLabel || node.textContent.trim() || node.labels?.length))
        .map(node => node.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("h1").count() == 1
    assert page.locator("[role=status]").count() >= 2


@pytest.mark.slow
def test_pictures_for_the_documents(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """MASKER_PICTURES=1 has them written to docs/images."""
    folder = DOCS if os.environ.get("MASKER_PICTURES") else tmp_path
    folder.mkdir(exist_ok=True)
    views: dict[str, dict[str, Any]] = {
        "page": {"viewport": {"width": 1180, "height": 1120}},
        "page-dark": {"viewport": {"width": 1180, "height": 900}, "color_scheme": "dark"},
        "page-phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
    }
    for name, options in views.items():
        page = open_page(link(TEXT), **options)
        explained(page)
        if name == "page":
            with page.expect_response(lambda answer: '"top"' in (answer.request.post_data or "")):
                page.locator("#diff button").first.click()
            expect(page.locator("#choice .chip").first).to_be_visible()
            page.mouse.move(0, 0)
        page.screenshot(path=folder / f"{name}.png", animations="disabled")
        with Image.open(folder / f"{name}.png") as picture:
            picture.quantize(192).save(folder / f"{name}.png", optimize=True)
    assert sum(path.stat().st_size for path in folder.glob("page*.png")) < 500_000
