"""Each extra of the wheel alone, in an environment of its own, does what it promises."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from installed import ROOT, Installed, build

SOURCE, TARGET = "The worst pizza I have ever had.", "The best pizza I have ever had."
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
    assert own.run("python", "-c", read, cwd=at) == f"['{TARGET}']\n"


def plot(own: Installed, at: Path) -> None:
    own.run("masker", "explain", SOURCE, "--to", "positive", "--method", "paper", "--plot", "figure.png", cwd=at)
    assert (at / "figure.png").read_bytes().startswith(b"\x89PNG")


def languages(own: Installed, at: Path) -> None:
    text = "我们喜欢这家餐厅。"
    found = json.loads(own.run("masker", "explain", text, "--to", "negative", "--method", "paper", "--format", "json"))
    assert [text[start:end] for start, end in found["offsets"]] == ["我们", "喜欢", "这", "家", "餐厅", "。"]


def serve(own: Installed, at: Path) -> None:
    with own.running("masker", "serve", "--port", "0") as said:
        url = re.findall(r"http://\S+", said.readline())[0]
        fields = json.dumps({"text": SOURCE, "to": "positive"}).encode()
        with urlopen(Request(f"{url}/v1/edit", fields, {"Content-Type": "application/json"}), timeout=60) as answer:
            assert json.load(answer)["text"] == TARGET
        with urlopen(f"{url}/metrics", timeout=60) as answer:
            assert b"masker_requests_total" in answer.read()


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


def beam(own: Installed, at: Path, engine: str = "beam") -> None:
    (at / "in.txt").write_text(f"{SOURCE}\n", "utf-8")
    own.run("masker", engine, "edit", "--input", "in.txt", "--output", "out.txt", "--to", "positive", cwd=at)
    (written,) = at.glob("out-*.txt")
    assert written.read_text("utf-8") == f"{TARGET}\n"


def spark(own: Installed, at: Path) -> None:
    beam(own, at, "spark")


PROMISES = {each.__name__: each for each in (parquet, plot, languages, serve, train, tensorboard, onnx, beam, spark)}


def test_every_extra_has_a_promise() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {*PROMISES, "test", "docs", "dev", "mutation"} == {*project["optional-dependencies"]}


@pytest.mark.slow
@pytest.mark.parametrize(("extra", "promise"), PROMISES.items(), ids=PROMISES)
def test_an_extra_alone_does_what_it_promises(
    wheel: Path, tmp_path: Path, extra: str, promise: Callable[[Installed, Path], None]
) -> None:
    if extra == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java here")
    own = Installed(tmp_path / "own", wheel, extra=extra)
    at = tmp_path / "at"
    at.mkdir()
    promise(own, at)
