"""README.md and docs/: every code block is run and compared with what the page says it prints, or listed here."""

from collections import Counter
from pathlib import Path

import pytest
from doc_blocks import READ, ROOT, RUN, SHOWN, Block, Runner, blocks_of, pages, typed

REASONS = {
    "cluster": "needs a cluster or an account at a provider",
    "corpora": "needs the corpora of MASKER_DATA, and minutes to hours",
    "download": "installs packages or fetches a model; no network in tests (the wheel's installation is tested apart)",
    "docker": "needs a Docker engine; tests/test_docker.py runs the steps of the Dockerfile without one",
    "minutes": "fits a model for minutes; a smaller run stands in for it where later blocks need its files",
    "person": "waits for a person, or runs until it is ended",
    "spark": "needs Java and 430 MB of packages; tests/scale/test_spark.py runs it where they are",
}
# page, reason: how many blocks. Whoever adds one adds it here.
NOT_RUN = {
    ("README.md", "download"): 1,
    ("README.md", "minutes"): 1,
    ("docs/checking.md", "person"): 1,
    ("docs/confidence.md", "minutes"): 1,
    ("docs/fitting.md", "minutes"): 2,
    ("docs/languages.md", "download"): 1,
    ("docs/languages.md", "minutes"): 1,
    ("docs/page.md", "person"): 1,
    ("docs/paper.md", "corpora"): 5,
    ("docs/reader.md", "download"): 3,
    ("docs/scale.md", "cluster"): 4,
    ("docs/scale.md", "download"): 1,
    ("docs/scale.md", "spark"): 2,
    ("docs/serving.md", "docker"): 1,
    ("docs/serving.md", "download"): 1,
    ("docs/serving.md", "person"): 2,
    ("docs/students.md", "minutes"): 1,
}
QUICK = ("README.md",)
ALL = {page: blocks_of(page, (ROOT / page).read_text("utf-8")) for page in pages()}


def test_every_block_is_run_or_listed() -> None:
    found = Counter((b.page, b.reason) for blocks in ALL.values() for b in blocks if b.reason)
    assert {reason for _, reason in found} <= set(REASONS)
    assert dict(found) == NOT_RUN
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
