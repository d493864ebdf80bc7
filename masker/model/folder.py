"""Model folders: reading and writing them. All that knows the Hugging Face layout is here."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.packed import pack, unpack

if TYPE_CHECKING:
    from masker.model.padded_mlm import PaddedMLM, Settings

EMBEDDED = Path(__file__).parent / "embedded"
SETTINGS = "masker.json"
PACKED = "model.packed.safetensors"
STYLE = "style.safetensors"
EXPORTED = ("masker.onnx", "masker.float32.onnx")  # by masker export
WEIGHTS = (PACKED, "model.safetensors", "model.safetensors.index.json")


def load(name: str | Path | None) -> "PaddedMLM":
    """The embedded model (None), a folder, or a Hugging Face id. Weights are only ever read from safetensors."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    from masker.core.vocabulary import Vocabulary
    from masker.model.padded_mlm import PaddedMLM, Settings

    folder = EMBEDDED if name is None else Path(name).expanduser()
    if folder.is_dir():
        _check_folder(folder)
    elif name is None or folder.exists() or str(name).startswith((".", "/", "~")):
        raise MaskerError(f"no model folder at {folder}")
    else:
        _check_hub(str(name))
    where = str(folder if folder.is_dir() else name)
    with one_line(f"cannot load the model '{where}'"), _quiet():
        settings = _settings(where, folder)
        config = AutoConfig.from_pretrained(where, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(where, use_fast=True, trust_remote_code=False)
        if (folder / PACKED).is_file():
            mlm = AutoModelForMaskedLM.from_config(config, dtype=torch.float32, trust_remote_code=False).eval()
            missing = _load_packed(mlm, folder / PACKED)
        else:
            mlm, report = AutoModelForMaskedLM.from_pretrained(
                where, config=config, use_safetensors=True, dtype=torch.float32, output_loading_info=True,
                trust_remote_code=False,
            )  # fmt: skip
            missing = set(report["missing_keys"]) if settings else set()  # a base may lack its head: training makes one
        if missing:
            raise MaskerError(f"the weights of {where} lack {', '.join(sorted(missing)[:3])}; save the model again")
        model = PaddedMLM(mlm, Vocabulary(tokenizer), settings or Settings())
        _load_style(model, where, folder)
        return _checked(model, where)


def _check_folder(folder: Path) -> None:
    for needed in ("config.json", "tokenizer.json"):
        if not (folder / needed).is_file():
            raise MaskerError(f"the model folder {folder} lacks {needed}; save the model again or copy the file there")
    if not any((folder / name).is_file() for name in WEIGHTS):
        pickles = sorted(p.name for kind in ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt") for p in folder.glob(kind))
        if pickles:
            raise MaskerError(f"{folder} has its weights as a pickle ({pickles[0]}), which can run code when loaded; "
                              "convert it to model.safetensors first")  # fmt: skip
        raise MaskerError(
            f"the model folder {folder} lacks model.safetensors; save the model again or copy the file there"
        )


def _check_hub(name: str) -> None:
    """Ask the hub once, where transformers would ask for half a minute before it gives up."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    with one_line(f"there is no folder '{name}' here, and it cannot be had from the Hugging Face hub"):
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=10)


def _checked(model: "PaddedMLM", where: str) -> "PaddedMLM":
    """Files of different models in one folder would give nonsense, or an index error much later."""
    pieces, rows = len(model.vocabulary), model.mlm.get_input_embeddings().num_embeddings
    if pieces > rows:
        raise MaskerError(
            f"the tokenizer of {where} has {pieces} pieces, its weights {rows}; they do not belong together"
        )
    from masker.core.vocabulary import domain_token

    for name in model.domains:
        if domain_token(name) not in model.vocabulary.tokenizer.get_vocab():
            raise MaskerError(f"the tokenizer of {where} has no token for the domain '{name}'; save the model again")
    return model


def _load_style(model: "PaddedMLM", where: str, folder: Path) -> None:
    """The style classifier, if the model has one."""
    from safetensors.torch import load_file

    if model.domains and (path := _file(where, folder, STYLE)):
        state = load_file(path)
        model.bag_of_words = BagOfWords.from_state({name: t.numpy() for name, t in state.items()})
        model.add_style()
        model.style.load_state_dict({name: state[name] for name in ("weight", "bias")})  # type: ignore[union-attr]


def _file(where: str, folder: Path, name: str) -> Path | None:
    """A file of a model folder or of the hub, if it is there."""
    path: str | Path | None = folder / name
    if not folder.is_dir():
        from transformers.utils import cached_file

        path = cached_file(where, name, _raise_exceptions_for_missing_entries=False)
    return Path(path) if path is not None and Path(path).is_file() else None


def _settings(where: str, folder: Path) -> "Settings | None":
    from masker.model.padded_mlm import Settings

    if not (path := _file(where, folder, SETTINGS)):
        return None
    try:
        fields = json.loads(path.read_text("utf-8"))
        if (version := fields.pop("format", None)) != 1:
            raise MaskerError(f"{path} has format {version}, this version reads 1; update masker-nlp")
        if not isinstance(fields.get("domains", {}), dict) or not isinstance(fields.get("made", []), list):
            raise ValueError("its domains are no object, or made is no list")
        return Settings(**fields)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise MaskerError(f"{path} is no valid settings file: {error}") from error


def save(model: "PaddedMLM", folder: Path, *, packed: bool) -> None:
    """Write a model folder. Files appear whole or not at all, and masker.json comes last."""
    from masker.model.card import model_card

    with one_line(f"cannot save the model in {folder}"), _quiet():
        with staged(folder) as stage:
            if packed:
                model.mlm.config.save_pretrained(stage)
                save_tensors(pack(_weights(model.mlm)), stage / PACKED)
            else:
                model.mlm.save_pretrained(stage)
            save_style(model, stage)
            model.vocabulary.tokenizer.save_pretrained(stage)
            (stage / "README.md").write_text(model_card(model), "utf-8")
            _write_settings(model.settings, stage)
            written = {path.name for path in stage.iterdir()}
        for name in {*WEIGHTS, STYLE, *EXPORTED} - written:  # of an earlier model in this folder
            (folder / name).unlink(missing_ok=True)


def save_style(model: "PaddedMLM", folder: Path) -> None:
    """Both style classifiers, if the model has them."""
    if model.style is not None and model.bag_of_words is not None:
        words = {name: torch.from_numpy(array.copy()) for name, array in model.bag_of_words.state().items()}
        save_tensors({**model.style.state_dict(), **words}, folder / STYLE)


def save_settings(settings: "Settings", folder: Path) -> None:
    """Only masker.json of a model folder."""
    with one_line(f"cannot save the settings in {folder}"), staged(folder) as stage:
        _write_settings(settings, stage)


def _write_settings(settings: "Settings", folder: Path) -> None:
    text = json.dumps(settings.to_dict(), indent=2, ensure_ascii=False)
    (folder / SETTINGS).write_text(text + "\n", "utf-8")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A scratch folder whose files are moved into `folder` when all of them have been written."""
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".writing-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    stage = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    try:
        yield stage
        for path in stage.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        for path in sorted(stage.iterdir(), key=lambda p: p.name == SETTINGS):
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if fresh:
            with suppress(OSError):  # it is empty only if nothing was written
                folder.rmdir()


@contextmanager
def one_line(what: str) -> Iterator[None]:
    """One line out of the many kinds of error that a broken file, a full disk or an unreachable hub raise."""
    try:
        yield
    except MaskerError:
        raise
    except Exception as error:
        said = (isinstance(error, OSError) and error.strerror) or str(error)
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        raise MaskerError(f"{what}: {lines[0] if lines else type(error).__name__}") from error


def push(model: "PaddedMLM", repository: str, **options: Any) -> None:
    """Upload a model to the hub; `options` go to huggingface_hub's upload_folder."""
    from huggingface_hub import HfApi

    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), packed=False)
        with one_line(f"cannot push to '{repository}'"):
            api = HfApi()
            api.create_repo(repository, exist_ok=True)
            api.upload_folder(repo_id=repository, folder_path=folder, **options)


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    from safetensors.torch import save_file

    with one_line(f"cannot write {path.name}"):
        save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, path, {"format": "pt"})


def _weights(mlm: Any) -> dict[str, Tensor]:
    """Parameters and saved buffers, each once: the output projection of most models is the embedding matrix again."""
    saved = mlm.state_dict()
    return {name: t.detach().cpu() for name, t in [*mlm.named_parameters(), *mlm.named_buffers()] if name in saved}


def _load_packed(mlm: Any, path: Path) -> set[str]:
    """Fill in the weights; gives the names of those that the file lacks."""
    from safetensors.torch import load_file

    shapes = {name: t.shape for name, t in _weights(mlm).items()}
    state = unpack(load_file(path), shapes)
    mlm.load_state_dict(state, strict=False)
    mlm.tie_weights()
    return set(shapes) - set(state)


@contextmanager
def _quiet() -> Iterator[None]:
    """Transformers without its reports and progress bars: what matters of them is said by Masker itself."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()
