"""README.md and docs/: every code block is run and compared with what the page says it prints, or it is listed."""

import re
from collections import Counter
from pathlib import Path

import pytest
from doc_blocks import READ, ROOT, RUN, SHOWN, Block, Runner, blocks_of, pages, typed

QUICK = ("README.md",)
ALL = {page: blocks_of(page, (ROOT / page).read_text("utf-8")) for page in pages()}


def not_run() -> dict[tuple[str, str], int]:
    """The list in CONTRIBUTING.md, of reasons and pages: how many blocks each."""
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    return {(page, why): int(count) for why, where in rows for page, count in re.findall(r"(\S+) (\d+)", where)}


def test_every_block_is_run_or_listed() -> None:
    assert Counter((b.page, b.reason) for blocks in ALL.values() for b in blocks if b.reason) == not_run()
    for block in (block for blocks in ALL.values() for block in blocks):
        assert block.language in (*RUN, *READ, *SHOWN), f"{block}: nothing is known of {block.language}"


def run_all(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    runner = Runner(folder)
    try:
        for block in ALL[page]:
            runner.run(block)
    finally:
        runner.close()


@pytest.mark.parametrize("page", QUICK)
def test_it_prints_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(page, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in ALL if page not in QUICK])
def test_every_page_prints_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(page, tmp_path, monkeypatch)


def test_blocks_their_marks_and_their_output_are_found() -> None:
    page = """\
<!-- file: a.txt
one
-->
<!-- exit: 1 -->
```sh
cat a.txt; exit 1
```

```text
one
```

Words.
<!-- not run: minutes; instead: echo
  small -->
```console
$ echo a \\
  b
a b
$ echo c
```
"""
    hidden, first, second = blocks_of("page", page)
    assert (hidden.text, hidden.marks) == ("one\n", {"file": "a.txt"})
    assert (first.line, first.marks, first.expected) == (5, {"exit": "1"}, "one\n")
    assert (second.reason, second.instead) == ("minutes", "echo small")
    assert list(typed(second.text)) == [("echo a \\\n  b\n", "a b\n"), ("echo c\n", "")]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("sh", "echo one\n", "two\n"),
        ("sh", "exit 3\n", None),
        ("python", "print(1)\n", "2\n"),
        ("console", "$ echo 1\n2\n", None),
    ],
)
def test_other_output_is_an_error(language: str, text: str, expected: str | None, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="page:1"):
        Runner(tmp_path).run(Block("page", 1, language, text, {}, expected))
