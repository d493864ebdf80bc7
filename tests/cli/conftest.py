"""A model fitted to two small files, and the command line run in this process: starting Python takes seconds."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from toy import CORPORA, make_base

from masker.api import Masker
from masker.cli import main
from masker.core.vocabulary import Vocabulary
from masker.training.fit import fit
from masker.training.settings import TrainSettings


@dataclass(frozen=True)
class Run:
    """How a command ended. `err` is one line where it failed."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


@pytest.fixture
def masker(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    def run(*arguments: str | Path, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "argv", ["masker", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        out, err = capsysbinary.readouterr()
        return Run(code, out, err.decode())

    return run


@pytest.fixture
def fails(masker: Callable[..., Run]) -> Callable[..., str]:
    """Run a command that must fail as it should: with one line on stderr, which is returned."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> str:
        result = masker(*arguments, stdin=stdin)
        assert result.code == 2, result
        assert result.err.count("\n") == 1, result.err
        assert result.err.startswith("masker: "), result.err
        assert "should not have happened" not in result.err
        return result.err.removeprefix("masker: ").rstrip("\n")

    return run


@pytest.fixture(scope="session")
def embedded() -> Masker:
    return Masker.from_pretrained(device="cpu")


@pytest.fixture
def loaded_once(embedded: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded model need not be loaded by every command."""

    def load(*_: object, max_words: int = 2000, **options: object) -> Masker:
        embedded.max_words = max_words
        return embedded

    monkeypatch.setattr(Masker, "from_pretrained", load)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, vocabulary: Vocabulary) -> Path:
    return make_base(tmp_path_factory.mktemp("base") / "model", vocabulary)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Path:
    """A tiny model that has learnt which words are negative and which positive."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    settings = TrainSettings(steps=300, batch_size=32, lr=3e-3, dropout=0.0, eval_every=300)
    fit(CORPORA, folder, base=base, settings=settings)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, but for negative.txt and positive.txt."""
    monkeypatch.chdir(tmp_path)
    for name, texts in CORPORA.items():
        (tmp_path / f"{name}.txt").write_text("".join(text + "\n" for text in texts))
    return tmp_path
