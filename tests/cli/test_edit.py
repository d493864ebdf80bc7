import gzip
import json
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy import CORPORA

from masker.api import Masker
from masker.data.output import locked
from masker.data.resumable import ResumableFile
from masker.errors import MaskerError
from masker.training.fit import fit
from masker.training.settings import TrainSettings

TEXTS = ["the food was terrible .", "", "the staff was rude !", "   ", "it was terrible here ."]
QUICK = TrainSettings(steps=2, batch_size=8)

Cli = Callable[..., "Run"]  # noqa: F821  (conftest's)
Fails = Callable[..., str]


@pytest.fixture
def edit(masker: Cli, fitted: Path, here: Path) -> Cli:
    return lambda *arguments, **kw: masker("edit", "--model", fitted, *arguments, **kw)


@pytest.fixture
def edit_fails(fails: Fails, fitted: Path, here: Path) -> Fails:
    return lambda *arguments, **kw: fails("edit", "--model", fitted, *arguments, **kw)


@pytest.fixture(scope="session")
def expected(fitted: Path) -> list[str]:
    """What the API makes of TEXTS."""
    return [rewrite.text for rewrite in Masker.from_pretrained(fitted).edit(TEXTS, to="positive")]


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name not in ("negative.txt", "positive.txt"))


# -- text in, text out -------------------------------------------------------------------------------------------------


def test_negative_becomes_positive(edit: Cli) -> None:
    result = edit("negative.txt", "--to", "positive")
    assert (result.code, result.err) == (0, "")
    texts = result.text.splitlines()
    assert len(texts) == len(CORPORA["negative"])
    assert sum("good" in text or "great" in text for text in texts) > 0.9 * len(texts)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_every_line_ending_is_kept(edit: Cli, expected: list[str], ending: str, final: bool) -> None:
    source, wanted = (ending.join(texts) + ending * final for texts in (TEXTS, expected))
    assert edit("--to", "positive", stdin=source.encode()).text == wanted


def test_mixed_endings_and_odd_white_space(edit: Cli) -> None:
    source = "\r\n\n  \t\n \r\n\u2028\n\x0b\x0c\x1f\n"
    assert edit("--to", "positive", stdin=source.encode()).text == source


@pytest.mark.parametrize("stdin", [b"", b"\n", b"\n\n\n", b" "])
def test_nothing_to_do(edit: Cli, stdin: bytes) -> None:
    result = edit("--to", "positive", stdin=stdin)
    assert (result.code, result.out) == (0, stdin)


def test_many_lines_come_in_order(edit: Cli) -> None:
    names = [f"a{i}b ." for i in range(150)]
    source = "".join(f"{name}\n" for name in names)
    result = edit("--to", "positive", "--min-score", "99", stdin=source.encode())
    assert result.text == source


def test_files_packed_or_not(edit: Cli, here: Path, expected: list[str]) -> None:
    data = "".join(text + "\n" for text in TEXTS).encode()
    (here / "in.txt").write_bytes(data)
    (here / "in.txt.gz").write_bytes(gzip.compress(data))
    (here / "in.txt.xz").write_bytes(lzma.compress(data))
    for name in ("in.txt", "in.txt.gz", "in.txt.xz"):
        assert edit(name, "--to", "positive").text.splitlines() == expected


def as_csv(texts: list[str]) -> bytes:
    return ("id,review,text\n" + "".join(f'{k},no,"{text}"\n' for k, text in enumerate(texts))).encode()


def as_tsv(texts: list[str]) -> bytes:
    return ("id\ttext\n" + "".join(f"{k}\t{text}\n" for k, text in enumerate(texts))).encode()


def as_jsonl(texts: list[str]) -> bytes:
    return "".join(json.dumps({"id": k, "text": text or None}) + "\n" for k, text in enumerate(texts)).encode()


