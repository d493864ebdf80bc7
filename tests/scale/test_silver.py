"""Silver pairs: which side is which, what is dropped and why, and nothing lost, repeated or reordered after a kill."""

import gzip
import json
import os
import random
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from masker.core.edits import Edit, Rewrite
from masker.data.output import locked
from masker.data.pairs import read_pairs
from masker.errors import MaskerError
from masker.scale.silver import COLUMNS, SilverReport, SilverSettings, similarity, write_silver

LINES = [
    "the food was bad .",
    "",
    "all is well .",  # nothing to change
    "a bad day ?",  # low score
    "word " * 12 + "bad",  # too long
    "bad",  # nothing in common
    "a\tbad tab .",
    "so bad , so bad !",
]
DONE: dict[str, Any] = {"lines": 8, "kept": 5}


class Stub:
    """Makes `bad` good, with a Score of 0.5; of 0.1 where there is a question mark."""

    max_words = 10

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.seen: list[str] = []
        self.options: dict[str, Any] = {}

    def edit_stream(self, texts: Iterable[str], to: str, from_: str | None = None, **options: Any) -> Iterator[Rewrite]:
        self.options = options
        for text in texts:
            time.sleep(self.pause)
            self.seen.append(text)
            at, score = text.find("bad"), 0.1 if "?" in text else 0.5
            edits = (Edit(at, at + 3, "bad", "good", score, score, 0.0),) if at >= 0 else ()
            if "poison" in text:
                yield Rewrite(text, text, from_, to, error="it cannot be done")
                continue
            yield Rewrite(text, edits[0].apply(text) if edits else text, from_, to, edits)


class PolarityJudge:
    """Positive if there is no `bad` left."""

    domains = ("negative", "positive")

    def predict(self, texts: list[str]) -> list[str]:
        return ["negative" if "bad" in text else "positive" for text in texts]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def run(corpus: Path, out: Path, stub: Stub | None = None, **options: Any) -> SilverReport:
    kept = {name: options.pop(name) for name in ("judge", "resume", "group") if name in options}
    return write_silver(stub or Stub(), corpus, out, SilverSettings(to="positive", **options), **kept)  # type: ignore[arg-type]


def table(path: Path) -> list[dict[str, str]]:
    head, *rows = path.read_text("utf-8").split("\n")[:-1]
    assert head.split("\t") == list(COLUMNS)
    return [dict(zip(COLUMNS, row.split("\t"), strict=True)) for row in rows]


# -- pairs -------------------------------------------------------------------------------------------------------------


def test_pairs_with_their_scores_and_edits(corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "s.tsv")
    rows = table(tmp_path / "s.tsv")
    assert [int(row["line"]) for row in rows] == [1, 4, 6, 7, 8]
    assert (rows[0]["source"], rows[0]["target"]) == ("the food was good .", "the food was bad .")
    assert (rows[0]["score"], rows[0]["similarity"]) == ("0.5", "0.8000")
    assert rows[3]["target"] == "a bad tab ."
    for row in rows:  # the edits turn the real side into the synthetic one
        (edit,) = json.loads(row["edits"])
        assert row["target"][: edit["start"]] + edit["new"] + row["target"][edit["end"] :] == row["source"]
    dropped = {"blank": 1, "too_long": 1, "failed": 0, "unchanged": 1, "score": 0, "similarity": 0, "style": 0}
    assert report.to_dict() == {**DONE, "dropped": dropped}
    assert sum(report.dropped.values()) + report.kept == report.lines
    assert [pair.source for pair in read_pairs(tmp_path / "s.tsv")] == [row["source"] for row in rows]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt", "s.tsv", "s.tsv.json"]


def test_a_text_that_cannot_be_edited_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("a bad poison\na bad day\n")
    report = run(tmp_path / "corpus.txt", tmp_path / "s.tsv")
    assert (report.kept, report.dropped["failed"], report.dropped["unchanged"]) == (1, 1, 0)


def test_the_rewritten_text_on_either_side(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "a.tsv", synthetic="input")
    run(corpus, tmp_path / "b.tsv", synthetic="target")
    swapped = [(row["target"], row["source"], row["edits"]) for row in table(tmp_path / "b.tsv")]
    assert swapped == [(row["source"], row["target"], row["edits"]) for row in table(tmp_path / "a.tsv")]
    run(corpus, tmp_path / "c.tsv", synthetic="both")
    assert table(tmp_path / "c.tsv")[::2] == table(tmp_path / "b.tsv")
    assert table(tmp_path / "c.tsv")[1::2] == table(tmp_path / "a.tsv")
    assert {row["to"] for row in table(tmp_path / "b.tsv")} == {"positive"}
    with pytest.raises(MaskerError, match="unknown side 'neither'; known: input, target, both"):
        run(corpus, tmp_path / "c.tsv", synthetic="neither")


