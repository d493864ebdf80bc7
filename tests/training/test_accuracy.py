from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from toy import CORPORA, narrow

from masker.model.padded_mlm import PaddedMLM
from masker.training import accuracy
from masker.training.examples import EncodedCorpus, encode_corpora


def test_span_accuracy_counts_whole_spans(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that gets one piece of every fourth span wrong is right on 75 %."""
    model = PaddedMLM.from_pretrained(base)
    corpus = encode_corpora(model.vocabulary, [(CORPORA["negative"], 1)], window=32)
    asked: list[Any] = []
    real = EncodedCorpus.draw
    monkeypatch.setattr(EncodedCorpus, "draw", lambda *a, **kw: asked.append(real(*a, **kw)) or asked[-1])

    def oracle(ids: torch.Tensor, attention: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        logits = torch.nn.functional.one_hot(asked[-1].targets.clamp(min=0), 400).float() * 50
        logits[::4, 2] = 0.0
        logits[::4, 2, 399] = 50.0
        return logits

    stub = SimpleNamespace(device=torch.device("cpu"), frame=model.frame)
    percent, _ = accuracy.span_accuracy(
        type("Oracle", (), {"__call__": lambda self, *a: oracle(*a), **vars(stub)})(), corpus, domains=True, batch=40
    )
    assert percent == pytest.approx(75.0)
    assert sum(len(m.ids) for m in asked) >= accuracy.EVALUATED_SPANS


def test_what_does_not_fit_into_memory_is_measured_in_parts(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = PaddedMLM.from_pretrained(base)
    model.add_domains(["negative", "positive"])
    model.add_style()
    tokens = [model.vocabulary.domain(name) for name in model.domains]
    corpus = encode_corpora(
        model.vocabulary, [(CORPORA[name], token) for name, token in zip(CORPORA, tokens, strict=False)], window=32
    )
    whole = accuracy.span_accuracy(model, corpus, domains=True), accuracy.style_accuracy(model, corpus)
    narrow(model.mlm, 5)
    parts = accuracy.span_accuracy(model, corpus, domains=True), accuracy.style_accuracy(model, corpus)
    assert parts[0] == pytest.approx(whole[0], rel=1e-5)
    assert parts[1] == whole[1]
    assert "out of memory" in caplog.text
