import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import make_model
from safetensors.torch import load_file, save_file

from masker.errors import MaskerError
from masker.model import folder as _files
from masker.model.padded_mlm import PaddedMLM, Settings


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A copy of a model folder, to be broken."""
    return shutil.copytree(model_folder, tmp_path / "model")


def refused(folder: Path | str) -> str:
    with pytest.raises(MaskerError) as error:
        PaddedMLM.from_pretrained(folder)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    return str(error.value)


def logits(model: PaddedMLM) -> torch.Tensor:
    ids = torch.tensor(
        [[*model.vocabulary.start, *model.vocabulary.read("the food was").pieces, *model.vocabulary.end]]
    )
    with torch.no_grad():
        return model.eval()(ids, torch.ones_like(ids), torch.tensor([[1, 2]]))


# -- round trips -------------------------------------------------------------------------------------------------------


def test_round_trip_is_exact(family: str, tmp_path: Path) -> None:
    model = make_model(family)
    model.save_pretrained(tmp_path / "m")
    again = PaddedMLM.from_pretrained(tmp_path / "m")
    assert dict(again.named_parameters()).keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name)), name
    assert torch.equal(logits(model), logits(again))
    assert again.vocabulary.tokenizer.get_vocab() == model.vocabulary.tokenizer.get_vocab()
    assert [again.vocabulary.domain(d) for d in again.domains] == [model.vocabulary.domain(d) for d in model.domains]
    text = "the café wasn't [MASK] so-so , [domain:positive] ."
    assert again.vocabulary.read(text) == model.vocabulary.read(text)
    embedding = again.mlm.get_input_embeddings().weight
    assert again.mlm.get_output_embeddings().weight is embedding, "tied weights stay tied"


def test_packed_weights(family: str, tmp_path: Path) -> None:
    model = make_model(family)
    model.save_pretrained(tmp_path / "m", packed=True)
    again = PaddedMLM.from_pretrained(tmp_path / "m")
    assert not again.mlm.training
    for name, parameter in model.named_parameters():
        other = again.get_parameter(name)
        assert other.dtype == torch.float32
        if parameter.dim() != 2:
            assert torch.equal(parameter, other), name
            continue
        step = parameter.abs().amax(1, keepdim=True) / 2047
        assert ((parameter - other).abs() <= 1.01 * step + 1e-6).all(), name  # float16 in small tables
    assert again.mlm.get_output_embeddings().weight is again.mlm.get_input_embeddings().weight


def test_a_model_in_half_precision_is_widened(folder: Path) -> None:
    weights = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float16"}))
    model = PaddedMLM.from_pretrained(folder)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    model.save_pretrained(folder, packed=True)
    assert {p.dtype for p in PaddedMLM.from_pretrained(folder).parameters()} == {torch.float32}


def test_settings_survive(tmp_path: Path) -> None:
    model = make_model("bert", ("a", "b", "c"))
    made = [{"stage": "fit", "command": "masker fit 'ü'", "base": "x", "data": [], "settings": {}, "steps": 1,
             "best_step": 1, "seconds": 0, "device": "CPU", "date": "2026-01-01", "scores": {}}]  # fmt: skip
    model.settings = Settings(n_p=3, window=17, domains={"a": "b", "b": None, "c": "a"}, made=made)
    model.save_pretrained(tmp_path)
    assert PaddedMLM.from_pretrained(tmp_path).settings == model.settings


def test_a_plain_hugging_face_folder_is_a_base(folder: Path) -> None:
    (folder / "masker.json").unlink()
    assert PaddedMLM.from_pretrained(folder).settings == Settings()
    weights = load_file(folder / "model.safetensors")
    save_file(
        {k: t for k, t in weights.items() if not k.startswith("cls.")}, folder / "model.safetensors", {"format": "pt"}
    )
    assert PaddedMLM.from_pretrained(str(folder)).domains == []  # without a head, too: training makes one


def test_a_tilde_is_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert PaddedMLM.from_pretrained("~/model").domains == ["negative", "positive"]


def test_saving_over_another_model_leaves_nothing_of_it(folder: Path) -> None:
    """The weights in eight bits of an earlier model would be loaded instead of the new ones."""
    other = make_model("bert", seed=5)
    for packed in (True, False, True):
        other.save_pretrained(folder, packed=packed)
        assert (folder / "model.packed.safetensors").exists() == packed
        assert (folder / "model.safetensors").exists() != packed
    other.save_pretrained(folder)
    assert torch.equal(logits(PaddedMLM.from_pretrained(folder)), logits(other))


# -- broken folders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    error = refused(folder)
    assert f"lacks {name}" in error
    assert str(folder) in error


def test_what_can_be_missed(folder: Path) -> None:
    whole = logits(PaddedMLM.from_pretrained(folder))
    for name in ("README.md", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)
    assert torch.equal(logits(PaddedMLM.from_pretrained(folder)), whole)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "last.ckpt"])
def test_a_pickle_is_refused(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / name)
    assert f"as a pickle ({name})" in refused(folder)
    (folder / "other.safetensors").write_bytes(b"")  # an adapter, say: no weights of the model
    assert "pickle" in refused(folder)


def test_transformers_is_told_to_read_safetensors_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hub repository holds cannot be looked at beforehand."""
    from transformers import AutoModelForMaskedLM

    asked: dict[str, object] = {}

    def capture(*_: object, **options: object) -> None:
        asked.update(options)
        raise OSError("no weights")

    monkeypatch.setattr(AutoModelForMaskedLM, "from_pretrained", capture)
    assert "no weights" in refused(folder)
    assert asked["use_safetensors"] is True
    assert asked["trust_remote_code"] is False