def test_every_filter_counts_what_it_drops(corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "s.tsv", min_score=0.1, min_similarity=0.5, judge=PolarityJudge())
    assert [int(row["line"]) for row in table(tmp_path / "s.tsv")] == [1, 7]
    assert report.dropped == {
        "blank": 1,
        "too_long": 1,
        "failed": 0,
        "unchanged": 1,
        "score": 1,
        "similarity": 1,
        "style": 1,
    }
    assert report.kept == 2


def test_options_reach_the_editor(corpus: Path, tmp_path: Path) -> None:
    stub = Stub()
    run(corpus, tmp_path / "s.tsv", stub, min_score=0.3, options={"method": "search"})
    assert stub.options == {
        "method": "search",
        "keep_going": True,
        "confidence": False,
    }  # what scores too low must come out to be counted
    run(corpus, tmp_path / "s.tsv", stub, min_score=-1.0)
    assert stub.options == {"min_score": -1.0, "keep_going": True, "confidence": False}


def test_packed_corpora_and_none(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "c.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    run(corpus, tmp_path / "a.tsv")
    run(tmp_path / "c.gz", tmp_path / "b.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    (tmp_path / "empty").write_text("")
    assert run(tmp_path / "empty", tmp_path / "c.tsv").lines == 0
    assert table(tmp_path / "c.tsv") == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a b c", "c B a", 1),
        ("a b", "c d", 0),
        ("a a b", "a b b", 2 / 3),
        ("", "", 1),
        ("a", "", 0),
        ("It is bad.", "It is good.", 2 / 3),
        ("It is bad .", "It is good .", 3 / 4),
    ],
)
def test_similarity_is_word_overlap(a: str, b: str, expected: float) -> None:
    assert similarity(a, b) == pytest.approx(expected)


# -- resuming ----------------------------------------------------------------------------------------------------------


def long_corpus(tmp_path: Path, n: int) -> Path:
    path = tmp_path / "long.txt"
    kinds = ["it is bad {}", "fine {}", "", "bad ? {}"]
    path.write_text("".join(kinds[i % 4].format(i) + "\n" for i in range(n)))
    return path


