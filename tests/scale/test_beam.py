"""The transform, on Beam's own runner in this process. Several processes and whole files: tests/cli/test_beam.py."""

import itertools
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

beam = pytest.importorskip("apache_beam")

from apache_beam.io.localfilesystem import LocalFileSystem  # noqa: E402
from apache_beam.metrics import MetricsFilter  # noqa: E402
from apache_beam.testing.util import assert_that, equal_to  # noqa: E402

from masker.api import Masker  # noqa: E402
from masker.core.edits import Rewrite  # noqa: E402
from masker.errors import MaskerError  # noqa: E402
from masker.scale.beam import BUDGET, EditHandler, EditTexts, cost, fetched, groups  # noqa: E402
from masker.scale.job import Job  # noqa: E402
from masker.scale.outcomes import Failure, Unreadable  # noqa: E402

logging.getLogger("apache_beam").setLevel(logging.ERROR)
TEXTS = ["the food was terrible .", "", "marie was born in poland and died in france .", "it was rude !"]
LONG = "word " * 50


@pytest.fixture(scope="module")
def texts(model_folder: Path) -> Callable[[str], str]:
    masker = Masker.from_pretrained(model_folder, device="cpu")
    return lambda text: masker.edit(text, to="positive", min_score=-9).text


def run(model: Path, elements: list[Any], check: Callable[[Any, Any], None], **options: Any) -> Any:
    pipeline = beam.Pipeline(runner="FnApiRunner")
    edit = EditTexts(to="positive", model=str(model), device="cpu", max_words=20, min_score=-9, **options)
    edited, failed = pipeline | beam.Create(elements, reshuffle=False) | edit
    check(edited, failed)
    result = pipeline.run()
    result.wait_until_finish()
    return result.metrics().query(MetricsFilter().with_namespace("masker"))


def test_texts_become_rewrites(model_folder: Path, texts: Callable[[str], str]) -> None:
    def check(edited: Any, failed: Any) -> None:
        assert_that(edited | beam.Map(lambda r: (r.source, r.text)), equal_to([(t, texts(t)) for t in TEXTS]))
        assert_that(failed, equal_to([]), label="failed")

    metrics = run(model_folder, TEXTS, check)
    counters = {m.key.metric.name: m.result for m in metrics["counters"]}
    assert counters["texts"] == 4
    assert counters["changed"] == sum(texts(t) != t for t in TEXTS) > 0
    assert counters.get("failed", 0) == 0
    found = {m.key.metric.name: m.result for m in metrics["distributions"]}
    assert found["text_latency_us"].count >= 1
    assert found["group_latency_us"].sum > 0
    assert found["group_texts"].sum == 4
    assert found["load_model_latency_milli_secs"].count == 1


def test_keys_stay_with_their_texts(model_folder: Path, texts: Callable[[str], str]) -> None:
    keyed = [((7, k), text) for k, text in enumerate(TEXTS)]

    def check(edited: Any, failed: Any) -> None:
        found = edited | beam.MapTuple(lambda key, r: (key, r.source, r.text))
        assert_that(found, equal_to([(key, t, texts(t)) for key, t in keyed]))
        assert_that(failed, equal_to([]), label="failed")

    run(model_folder, keyed, check)


def test_poison_fails_alone(model_folder: Path, texts: Callable[[str], str]) -> None:
    """Too long, not text at all, and a list with such in it, in the middle of good texts."""
    bad = [("long", LONG), ("none", None), ("bytes", b"\xff"), ("unread", Unreadable(b"{", "bad JSON"))]
    good = [(k, text) for k, text in enumerate(TEXTS)]
    elements = [*good[:2], *bad, *good[2:], ("list", [TEXTS[0], LONG, TEXTS[3]])]

    def check(edited: Any, failed: Any) -> None:
        def shown(key: Any, outcome: Any) -> Any:
            outcomes = outcome if isinstance(outcome, list) else [outcome]
            return key, [o.text if isinstance(o, Rewrite) else o.reason[:12] for o in outcomes]

        listed = ("list", [texts(TEXTS[0]), "text 1: it h", texts(TEXTS[3])])
        assert_that(edited | beam.MapTuple(shown), equal_to([*((k, [texts(t)]) for k, t in good), listed]))
        wanted = [
            ("long", "text 1: it has 50 words, more"),
            (("list", 1), "text 1: it has 50 words, more"),
            ("none", "not a text but NoneType"),
            ("bytes", "not a text but bytes"),
            ("unread", "bad JSON"),
        ]
        assert_that(failed | beam.Map(lambda f: (f.key, f.reason[:29])), equal_to(wanted), label="failed")

    metrics = run(model_folder, elements, check)
    counters = {m.key.metric.name: m.result for m in metrics["counters"]}
    assert counters["failed"] == 5
    assert counters["texts"] == 11
    assert counters["groups_retried"] >= 1


