"""Each extra of the wheel alone, in an environment of its own, does what it promises."""

from pathlib import Path

import pytest
from installed import Installed, build

SOURCE = "The worst pizza I have ever had."
LINES = {
    "negative": ["the food was terrible .", "the staff was rude .", "a bad place ."],
    "positive": ["the food was great .", "the staff was nice .", "a good place ."],
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def parquet(own: Installed, at: Path) -> None:
    write = (
        "import sys, pyarrow as a, pyarrow.parquet as p; p.write_table(a.table({'text': [sys.argv[1]]}), 'in.parquet')"
    )
    own.run("python", "-c", write, SOURCE, cwd=at)
    own.run("masker", "edit", "in.parquet", "--to", "positive", "--out", "out.parquet", cwd=at)
    read = "import pyarrow.parquet as p; print(p.read_table('out.parquet')['text'].to_pylist())"
    assert own.run("python", "-c", read, cwd=at) == f"['{SOURCE.replace('worst', 'best')}']\n"


def plot(own: Installed, at: Path) -> None:
    own.run("masker", "explain", SOURCE, "--to", "positive", "--method", "paper", "--plot", "figure.png", cwd=at)
    assert (at / "figure.png").read_bytes().startswith(b"\x89PNG")


def languages(own: Installed, at: Path) -> None:
    code = "from masker.core.text import split_words as s; t = '我们喜欢这家餐厅。'; print([t[a:b] for a, b in s(t)])"
    assert own.run("python", "-c", code) == "['我们', '喜欢', '这', '家', '餐厅', '。']\n"


def serve(own: Installed, at: Path) -> None:
    code = (
        "import httptools, prometheus_client, uvicorn, uvloop; from masker import Masker; "
        "from masker.web.app import create_app; app = create_app(Masker.from_pretrained(), to='positive'); "
        "print('/v1/edit' in {getattr(r, 'path', '') for r in app.routes})"
    )
    assert own.run("python", "-c", code) == "True\n"


def train(own: Installed, at: Path) -> None:
    for name, lines in LINES.items():
        text = "".join(f"{line[:-1]}{k} times .\n" for k in range(20) for line in lines)
        (at / f"{name}.txt").write_text(text, "utf-8")
    domains = [word for name in LINES for word in ("--domain", f"{name}={name}.txt")]
    own.run("masker", "fit", *domains, "--size", "tiny", "--steps", "3", "--no-report", "--out", "model", cwd=at)
    assert (at / "model" / "masker.json").is_file()


def tensorboard(own: Installed, at: Path) -> None:
    train(own, at)
    assert [*(at / "model" / "tensorboard").glob("events.*")]


def onnx(own: Installed, at: Path) -> None:
    train(own, at)
    own.run("masker", "export", "model", cwd=at)
    own.run("python", "-m", "pip", "uninstall", "--yes", "--quiet", "torch", "transformers")
    edit = ("masker", "edit", "--to", "positive", "--model", "model", "--method", "paper")
    assert own.run(*edit, stdin="the food was terrible .\n", cwd=at).count("\n") == 1


def beam(own: Installed, at: Path) -> None:
    (at / "in.txt").write_text(f"{SOURCE}\n", "utf-8")
    own.run("masker", "beam", "edit", "--input", "in.txt", "--output", "out.txt", "--to", "positive", cwd=at)
    (written,) = at.glob("out*")
    assert "The best pizza" in written.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("promise", [parquet, plot, languages, serve, train, tensorboard, onnx, beam])
def test_an_extra_alone_does_what_it_promises(wheel: Path, tmp_path: Path, promise: object) -> None:
    own = Installed(tmp_path / "own", wheel, extra=promise.__name__)  # type: ignore[attr-defined]
    at = tmp_path / "at"
    at.mkdir()
    promise(own, at)  # type: ignore[operator]