def test_a_pickle_beside_the_weights_is_not_touched(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")
    assert PaddedMLM.from_pretrained(folder).domains


def test_code_in_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'owned')!r}, 'w')\nfrom transformers import BertConfig as Evil\n"
    (folder / "evil.py").write_text(code)
    config = json.loads((folder / "config.json").read_text())
    config.update(model_type="evil", auto_map={"AutoConfig": "evil.Evil", "AutoModelForMaskedLM": "evil.Evil"})
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
def test_truncated_weights(folder: Path, packed: bool, share: float) -> None:
    make_model("bert").save_pretrained(folder, packed=packed)
    path = folder / (_files.PACKED if packed else "model.safetensors")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert f"cannot load the model '{folder}'" in refused(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"model_type": "gpt2"}'])
def test_broken_json(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    refused(folder)


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", "3", '"x"', '{"format": 2}', "{}", '{"format": 1, "n_p": "four"}',
        '{"format": 1, "n_p": 0}', '{"format": 1, "colour": "red"}', '{"format": 1, "domains": ["a"]}',
        '{"format": 1, "domains": null}', '{"format": 1, "made": 3}', '{"format": 1, "window": 3}',
        '{"format": 1, "domains": {"unknown": null}}',
    ],
)  # fmt: skip
def test_broken_settings(folder: Path, content: str) -> None:
    (folder / "masker.json").write_text(content)
    error = refused(folder)
    assert "masker.json" in error or "n_p" in error or "domain 'unknown'" in error
    assert str(folder) in error or "n_p" in error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"n_p": "four"', "'n_p' is 'four'; it should be of the type int"),
        ('"window": true', "'window' is True; it should be of the type int"),
        ('"domains": {"a": 3}', "'domains' is {'a': 3}; it should be of the type dict[str, str | None]"),
        ('"longest": {"a": "long"}', "'longest' is {'a': 'long'}; it should be"),
        ('"search": {"a": {"strength": "high"}}', "'search' is {'a': {'strength': 'high'}}; it should be"),
        ('"made": {}', "'made' is {}; it should be"),
        ('"colour": "red"', "unknown key 'colour'; known: n_p, window"),
    ],
)
def test_wrong_settings_are_named_with_file_and_key(folder: Path, content: str, said: str) -> None:
    (folder / "masker.json").write_text(f'{{"format": 1, {content}}}')
    assert f"{folder / 'masker.json'}: {said}" in refused(folder)