@pytest.mark.parametrize(("suffix", "form"), [(".csv", as_csv), (".tsv", as_tsv), (".jsonl", as_jsonl)])
@pytest.mark.parametrize(("packing", "pack"), [("", bytes), (".gz", gzip.compress)])
def test_tables(
    edit: Cli, here: Path, expected: list[str], suffix: str, form: Callable, packing: str, pack: Callable
) -> None:  # type: ignore[type-arg]
    """What masker fit reads: with --format, a line comes out for every row, whether it has a text or not."""
    name = f"in{suffix}{packing}"
    (here / name).write_bytes(pack(form(TEXTS)))
    assert edit(name, "--to", "positive", "--format", "lines").text == "".join(text + "\n" for text in expected)


def test_parquet(edit: Cli, here: Path, expected: list[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table({"id": [*range(5)], "text": [text or None for text in TEXTS]}), here / "in.parquet")
    lines = edit("in.parquet", "--to", "positive", "--format", "lines").text
    assert lines == "".join(text + "\n" for text in expected)


def test_columns(edit: Cli, edit_fails: Fails, here: Path) -> None:
    (here / "in.csv").write_text('id,review\n1,"it was\n terrible ."\n')
    arguments = ("in.csv", "--to", "positive", "--format", "jsonl")
    record = one(edit(*arguments, "--column", "review"))
    assert record["source"] == "it was\n terrible ."
    lines = edit("in.csv", "--to", "positive", "--column", "review", "--format", "lines").text
    assert lines == record["text"].replace("\n", " ") + "\n"  # a text stays a line
    assert "say --column; known: id, review" in edit_fails(*arguments)
    assert "unknown column 'text'; known: id, review" in edit_fails(*arguments, "--column", "text")
    assert "drop --column" in edit_fails("negative.txt", "--to", "positive", "--column", "text")
    assert "drop --column" in edit_fails("--to", "positive", "--column", "text", stdin=b"x")


def test_a_table_and_several_workers(edit: Cli, here: Path, expected: list[str]) -> None:
    (here / "in.csv").write_bytes(as_csv(TEXTS))
    options = ("--to", "positive", "--format", "lines", "--device", "cpu", "--workers", "1")
    assert edit("in.csv", *options, "--out", "out.txt").code == 0
    assert (here / "out.txt").read_text() == "".join(text + "\n" for text in expected)


def test_tsv(edit: Cli, expected: list[str]) -> None:
    result = edit("--to", "positive", "--format", "tsv", stdin="\n".join([*TEXTS, "a\tb"]).encode())
    rows = [line.split("\t") for line in result.text.split("\n")]
    assert rows[:-1] == [[old, new] for old, new in zip(TEXTS, expected, strict=True)]
    assert rows[-1][0] == "a b"
    assert len(rows[-1]) == 2


def test_jsonl(edit: Cli, expected: list[str]) -> None:
    result = edit("--to", "positive", "--format", "jsonl", stdin="\r\n".join(TEXTS).encode())
    records = [json.loads(line) for line in result.text.splitlines()]
    assert [r["source"] for r in records] == TEXTS
    assert [r["text"] for r in records] == expected
    for record in records:
        assert (record["from"], record["to"]) == ("negative", "positive")
        text, shift = record["source"], 0
        for e in record["edits"]:
            assert set(e) == {"start", "end", "old", "new", "score", "target_score", "source_score"}
            assert record["source"][e["start"] : e["end"]] == e["old"]
            text = text[: e["start"] + shift] + e["new"] + text[e["end"] + shift :]
            shift += len(e["new"]) - len(e["old"])
        assert text == record["text"]
        assert bool(record["edits"]) != ("reason" in record)
    assert records[1]["edits"] == records[3]["edits"] == []


def test_jsonl_keeps_letters_readable(edit: Cli) -> None:
    assert "café ☕" in edit("--to", "positive", "--format", "jsonl", stdin="café ☕".encode()).text


# -- options -----------------------------------------------------------------------------------------------------------


def one(result: "Run") -> dict:  # type: ignore[name-defined, type-arg]  # noqa: F821
    assert result.code == 0, result.err
    return json.loads(result.text)


@pytest.mark.parametrize(("method", "score"), [("paper", "0.99"), ("search", "99")])
def test_min_score_stops_an_edit_and_says_why(edit: Cli, method: str, score: str) -> None:
    arguments = ("--to", "positive", "--method", method, "--format", "jsonl", "--min-score")
    record = one(edit(*arguments, score, stdin=b"it was terrible ."))
    assert record["edits"] == []
    assert score in record["reason"]
    assert one(edit(*arguments, "-99", stdin=b"it was terrible ."))["edits"]


def test_top_lists_alternatives_best_first(edit: Cli) -> None:
    arguments = ("--to", "positive", "--format", "jsonl", "--min-score", "-2")
    record = one(edit(*arguments, "--top", "3", stdin=b"the food was terrible ."))
    scores = [a["score"] for a in record["alternatives"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert record["alternatives"][0]["text"] == record["text"]
    assert "alternatives" not in one(edit(*arguments, stdin=b"the food was terrible ."))


def test_max_edits(edit: Cli) -> None:
    text = b"the food was terrible here . the staff was rude really ."
    arguments = ("--to", "positive", "--method", "paper", "--format", "jsonl", "--min-score", "0.01")
    assert len(one(edit(*arguments, stdin=text))["edits"]) == 1
    more = one(edit(*arguments, "--max-edits", "4", stdin=text))["edits"]
    assert 1 < len(more) <= 4


def test_protect_and_forbid(edit: Cli) -> None:
    text = b"the food was terrible ."
    assert edit("--to", "positive", "--protect", "terrible|food", stdin=text).text.count("terrible") == 1
    usual = edit("--to", "positive", stdin=text).text
    word = "good" if "good" in usual else "great"
    other = edit("--to", "positive", "--forbid", f"nice, {word}", "--forbid", "really", stdin=text).text
    assert word not in other
    assert "really" not in other


def test_strength_and_method(edit: Cli, edit_fails: Fails, expected: list[str]) -> None:
    source = "\n".join(TEXTS).encode()
    assert edit("--to", "positive", "--method", "search", stdin=source).text.split("\n") == expected
    assert edit("--to", "positive", "--strength", "0.0001", stdin=source).text == source.decode()  # all are good enough
    assert "between 0 and 1" in edit_fails("--to", "positive", "--strength", "1.5", stdin=source)
    assert "search, paper" in edit_fails("--to", "positive", "--method", "magic", stdin=source)
    assert "--to" in edit_fails(stdin=source)


def test_no_source_score(edit: Cli) -> None:
    (e,) = one(edit("--to", "positive", "--format", "jsonl", "--no-source-score", stdin=b"it was terrible ."))["edits"]
    assert e["source_score"] == 0
    assert e["score"] == e["target_score"]


def test_two_models_fitted_apart(masker: Cli, fails: Fails, fitted: Path, base: Path, here: Path) -> None:
    """The same model twice is the conditional model; one without a name for the source asks for it."""
    usual = masker("edit", "negative.txt", "--to", "positive", "--model", fitted, "--method", "paper")
    twice = masker("edit", "negative.txt", "--to", "positive", "--from", "negative", "--model", fitted,
                   "--source-model", fitted)  # fmt: skip
    assert twice.out == usual.out
    fit({"negative": CORPORA["negative"]}, here / "alone", base=base, settings=QUICK)
    alone = masker("edit", "--to", "positive", "--model", fitted, "--source-model", here / "alone", stdin=b"it was .")
    assert alone.code == 0
    assert "--from" in fails("edit", "--to", "positive", "--model", fitted, "--source-model", fitted, stdin=b"x")


def test_a_single_domain_edits_by_target_score_alone(masker: Cli, base: Path, here: Path) -> None:
    fit({"positive": CORPORA["positive"]}, here / "one", base=base, settings=QUICK)
    result = masker("edit", "--to", "positive", "--model", here / "one", "--format", "jsonl", "--min-score", "-1",
                    stdin=b"the food was terrible .")  # fmt: skip
    record = one(result)
    assert record["from"] is None
    assert all(e["source_score"] == 0 and e["score"] == e["target_score"] for e in record["edits"])


def test_three_domains_need_from_or_a_counterpart(masker: Cli, fails: Fails, base: Path, here: Path) -> None:
    three = {**CORPORA, "neutral": [line.replace("terrible", "new") for line in CORPORA["negative"]]}
    fit(three, here / "three", base=base, settings=QUICK, counterparts={"positive": "neutral"})
    model = ("--model", str(here / "three"))
    assert "--from" in fails("edit", "--to", "negative", *model, stdin=b"x")
    record = one(masker("edit", "--to", "positive", *model, "--format", "jsonl", stdin=b"x"))
    assert record["from"] == "neutral"
    record = one(masker("edit", "--to", "negative", "--from", "positive", *model, "--format", "jsonl", stdin=b"x"))
    assert record["from"] == "positive"


# -- --out -------------------------------------------------------------------------------------------------------------


def test_out_is_the_same_as_standard_output(edit: Cli, here: Path) -> None:
    result = edit("negative.txt", "--to", "positive", "--out", "out.txt")
    assert (result.code, result.out) == (0, b"")
    assert (here / "out.txt").read_bytes() == edit("negative.txt", "--to", "positive").out
    assert leftovers(here) == ["out.txt"]


def test_out_may_be_the_input(edit: Cli, here: Path) -> None:
    wanted = edit("negative.txt", "--to", "positive").out
    assert edit("negative.txt", "--to", "positive", "--out", "negative.txt").code == 0
    assert (here / "negative.txt").read_bytes() == wanted


def test_out_through_a_link_keeps_the_link(edit: Cli, here: Path) -> None:
    (here / "real.txt").write_text("old")
    (here / "link.txt").symlink_to("real.txt")
    assert edit("--to", "positive", "--out", "link.txt", stdin=b"\n").code == 0
    assert (here / "link.txt").is_symlink()
    assert (here / "real.txt").read_text() == "\n"


def test_out_never_replaces_what_is_no_file(edit: Cli, here: Path) -> None:
    """As root, `--out /dev/null` once put a file in the place of the device."""
    os.mkfifo(here / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((here / "pipe").read_bytes()), daemon=True)
    reader.start()
    assert edit("--to", "positive", "--out", "pipe", stdin=b"\n\n").code == 0
    reader.join(10)
    assert (here / "pipe").is_fifo()
    assert got == [b"\n\n"]


def test_a_failure_leaves_the_old_file_alone(edit_fails: Fails, here: Path) -> None:
    (here / "out.txt").write_text("precious")
    (here / "in.txt").write_bytes(b"the food was terrible .\n" * 40 + b"caf\xe9\n")
    assert "line 41" in edit_fails("in.txt", "--to", "positive", "--out", "out.txt")
    assert (here / "out.txt").read_text() == "precious"
    assert leftovers(here) == ["in.txt", "out.txt"]


def test_two_runs_do_not_write_one_file(edit: Cli, edit_fails: Fails, here: Path) -> None:
    (here / "out.txt").write_text("precious")
    with locked(here / "out.txt"):
        for more in ((), ("--workers", "1")):
            error = edit_fails("negative.txt", "--to", "positive", "--out", "out.txt", *more)
            assert "another run is writing" in error
            assert "out.txt; wait for it, or choose another --out" in error
        assert edit("--to", "positive", "--out", "other.txt", stdin=b"\n").code == 0
    assert (here / "out.txt").read_text() == "precious"
    assert leftovers(here) == ["other.txt", "out.txt"]


def test_resume_wants_the_same_input(edit_fails: Fails, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was broken off is not continued with another text under the same name."""
    lines = [b"it was terrible .\n"] * 33 + [b"one two three four five six\n"]
    (here / "in.txt").write_bytes(b"".join(lines))
    arguments = ("in.txt", "--to", "positive", "--out", "out.txt", "--device", "cpu", "--resume")
    write, written = ResumableFile.write, []

    def broken(self: ResumableFile, *block: Any) -> None:
        if written:
            raise MaskerError("the power is gone")
        written.append(write(self, *block))

    with monkeypatch.context() as patched:
        patched.setattr(ResumableFile, "write", broken)
        assert "the power is gone" in edit_fails(*arguments, "--workers", "1")
    assert 'begun with --encoding "utf-8", now "latin-1"' in edit_fails(*arguments, "--encoding", "latin-1")
    (here / "in.txt").write_bytes(b"".join([b"it was terrible !\n", *lines[1:]]))
    assert "the first 32 lines of in.txt are not those that the run was begun with" in edit_fails(*arguments)


@pytest.mark.parametrize("format", ["lines", "tsv", "jsonl"])
def test_resume_leaves_a_finished_run_alone(edit: Cli, edit_fails: Fails, here: Path, format: str) -> None:
    (here / "in.txt").write_text("it was terrible .\n\nthe last line has no end .")
    arguments = ("in.txt", "--to", "positive", "--out", "out", "--format", format, "--device", "cpu")
    assert edit(*arguments).code == 0
    before = (here / "out").stat().st_mtime_ns
    result = edit(*arguments, "--resume")
    assert (result.code, result.out) == (0, b"")
    assert result.err.startswith("masker: out is complete (as many texts as the input has; with what options")
    assert result.err.endswith(", and nothing is left to do; without --resume it is made anew\n")
    for other in {"lines", "tsv", "jsonl"} - {format}:
        error = edit_fails(*arguments, "--format", other, "--resume")
        assert error.endswith(f"out is there already, with --format {format}, not {other}; remove it to start anew")
    if format == "jsonl":
        assert "with --to positive, not negative" in edit_fails(*arguments, "--to", "negative", "--resume")
    assert (here / "out").stat().st_mtime_ns == before
    assert leftovers(here) == ["in.txt", "out"]
    (here / "in.txt").write_text("another\n")
    assert "out is there already, and not made of in.txt (texts: 3 and 1)" in edit_fails(*arguments, "--resume")


def test_no_space(edit_fails: Fails, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not grow stands for a full disk."""
    import resource
    import signal

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        error = edit_fails("negative.txt", "--to", "positive", "--out", "out.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot write out.txt" in error
    assert leftovers(here) == []


@pytest.mark.parametrize(
    ("out", "named"),
    [(".", "is a folder"), ("no/such/out.txt", "no/such"), ("negative.txt/x", "negative.txt")],
)
def test_unwritable_out(edit_fails: Fails, here: Path, out: str, named: str) -> None:
    assert named in edit_fails("positive.txt", "--to", "positive", "--out", out)
    assert leftovers(here) == []


def test_a_folder_without_permission(edit_fails: Fails, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the refusal is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/scratch/name")

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    error = edit_fails("--to", "positive", "--out", "out.txt", stdin=b"x")
    assert error == "cannot write out.txt: Permission denied"


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_bad_files(edit_fails: Fails, here: Path) -> None:
    assert "nofile" in edit_fails("nofile", "--to", "positive")
    (here / "binary").write_bytes(bytes(range(256)) * 4)
    assert "binary" in edit_fails("binary", "--to", "positive")
    (here / "packed.gz").write_bytes(b"not packed at all\n")
    assert "packed.gz" in edit_fails("packed.gz", "--to", "positive")
    assert "cannot read" in edit_fails(here, "--to", "positive")


def test_latin_1(edit_fails: Fails, edit: Cli, here: Path) -> None:
    (here / "latin").write_bytes("the food .\ncafé .\n".encode("latin-1"))
    error = edit_fails("latin", "--to", "positive")
    assert "line 2" in error
    assert "byte 3 (0xe9)" in error
    assert "give the file's --encoding, e.g. latin-1" in error
    assert "café" in edit("latin", "--to", "positive", "--encoding", "latin-1", "--min-score", "99").text
    assert "encoding" in edit_fails("latin", "--to", "positive", "--encoding", "latin-99")


@pytest.mark.parametrize("more", [(), ("--workers", "1", "--out", "out.jsonl", "--device", "cpu")])
def test_a_very_long_line_comes_out_as_it_is(edit: Cli, here: Path, more: tuple[str, ...]) -> None:
    lines = ["it was terrible", "word " * 20_000, "the food was bad"]
    result = edit("--to", "positive", "--format", "jsonl", *more, stdin="\n".join(lines).encode())
    assert result.code == 3
    said, count = result.err.splitlines()
    assert said.startswith("masker: text 2: it has 20,000 words, more than the limit of 2,000; split it into sentences")
    assert "raise the limit with --max-words" in said
    assert count == "masker: 1 text could not be edited, and came out unchanged"
    text = (here / "out.jsonl").read_text() if more else result.text
    first, long, last = map(json.loads, text.splitlines())
    assert (long["text"], long["edits"]) == (lines[1], [])
    assert long["error"].startswith("it has 20,000 words")
    assert "error" not in first
    assert "error" not in last
    result = edit("--to", "positive", "--max-words", "3", stdin=b"it was terrible")
    assert result.code == 0


def test_a_text_that_fails_comes_out_as_it_is(edit: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from masker.core.vocabulary import Vocabulary

    read = Vocabulary.read

    def fragile(self: Vocabulary, source: str) -> Any:
        if "poison" in source:
            raise ZeroDivisionError("oh\nno")
        return read(self, source)

    monkeypatch.setattr(Vocabulary, "read", fragile)
    texts = "".join(f"poison {k} .\n" for k in range(12))
    result = edit("--to", "positive", stdin=f"it was terrible .\n{texts}".encode())
    assert result.code == 3
    assert result.text.splitlines()[1:] == texts.splitlines()
    said = result.err.splitlines()
    assert said[0] == "masker: text 2: ZeroDivisionError: oh"
    assert said[-1] == "masker: 12 texts could not be edited, and came out unchanged"
    assert len(said) == 11


def test_a_line_longer_than_the_window(edit: Cli) -> None:
    """It is scored in windows; nothing is cut off."""
    long = "the food was good here . " * 12
    source = f"{long}it was terrible ."
    options = (
        "--to",
        "positive",
        "--method",
        "paper",
        "--format",
        "jsonl",
        "--min-score",
        "-2",
        "--protect",
        "^.*here",
    )
    record = one(edit(*options, stdin=source.encode()))
    (e,) = record["edits"]
    assert e["start"] >= len(long) - 3
    assert record["text"] == source[: e["start"]] + e["new"] + source[e["end"] :]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--to", "happy"], "unknown domain 'happy'; known: negative, positive"),
        (["--to", "positive", "--from", "sad"], "unknown domain 'sad'; known: negative, positive"),
        (["--to", "positive", "--from", "positive"], "two different domains"),
        (["--to", "positive", "--format", "xml"], "known: lines, tsv, jsonl"),
        (["--to", "positive", "--protect", "("], "'(' is no valid pattern"),
        (["--to", "positive", "--max-edits", "0"], "--max-edits is 0"),
        (["--to", "positive", "--top", "-1"], "--top is -1"),
    ],
)
def test_bad_options(edit_fails: Fails, arguments: list[str], named: str) -> None:
    assert named in edit_fails(*arguments, stdin=b"the food was terrible .")


def test_bad_models(fails: Fails, here: Path, base: Path) -> None:
    assert "no model folder at nowhere" in fails("edit", "--to", "positive", "--model", "./nowhere", stdin=b"x")
    assert "no model folder" in fails("edit", "--to", "positive", "--model", "negative.txt", stdin=b"x")
    assert "masker fit" in fails("edit", "--to", "positive", "--model", base, stdin=b"x")
