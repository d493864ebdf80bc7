"""A padded MLM from a model folder or the hub, and to them: all that knows how Transformers loads and saves."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.folder import (
    CARD,
    CONFIG,
    GRAPHS,
    OUTDATED,
    PACKED,
    SETTINGS,
    STYLE,
    TOKENIZER,
    WEIGHTS,
    check_style,
    local_folder,
    one_line,
    read_settings,
    save_tensors,
    staged,
    write_settings,
)
from masker.model.packed import pack
from masker.model.settings import Settings
from masker.model.weights import Weights

if TYPE_CHECKING:
    from masker.model.padded_mlm import PaddedMLM


def load(name: str | Path | None) -> "PaddedMLM":
    """The embedded model (None), a folder, or a Hugging Face id. Weights are only ever read from safetensors."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    from masker.core.vocabulary import Vocabulary
    from masker.model.padded_mlm import PaddedMLM

    folder = local_folder(name)
    if folder is None:
        check_hub(str(name))
    where = str(folder or name)
    with one_line(f"cannot load the model '{where}'"), quiet():
        path = _file(where, folder, SETTINGS)
        settings = read_settings(path) if path else None
        config = AutoConfig.from_pretrained(where, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(where, use_fast=True, trust_remote_code=False)
        if folder and (folder / PACKED).is_file():
            mlm = AutoModelForMaskedLM.from_config(config, dtype=torch.float32, trust_remote_code=False).eval()
            missing, more = load_packed(mlm, folder)
        else:
            mlm, report = AutoModelForMaskedLM.from_pretrained(
                where, config=config, use_safetensors=True, dtype=torch.float32, output_loading_info=True,
                trust_remote_code=False,
            )  # fmt: skip
            missing = set(report["missing_keys"]) if settings else set()  # a base may lack its head: training makes one
            more = set(report["unexpected_keys"]) if settings else set()
        if more:
            raise MaskerError(
                f"the weights of {where} have {', '.join(sorted(more)[:3])}, which its {CONFIG} does not know; "
                "save the model again"
            )
        if missing:
            raise MaskerError(f"the weights of {where} lack {', '.join(sorted(missing)[:3])}; save the model again")
        model = PaddedMLM(mlm, Vocabulary(tokenizer), settings or Settings())
        model.folder = folder
        _load_style(model, _file(where, folder, STYLE))
        return _checked(model, where)


def check_hub(name: str) -> None:
    """Ask the hub once, where transformers would ask for half a minute before it gives up."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    with one_line(f"there is no folder '{name}' here, and it cannot be had from the Hugging Face hub"):
        if not isinstance(try_to_load_from_cache(name, CONFIG), str):
            get_hf_file_metadata(hf_hub_url(name, CONFIG), timeout=10)


def _file(where: str, folder: Path | None, name: str) -> Path | None:
    """A file of a model folder or of the hub, if it is there."""
    path: str | Path | None = folder / name if folder else None
    if folder is None:
        from transformers.utils import cached_file

        path = cached_file(where, name, _raise_exceptions_for_missing_entries=False)
    return Path(path) if path is not None and Path(path).is_file() else None


def load_packed(mlm: Any, folder: Path) -> tuple[set[str], set[str]]:
    """Fill in the weights; gives the names of those that the file lacks, and of those that it has besides."""
    stored, wanted = Weights(folder), _weights(mlm)
    found = {name: torch.from_numpy(stored[name].copy()).view(wanted[name].shape) for name in stored if name in wanted}
    mlm.load_state_dict(found, strict=False)
    mlm.tie_weights()
    return set(wanted) - set(found), {name for name in stored if name not in wanted and not name.startswith("style.")}


def _load_style(model: "PaddedMLM", path: Path | None) -> None:
    """The style classifier, if the model has one."""
    from safetensors.torch import load_file

    if path is None and model.settings.has_style:
        raise MaskerError(f"the model was fitted with a style classifier, and {STYLE} is missing; copy it there")
    if model.domains and path:
        check_style(path, model.settings)
        state = load_file(path)
        model.bag_of_words = BagOfWords.from_state({name: t.numpy() for name, t in state.items()})
        model.add_style()
        model.style.load_state_dict({name: state[name] for name in ("weight", "bias")})  # type: ignore[union-attr]


def _checked(model: "PaddedMLM", where: str) -> "PaddedMLM":
    pieces, rows = len(model.vocabulary), model.mlm.get_input_embeddings().num_embeddings
    if pieces > rows:
        raise MaskerError(
            f"the tokenizer of {where} has {pieces} pieces, its weights {rows}; they do not belong together"
        )
    model.check_tokens(where)
    check_finite(model, where)
    return model


def check_finite(module: torch.nn.Module, where: object) -> None:
    """A weight that is no number makes every answer none."""
    for name, weight in module.state_dict().items():
        if weight.is_floating_point() and not torch.isfinite(weight).all():
            raise MaskerError(f"the weights of {where} are broken: {name} has NaN or infinite numbers; save them again")


def save(model: "PaddedMLM", folder: Path, *, packed: bool) -> None:
    """Write a model folder. Files appear whole or not at all, and masker.json comes last."""
    from masker.model.card import model_card

    with one_line(f"cannot save the model in {folder}"), quiet():
        with staged(folder) as stage:
            if packed:
                model.mlm.config.save_pretrained(stage)
                save_packed(model.mlm, stage / PACKED)
            else:
                model.mlm.save_pretrained(stage)
            if model.style is not None and model.bag_of_words is not None:
                words = {name: torch.from_numpy(array.copy()) for name, array in model.bag_of_words.state().items()}
                save_tensors({**model.style.state_dict(), **words}, stage / STYLE, domains=model.domains)
            model.vocabulary.tokenizer.save_pretrained(stage)
            if packed:
                _compact(stage / TOKENIZER)
            (stage / CARD).write_text(model_card(model), "utf-8")
            write_settings(model.settings, stage)
            written = {path.name for path in stage.iterdir()}
        for name in {*WEIGHTS, STYLE, GRAPHS, *OUTDATED} - written:  # of an earlier model in this folder
            (folder / name).unlink(missing_ok=True)


def _compact(path: Path) -> None:
    """JSON without its spaces, which are a third of a tokenizer."""
    tokenizer = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), "utf-8")


def save_packed(mlm: Any, path: Path) -> None:
    from safetensors.numpy import save_file

    with one_line(f"cannot write {path.name}"):
        save_file(pack({name: t.float().numpy() for name, t in _weights(mlm).items()}), path)


def push(model: "PaddedMLM", repository: str, **options: Any) -> None:
    """Upload a model to the hub."""
    from huggingface_hub import HfApi

    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), packed=False)
        with one_line(f"cannot push to '{repository}'"):
            api = HfApi()
            api.create_repo(repository, exist_ok=True)
            api.upload_folder(repo_id=repository, folder_path=folder, **options)


def _weights(mlm: Any) -> dict[str, Tensor]:
    """Parameters and saved buffers, each once: the output projection of most models is the embedding matrix again."""
    saved = mlm.state_dict()
    return {name: t.detach().cpu() for name, t in [*mlm.named_parameters(), *mlm.named_buffers()] if name in saved}


@contextmanager
def quiet() -> Iterator[None]:
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
