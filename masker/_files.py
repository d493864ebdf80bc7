"""Model folders: reading and writing them. All that knows the Hugging Face layout is here."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.model import PaddedMLM

EMBEDDED = Path(__file__).parent / "models" / "embedded"
SETTINGS = "masker.json"
EIGHT_BIT = "model.int8.safetensors"
_SCALE = ".scale"


def load(name: str | Path | None) -> "PaddedMLM":
    """The embedded model (None), a folder, or a Hugging Face id. Weights are only ever read from safetensors."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    from masker.model import PaddedMLM, Settings
    from masker.vocabulary import Vocabulary

    folder = EMBEDDED if name is None else Path(name)
    if folder.is_dir():
        _check_folder(folder)
    elif name is None or folder.exists() or str(name).startswith((".", "/", "~")):
        raise MaskerError(f"no model folder at {folder}")
    where = str(folder if folder.is_dir() else name)
    with _quiet():
        try:
            config = AutoConfig.from_pretrained(where)
            vocabulary = Vocabulary(AutoTokenizer.from_pretrained(where, use_fast=True))
            if (folder / EIGHT_BIT).is_file():
                mlm = AutoModelForMaskedLM.from_config(config)
                _load_eight_bit(mlm, folder / EIGHT_BIT)
            else:
                mlm = AutoModelForMaskedLM.from_pretrained(where, config=config, use_safetensors=True, dtype="float32")
        except MaskerError:
            raise
        except Exception as error:  # one line out of the many kinds that a broken folder or an unreachable hub raise
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise MaskerError(f"cannot load the model '{where}': {reason}") from error
    settings = _settings(where, folder)
    if not settings:
        return PaddedMLM(mlm, vocabulary, Settings())
    settings.pop("format")
    return PaddedMLM(mlm, vocabulary, Settings(**settings))


def _check_folder(folder: Path) -> None:
    for needed in ("config.json", "tokenizer.json"):
        if not (folder / needed).is_file():
            raise MaskerError(f"the model folder {folder} lacks {needed}; save the model again or copy the file there")
    if not any(folder.glob("*.safetensors")):
        pickles = sorted(p.name for kind in ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt") for p in folder.glob(kind))
        if pickles:
            raise MaskerError(f"{folder} has its weights as a pickle ({pickles[0]}), which can run code when loaded; "
                              "convert it to model.safetensors first")  # fmt: skip
        raise MaskerError(
            f"the model folder {folder} lacks model.safetensors; save the model again or copy the file there"
        )


def _settings(where: str, folder: Path) -> dict[str, Any]:
    path: str | Path | None = folder / SETTINGS
    if not folder.is_dir():
        from transformers.utils import cached_file

        path = cached_file(where, SETTINGS, _raise_exceptions_for_missing_entries=False)
    if path is None or not Path(path).is_file():
        return {}
    try:
        settings = json.loads(Path(path).read_text("utf-8"))
        if settings.get("format") != 1:
            raise MaskerError(f"{path} has format {settings.get('format')}, this version reads 1; update masker-nlp")
    except (ValueError, AttributeError) as error:
        raise MaskerError(f"{path} is no valid settings file: {error}") from error
    return settings


def save(model: "PaddedMLM", folder: Path, *, eight_bit: bool) -> None:
    """Write a model folder. Files appear whole or not at all, and masker.json comes last."""
    from masker.card import model_card

    with staged(folder) as stage, _quiet():
        if eight_bit:
            model.mlm.config.save_pretrained(stage)
            _save_eight_bit(model.mlm, stage / EIGHT_BIT)
        else:
            model.mlm.save_pretrained(stage)
        model.vocabulary.tokenizer.save_pretrained(stage)
        (stage / "README.md").write_text(model_card(model), "utf-8")
        (stage / SETTINGS).write_text(
            json.dumps(model.settings.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8"
        )


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A scratch folder whose files are moved into `folder` when all of them have been written."""
    folder.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    try:
        yield stage
        for path in stage.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        for path in sorted(stage.iterdir(), key=lambda p: p.name == SETTINGS):
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def push(model: "PaddedMLM", repository: str, **options: Any) -> None:
    """Upload a model to the hub; `options` go to huggingface_hub's upload_folder."""
    from huggingface_hub import HfApi

    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), eight_bit=False)
        try:
            api = HfApi()
            api.create_repo(repository, exist_ok=True)
            api.upload_folder(repo_id=repository, folder_path=folder, **options)
        except Exception as error:
            raise MaskerError(f"cannot push to '{repository}': {str(error).splitlines()[0]}") from error


# -- weights in eight bits ------------------------------------------------------------------------------------------------


def quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8 with one scale a row."""
    scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return (weight / scale).round().to(torch.int8), scale.half()


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, path, {"format": "pt"})
    except SafetensorError as error:
        raise MaskerError(f"cannot write {path.name}: {error}") from error


def _save_eight_bit(mlm: Any, path: Path) -> None:
    tensors = {}
    tied = set(mlm.state_dict()) - {name for name, _ in [*mlm.named_parameters(), *mlm.named_buffers()]}
    for name, tensor in mlm.state_dict().items():
        if name in tied:  # the output projection is the embedding matrix again
            continue
        if tensor.dim() == 2:
            tensors[name], tensors[name + _SCALE] = quantise(tensor.float())
        else:
            tensors[name] = tensor
    save_tensors(tensors, path)


def _load_eight_bit(mlm: Any, path: Path) -> None:
    from safetensors.torch import load_file

    stored = load_file(path)
    state = {
        name: tensor.float() * stored[name + _SCALE].float() if tensor.dtype == torch.int8 else tensor
        for name, tensor in stored.items()
        if not name.endswith(_SCALE)
    }
    mlm.load_state_dict(state, strict=False)
    mlm.tie_weights()
    missing = {name for name, _ in mlm.named_parameters()} - set(state)
    if missing:
        raise MaskerError(f"{path} lacks the weights {', '.join(sorted(missing)[:3])}")


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
