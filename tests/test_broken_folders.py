"""Folders with anything wrong in any of their files: they do what they did, or say what is wrong in one line."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from toy import CORPORA

from masker.api import Masker
from masker.data.formats import Record
from masker.data.resumable import ResumableFile
from masker.errors import MaskerError
from masker.evaluation.fluency_ngram import NgramLM
from masker.evaluation.judges.base import Judge
from masker.model.critic import CriticCard
from masker.model.folder import EMBEDDED, check_style
from masker.model.light import LightModel
from masker.model.reader import ReaderCard
from masker.model.settings import Settings
from masker.students.base import Student

TEXT = "the food was terrible ."
NUMBERS, OTHERS = (-1, 0, 1.5, 10**9, float("nan"), True, None), ("x", "", [], ["x"], [[]], {}, {"x": 1}, {"x": {}})
WRONG: tuple[Any, ...] = (*NUMBERS, *OTHERS)
SLOW, LARGE = pytest.mark.slow, ("model", "student")  # those are copied for every try
Use = Callable[[Path], object]


def use_model(folder: Path) -> object:
    return Masker.from_pretrained(folder).edit(TEXT, to="positive", method="paper").text


def use_student(folder: Path) -> object:
    return Student.from_pretrained(folder).edit([TEXT], "positive")


def use_part(folder: Path) -> object:
    with ResumableFile(folder / "out", {"to": "positive"}, resume=True) as part:
        return part.lines


USES: dict[str, Use] = {
    "model": use_model,
    "student": use_student,
    "judge": lambda folder: Judge.from_pretrained(folder).predict([TEXT]),
    "lm": lambda folder: NgramLM.from_pretrained(folder).log_likelihoods([TEXT]),
    "part": use_part,
    "reader": ReaderCard.read,
    "critic": CriticCard.read,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind. The model and its student are the embedded ones, whose student shares its embeddings."""
    at = tmp_path_factory.mktemp("folders")
    shutil.copytree(EMBEDDED, at / "model")
    Judge.fit(CORPORA).save_pretrained(at / "judge")
    NgramLM.fit(line for lines in CORPORA.values() for line in lines).save_pretrained(at / "lm")
    for name in ("part", "reader", "critic"):
        (at / name).mkdir()
    ReaderCard(("negative", "positive"), 20, {"base": "x"}).write(at / "reader")
    CriticCard(("negative", "positive"), 1.5, 0.5, {"rank": 4}).write(at / "critic")
    part = ResumableFile(at / "part" / "out", {"to": "positive"}, resume=False)
    part.__enter__().write("done\n", [Record(TEXT)])
    part.__exit__(KeyboardInterrupt)
    return {name: at / name for name in USES} | {"student": at / "model" / "student"}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in an object, but not those of long lists, and not what only tells a story."""
    yield at
    if isinstance(value, dict) and at[-1:] not in (("made",), ("card",)):
        for key in value:
            yield from paths(value[key], (*at, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*at, 0))


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    value = value.copy()
    value[at[0]] = put(value[at[0]], at[1:], new)
    return value


def tried(folders: dict[str, Path], kind: str, tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Change a copy of a folder; it must go on working, or say in one line what is wrong with it."""
    root = folders["model"] if kind == "student" else folders[kind]
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    folder = copy / "student" if kind == "student" else copy
    try:
        change(folder)
        USES[kind](folder)
    except MaskerError as error:
        said = str(error)
        assert "\n" not in said
        assert len(said.replace(str(copy), "")) < 400
        assert "Error(s)" not in said
    finally:
        shutil.rmtree(copy)


FILES = [
    ("model", "masker.json"), ("model", "tokenizer_config.json"), ("model", "config.json"),
    ("student", "student.json"), ("judge", "judge.json"), ("judge", "vocabulary.json"), ("lm", "ngram_lm.json"),
    ("part", "out.part.json"), ("reader", "reader.json"), ("critic", "critic.json"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), FILES[4:])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_in_a_json_file(
    folders: dict[str, Path], tmp_path: Path, kind: str, name: str, data: st.DataObject
) -> None:
    _any_value(folders, tmp_path, kind, name, data)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), FILES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_many_values_in_a_json_file(
    folders: dict[str, Path], tmp_path: Path, kind: str, name: str, data: st.DataObject
) -> None:
    _any_value(folders, tmp_path, kind, name, data)


def _any_value(folders: dict[str, Path], tmp_path: Path, kind: str, name: str, data: st.DataObject) -> None:
    said = json.loads((folders[kind] / name).read_text("utf-8"))
    at = data.draw(st.sampled_from(list(paths(said))))
    new = data.draw(st.sampled_from(WRONG))

    def change(folder: Path) -> None:
        (folder / name).write_text(json.dumps(put(said, at, new)), "utf-8")

    tried(folders, kind, tmp_path, change)


def slowly(files: list[tuple[str, str]]) -> list[Any]:
    return [pytest.param(*file, marks=SLOW if file[0] in LARGE else ()) for file in files]


BINARY = [
    ("model", "masker.json"), ("model", "tokenizer.json"), ("model", "style.safetensors"),
    ("model", "graphs.safetensors"), ("student", "student.json"), ("student", "graphs.safetensors"),
    ("judge", "model.safetensors"), ("judge", "judge.json"), ("lm", "model.safetensors"), ("part", "out.part.json"),
    ("part", "out.part"), ("reader", "reader.json"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), slowly(BINARY))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1), junk=st.binary(max_size=6), cut=st.booleans())