def test_a_misspelt_domain_is_no_dead_letter(model_folder: Path) -> None:
    pipeline = beam.Pipeline(runner="FnApiRunner")
    pipeline | beam.Create(TEXTS) | EditTexts(to="happy", model=str(model_folder), device="cpu")
    logging.disable(logging.CRITICAL)
    try:
        with pytest.raises(Exception, match="unknown domain 'happy'"):
            pipeline.run()
    finally:
        logging.disable(logging.NOTSET)


def test_failures_can_be_written_down() -> None:
    assert Failure("k", b"caf\xe9", "why").to_dict() == {"key": "k", "source": "caf\\xe9", "reason": "why"}
    assert Failure(None, None, "why").to_dict()["source"] is None
    assert Failure(None, 5, "why").to_dict()["source"] == "5"


# -- the handler -------------------------------------------------------------------------------------------------------


def test_groups_hold_like_lengths_within_the_budget() -> None:
    texts = ["a " * (k * 37 % 90) + "b" for k in range(200)]
    found = list(groups(texts, BUDGET))
    assert sorted(k for group in found for k in group) == list(range(200))
    for group in found:
        assert len(group) * max(cost(texts[k]) for k in group) <= BUDGET or len(group) == 1
    lengths = [cost(texts[k]) for group in found for k in group]
    assert lengths == sorted(lengths)
    for group, after in itertools.pairwise(found):  # none is smaller than it must be
        assert (len(group) + 1) * cost(texts[after[0]]) > BUDGET
    assert list(groups([], BUDGET)) == []


def test_one_model_and_threads_take_turns(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    torch.set_num_threads(2)
    editor = EditHandler(Job("positive", model=str(model_folder)), device="cpu").load_model()
    assert torch.get_num_threads() == 1
    inside, most, plain = 0, 0, editor._edit

    def slow(texts: Any) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.02)
        done = plain(texts)
        inside -= 1
        return done

    monkeypatch.setattr(editor, "_edit", slow)
    threads = [threading.Thread(target=editor.edit, args=([TEXTS[0]],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_gpu_is_shared_by_the_processes_of_a_machine() -> None:
    assert EditTexts(to="positive", device="cuda").handler.share_model_across_processes()
    assert not EditTexts(to="positive").handler.share_model_across_processes()
    assert EditTexts(to="positive", device="cuda").handler.budget > BUDGET


def test_a_model_shared_by_processes(model_folder: Path, texts: Callable[[str], str]) -> None:
    def check(edited: Any, failed: Any) -> None:
        assert_that(edited | beam.Map(lambda r: r.text), equal_to([texts(t) for t in TEXTS]))
        assert_that(failed | beam.Map(lambda f: f.reason[:18]), equal_to(["text 1: it has 50 "]), label="failed")

    run(model_folder, [*TEXTS, LONG], check, share=True)


class ToyStore(LocalFileSystem):
    """An object store whose buckets are folders."""

    @classmethod
    def scheme(cls) -> str:
        return "toystore"

    def match(self, patterns: list[str], limits: Any = None) -> Any:
        found = super().match([pattern.removeprefix("toystore:/") for pattern in patterns], limits)
        for result in found:
            for metadata in result.metadata_list:
                metadata.path = "toystore:/" + metadata.path
        return found

    def open(self, path: str, *args: Any, **options: Any) -> Any:
        return super().open(path.removeprefix("toystore:/"), *args, **options)


def test_a_model_out_of_an_object_store(model_folder: Path, tmp_path: Path) -> None:
    local = fetched(f"toystore:/{model_folder}")
    assert local is not None
    assert fetched(f"toystore:/{model_folder}") == local
    assert Masker.from_pretrained(local).domains == ["negative", "positive"]
    assert fetched("some/folder") == "some/folder"
    assert fetched(None) is None
    with pytest.raises(MaskerError, match="no files"):
        fetched(f"toystore:/{tmp_path}")


def test_importing_masker_imports_no_beam() -> None:
    code = "import sys, masker, masker.cli.beam; sys.exit(any(m in sys.modules for m in ('apache_beam', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_beam_an_error_names_the_extra() -> None:
    code = "import sys; sys.modules['apache_beam'] = None; import masker.scale.beam"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "editing with Apache Beam needs packages that are not installed; pip install 'masker-nlp[beam]'"
    assert done.stderr.endswith(f"MaskerError: {said}\n")
