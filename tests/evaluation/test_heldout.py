from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pytest
from conftest import make_model
from toy import lines

from masker.core.edits import Edit, Rewrite
from masker.data.corpora import set_aside, use_all
from masker.errors import MaskerError
from masker.evaluation.heldout import measure, ways

CORPORA = {
    name: [f"{line} {k}" for line in lines(*adjectives) for k in range(5)]
    for name, adjectives in (("negative", ("terrible", "rude")), ("positive", ("great", "good")))
}
PARTS = set_aside(CORPORA)


class Swapping:
    """An editor that knows the toy's adjectives, but leaves every line with 'paris' alone."""

    def __init__(self, domains: Sequence[str] = tuple(CORPORA)) -> None:
        self.model = make_model("bert", tuple(domains))

    def editor(self, to: str, from_: str | None = None, *, method: str | None) -> SimpleNamespace:
        return SimpleNamespace(name=method or "search")

    def edit_stream(
        self, texts: Sequence[str], to: str, from_: str | None = None, *, method: str | None, keep_going: bool
    ) -> Iterator[Rewrite]:
        assert keep_going
        new = {"positive": "great", "negative": "rude"}[to]
        for text in texts:
            start = text.index(" was ") + 5
            old = text[start:].split()[0]
            edit = Edit(start, start + len(old), old, new, 1.0)
            edits = () if "paris" in text else (edit,)
            yield Rewrite(text, edit.apply(text) if edits else text, from_, to, edits)


def test_figures_of_both_directions_by_a_judge_of_other_lines() -> None:
    seen: list[tuple[int, int]] = []
    found = measure(Swapping(), PARTS, on_progress=lambda done, of: seen.append((done, of)))
    assert found.judge_lines == sum(map(len, PARTS.judging.values()))
    assert found.judge_accuracy == 100.0
    assert found.reliable
    assert [(d.from_, d.to, d.method) for d in found.directions] == [
        ("negative", "positive", "search"), ("positive", "negative", "search"),
    ]  # fmt: skip
    assert seen == [(k, 40) for k in range(1, 41)]
    for d in found.directions:
        kept = sum("paris" in line for line in PARTS.rewritten[d.from_])
        assert [r.source for r in d.rewrites] == PARTS.rewritten[d.from_]
        assert (d.before, d.real) == (0.0, 100.0)
        assert d.left_alone.value == pytest.approx(5 * kept)
        assert d.style.value == pytest.approx(100 - 5 * kept)
        assert 20 < d.self_bleu.value < 100


def test_the_default_method_is_shown_and_others_are_counted() -> None:
    found = measure(Swapping(), PARTS, methods=(None, "fast"))
    assert [d.method for d in found.directions] == ["search", "search", "fast", "fast"]
    assert [d.method for d in found.usual] == ["search", "search"]
    shown = found.shown(6)
    assert [r.to for r in shown] == ["positive"] * 3 + ["negative"] * 3
    assert shown[0].source == PARTS.rewritten["negative"][0]
    told = found.to_dict()
    assert len(told["rewrites"]) == 20
    assert told["directions"][2]["method"] == "fast"
    assert all(len(told["directions"][0][name]) == 3 for name in ("style", "self_bleu", "left_alone"))


def test_ways_are_those_of_the_counterparts() -> None:
    model = make_model("bert", ("a", "b", "c"))
    model.settings.domains["c"] = "b"
    assert ways(model) == [("a", "b"), ("b", "a"), ("b", "c")]  # a and b have none, and take the first of the others
    model.settings.sources_only = ["a"]
    assert ways(model) == [("a", "b"), ("b", "c")]
    assert ways(make_model("bert", ("only",))) == []


def test_nothing_set_aside_is_nothing_to_measure_with() -> None:
    with pytest.raises(MaskerError, match="100 lines"):
        measure(Swapping(), use_all(CORPORA))