def test_settings_that_are_no_text(folder: Path) -> None:
    (folder / "masker.json").write_bytes(b"\xff\xfe{")
    assert "masker.json" in refused(folder)


@pytest.mark.parametrize("packed", [True, False])
def test_missing_weights_are_not_made_up(folder: Path, packed: bool) -> None:
    """Transformers would fill them with random numbers, and say so where nobody looks."""
    make_model("bert").save_pretrained(folder, packed=packed)
    path = folder / (_files.PACKED if packed else "model.safetensors")
    weights = load_file(path)
    gone = "bert.encoder.layer.0.output.LayerNorm.weight"
    del weights[gone]
    save_file(weights, path, {"format": "pt"})
    assert gone in refused(folder)


def test_files_of_different_models(folder: Path, tmp_path: Path) -> None:
    make_model("bert", tuple(f"d{k}" for k in range(80))).save_pretrained(tmp_path / "big")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tmp_path / "big" / name, folder / name)
    assert "do not belong together" in refused(folder)
    shutil.copy(tmp_path / "big" / "config.json", folder / "config.json")
    refused(folder)


def test_no_such_folder(tmp_path: Path) -> None:
    for name in (tmp_path / "nowhere", "./nowhere", "/nowhere", "~/nowhere"):
        assert "no model folder at" in refused(name)
    (tmp_path / "file").write_text("")
    assert "no model folder at" in refused(tmp_path / "file")


def test_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: transformers would try for half a minute."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits to try again"))
    for name in ("nobody/nothing", "modle"):
        error = refused(name)
        assert f"there is no folder '{name}' here" in error
        assert "Hugging Face hub" in error


def test_bad_hub_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("a/b/c", "what is this?"):
        refused(name)


# -- saving fails ------------------------------------------------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "where", ["safetensors.numpy.save_file", "transformers.modeling_utils.safe_save_file", "pathlib.Path.write_text"]
)
def test_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, packed: bool) -> None:
    model = make_model("bert")
    monkeypatch.setattr(where, full)
    used = {"safetensors.numpy.save_file": packed, "transformers.modeling_utils.safe_save_file": not packed}
    if not used.get(where, True):
        return
    out = tmp_path / "new" / "model"
    with pytest.raises(MaskerError, match="No space left on device"):
        model.save_pretrained(out, packed=packed)
    assert not out.exists()


def test_no_space_really(folder: Path, limited: Callable[[int], None]) -> None:
    """A limit on the size of files stands for a full disk: some of the files fit, the weights do not."""
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    model = make_model("bert", seed=9)
    for packed in (True, False):
        limited(5_000)
        with pytest.raises(MaskerError, match=r"cannot (save the model in|write) .*") as error:
            model.save_pretrained(folder, packed=packed)
        limited(0)
        assert "\n" not in str(error.value)
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before, "the old model is as it was"


@pytest.fixture
def limited() -> Callable[[int], None]:
    """Files may not grow beyond so many bytes; 0 lifts the limit."""
    import resource
    import signal

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]) if size else limits)  # type: ignore[misc]
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    for out in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(MaskerError, match="cannot save the model in"):
            make_model("bert").save_pretrained(out)
    assert (tmp_path / "file").read_text() == "precious"


def test_what_a_killed_process_left_is_cleaned_up(tmp_path: Path) -> None:
    (tmp_path / ".writing-abc").mkdir()
    (tmp_path / ".writing-abc" / "model.safetensors").write_text("half")
    (tmp_path / "notes.txt").write_text("precious")
    make_model("bert").save_pretrained(tmp_path)
    assert not list(tmp_path.glob(".writing-*"))
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_others_may_read_what_is_saved(model_folder: Path) -> None:
    assert {p.stat().st_mode & 0o777 for p in model_folder.iterdir()} == {0o644}


def test_pushing_where_there_is_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("")

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", unreachable)
    with pytest.raises(MaskerError, match="cannot push to 'me/model': ConnectionError"):
        make_model("bert").push_to_hub("me/model")