def test_a_crash_at_any_write_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fsync, rename and removal is where a run is killed once, with an older, complete run in its place."""
    corpus = long_corpus(tmp_path, 22)
    whole = run(corpus, tmp_path / "whole.tsv", group=4)
    assert (whole.lines, whole.kept, whole.dropped["unchanged"], whole.dropped["blank"]) == (22, 11, 6, 5)
    fsync, rename, unlink = os.fsync, os.replace, Path.unlink
    left = 0

    def deadly(call: Any, *arguments: Any, **kw: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:  # after the call, or in its place
            if moment % 2:
                call(*arguments, **kw)
            raise KeyboardInterrupt
        return call(*arguments, **kw)

    monkeypatch.setattr(os, "fsync", lambda *a: deadly(fsync, *a))
    monkeypatch.setattr(os, "replace", lambda *a: deadly(rename, *a))
    monkeypatch.setattr(Path, "unlink", lambda self, **kw: deadly(unlink, self, **kw))
    moment, killed = 0, 0
    while True:
        left, out = 0, tmp_path / f"{moment}.tsv"
        run(corpus, out, group=4)
        left = moment // 2 + 1
        try:
            run(corpus, out, group=4)
            break
        except KeyboardInterrupt:
            killed += 1
        left = 0
        assert run(corpus, out, group=4, resume=True) == whole
        assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
        moment += 1
    assert killed > 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """A real kill -9, again and again until the run comes through: never lost, repeated or reordered."""
    corpus = long_corpus(tmp_path, 400)
    whole = run(corpus, tmp_path / "whole.tsv", group=8)
    draw, kills = random.Random(1), 0
    while True:
        child = os.fork()
        if child == 0:
            try:
                run(corpus, tmp_path / "s.tsv", Stub(pause=0.0005), group=8, resume=True)
                os._exit(0)
            finally:
                os._exit(1)
        time.sleep(draw.uniform(0.005, 0.06) * (1 + kills / 10))  # a busy machine must come through as well
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
        assert kills < 200
        if (tmp_path / "s.tsv").exists():
            break
    assert kills
    assert run(corpus, tmp_path / "s.tsv", group=8, resume=True) == whole
    assert (tmp_path / "s.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    corpus = long_corpus(tmp_path, 40)
    run(corpus, tmp_path / "s.tsv", group=10)
    again = Stub()
    run(corpus, tmp_path / "s.tsv", again, group=10, resume=True)
    assert again.seen == []
    run(corpus, tmp_path / "s.tsv", again, group=10)  # without --resume it starts anew
    assert len(again.seen) == 30


def interrupted(corpus: Path, out: Path) -> None:
    class Dies(Stub):
        def edit_stream(self, texts: Iterable[str], *arguments: Any, **options: Any) -> Iterator[Rewrite]:
            if self.seen:
                raise KeyboardInterrupt
            return super().edit_stream(texts, *arguments, **options)

    with pytest.raises(KeyboardInterrupt):
        run(corpus, out, Dies(), group=10)


def test_other_settings_or_another_corpus_are_not_mixed_in(tmp_path: Path) -> None:
    corpus, out = long_corpus(tmp_path, 40), tmp_path / "s.tsv"
    interrupted(corpus, out)
    assert not out.exists()
    with pytest.raises(MaskerError, match=r"begun with `min_score` null, now 0\.2"):
        run(corpus, out, resume=True, min_score=0.2)
    with pytest.raises(MaskerError, match="begun with `judge` false, now true"):
        run(corpus, out, resume=True, judge=PolarityJudge())
    text = corpus.read_text()
    corpus.write_text(text.replace("bad 0", "bad 9"))
    with pytest.raises(MaskerError, match=r"the first 10 lines of .*long\.txt are not those"):
        run(corpus, out, resume=True)
    corpus.write_text("\n".join(text.split("\n")[:5]))
    with pytest.raises(MaskerError, match="the first 10 lines"):
        run(corpus, out, resume=True)
    corpus.write_text(text)
    assert run(corpus, out, resume=True, group=10).lines == 40


def test_a_state_without_its_pairs(tmp_path: Path) -> None:
    corpus, out = long_corpus(tmp_path, 40), tmp_path / "s.tsv"
    interrupted(corpus, out)
    with pytest.raises(MaskerError, match=r"s\.tsv\.json is of an unfinished run; continue it with `resume`"):
        run(corpus, out)
    (tmp_path / "s.tsv.part").write_text("")
    with pytest.raises(MaskerError, match="gone or cut short"):
        run(corpus, out, resume=True)
    (tmp_path / "s.tsv.json").write_text("[]")
    with pytest.raises(MaskerError, match="is not the state of a run"):
        run(corpus, out, resume=True)
    (tmp_path / "s.tsv.json").unlink()
    run(corpus, out)
    out.unlink()
    with pytest.raises(MaskerError, match="gone or cut short"):
        run(corpus, out, resume=True)


def test_two_runs_do_not_write_one_file(corpus: Path, tmp_path: Path) -> None:
    with locked(tmp_path / "s.tsv"), pytest.raises(MaskerError, match="another run is writing"):
        run(corpus, tmp_path / "s.tsv")


def test_a_failure_before_the_first_pair_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="nowhere"):
        run(tmp_path / "nowhere", tmp_path / "s.tsv")
    assert list(tmp_path.iterdir()) == []


def test_bad_places_and_judges(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="cannot write"):
        run(corpus, tmp_path / "no" / "s.tsv")
    with pytest.raises(MaskerError, match="no plain file"):
        run(corpus, tmp_path)
    with pytest.raises(MaskerError, match="`min_similarity` is 2"):
        run(corpus, tmp_path / "s.tsv", min_similarity=2)
    with pytest.raises(MaskerError, match="unknown domain of the judge 'formal'; known: negative, positive"):
        write_silver(Stub(), corpus, tmp_path / "s", SilverSettings(to="formal"), judge=PolarityJudge())  # type: ignore[arg-type]


def test_students_learn_from_teachers_unless_told_otherwise(corpus: Path, tmp_path: Path) -> None:
    stub = Stub()
    run(corpus, tmp_path / "a.tsv", stub)
    assert stub.options == {"min_score": 0.0, "keep_going": True, "confidence": False}
    run(corpus, tmp_path / "b.tsv", stub, options={"method": "auto"})
    assert stub.options == {"method": "auto", "keep_going": True, "confidence": False}