def test_any_damage_to_a_file(
    folders: dict[str, Path], tmp_path: Path, kind: str, name: str, where: float, junk: bytes, cut: bool
) -> None:
    def change(folder: Path) -> None:
        there = (folder / name).read_bytes()
        at = int(where * len(there))
        (folder / name).write_bytes(there[:at] + junk + (b"" if cut else there[at + len(junk) :]))

    tried(folders, kind, tmp_path, change)


@pytest.mark.parametrize("kind", ["judge", "lm", "part", "reader", *(pytest.param(kind, marks=SLOW) for kind in LARGE)])
def test_any_file_missing(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    for path in sorted(folders[kind].iterdir()):
        if path.is_file():
            tried(folders, kind, tmp_path, partial(remove, path.name))


def remove(name: str, folder: Path) -> None:
    (folder / name).unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_p": "4"}, "'n_p' is '4'; it should be of the type int"),
        ({"n_p": 10**6}, "`n_p` is 1000000"),
        ({"window": -5}, "`window` -5"),
        ({"domains": {"a": "a", "b": None}}, "the domain 'a' is its own counterpart"),
        ({"domains": {"a": "c", "b": None}}, "unknown domain 'c'; known: a, b"),
        ({"sources_only": ["c"]}, "unknown domain 'c'"),
        ({"search": {"a": {"strength": 7}}}, "`strength` is 7"),
        ({"search": {"a": {"max_edits": 1.5}}}, "`max_edits` is 1.5: it is a whole number"),
        ({"shape": {"a": {"words": 1.0}}}, "it needs sentences and words"),
        ({"longest": {"a": -1}}, "need at least 0"),
        ({"widow": 5}, "unknown key 'widow'; known: n_p, window"),
    ],
)
def test_an_error_names_file_and_key(change: dict[str, Any], said: str) -> None:
    with pytest.raises(MaskerError) as error:
        Settings.from_dict({"format": 1, "domains": {"a": "b", "b": "a"}, **change}, "m/masker.json")
    assert str(error.value).startswith("m/masker.json: ")
    assert said in str(error.value)


def test_domains_in_another_order_are_noticed(model_folder: Path, tmp_path: Path) -> None:
    arrays = {"bias": np.zeros(2, np.float32)}
    save_file(arrays, tmp_path / "style.safetensors", {"domains": '["a", "b"]'})
    check_style(tmp_path / "style.safetensors", Settings(domains={"a": "b", "b": "a"}))
    for names in (["b", "a"], ["a"], ["a", "b", "c"], ["a", "c"]):
        with pytest.raises(MaskerError, match=r"is of a, b, and masker\.json of"):
            check_style(tmp_path / "style.safetensors", Settings(domains=dict.fromkeys(names)))
    save_file(arrays, tmp_path / "style.safetensors")  # by an earlier version
    check_style(tmp_path / "style.safetensors", Settings(domains={"b": "a", "a": "b"}))
    with pytest.raises(MaskerError, match="domains"):
        check_style(tmp_path / "style.safetensors", Settings(domains={"a": None}))
    made = [{"stage": "fit", "data": [{"name": "a"}, {"name": "b"}]}]
    check_style(tmp_path / "style.safetensors", Settings(domains={"a": "b", "b": "a"}, made=made))
    with pytest.raises(MaskerError, match=r"is of a, b, and masker\.json of b, a; save the model again"):
        check_style(tmp_path / "style.safetensors", Settings(domains={"b": "a", "a": "b"}, made=made))


def test_domains_of_the_embedded_model_in_another_order_are_noticed(tmp_path: Path) -> None:
    for name in ("config.json", "style.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EMBEDDED / name, tmp_path)
    settings = json.loads((EMBEDDED / "masker.json").read_text("utf-8"))
    (tmp_path / "masker.json").write_text(json.dumps(settings))
    assert list(LightModel.read(tmp_path).settings.domains)[:2] == ["negative", "positive"]
    settings["domains"] = dict(sorted(settings["domains"].items(), reverse=True))
    (tmp_path / "masker.json").write_text(json.dumps(settings))
    with pytest.raises(MaskerError, match=r"is of negative, positive, .* and masker\.json of toxic, "):
        LightModel.read(tmp_path)


def test_a_style_classifier_that_is_missing(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["model"], tmp_path / "copy")
    (tmp_path / "copy" / "style.safetensors").unlink()
    with pytest.raises(MaskerError, match=r"was fitted with a style classifier, and lacks style\.safetensors"):
        LightModel.read(tmp_path / "copy")


def test_weights_that_are_no_numbers(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "copy")
    weights = load_file(tmp_path / "copy" / "model.safetensors")
    name = next(name for name, array in weights.items() if array.ndim == 2)
    weights[name] = weights[name].copy()
    weights[name][0, 0] = np.nan
    save_file(weights, tmp_path / "copy" / "model.safetensors", {"format": "pt"})
    with pytest.raises(MaskerError, match=r"are broken: .* has NaN or infinite numbers"):
        Masker.from_pretrained(tmp_path / "copy")


def test_a_config_of_fewer_layers(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "copy")
    config = json.loads((tmp_path / "copy" / "config.json").read_text())
    (tmp_path / "copy" / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    with pytest.raises(MaskerError, match=r"the weights of .* have .*, which its config\.json does not know"):
        Masker.from_pretrained(tmp_path / "copy")
