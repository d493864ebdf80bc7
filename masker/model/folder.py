"""Model folders: which files they have and what is in them, known here alone. Nothing heavy is imported.

A folder may have:

    config.json, tokenizer.json, ...   as Hugging Face has them
    model.safetensors                  the weights, or model.packed.safetensors: the same in a third of the size
    style.safetensors                  the two style classifiers, if the model has them
    masker.json                        Masker's settings; without it the model is a base for `masker fit`
    graphs.safetensors                 what ONNX Runtime needs besides the weights, by `masker export`
    student                            a folder: the model's fast student, if it has one
    reader                             a folder: a causal LM that reads the search editor's drafts, if it has one
    critic                             a folder: what tells how probably a reader accepts a rewrite, if it has one
    phrases                            a folder: phrase books, TO.txt for a target domain, if it has some
    baselines                          folders: what the paper compares with, if fitted, by `masker fit --baseline`
"""

import json
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.data.checked import check_kind, read_object
from masker.errors import MaskerError, check_name
from masker.model.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

EMBEDDED = Path(__file__).parent / "embedded"
SETTINGS = "masker.json"
CARD = "README.md"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
PLAIN = "model.safetensors"
INDEX = "model.safetensors.index.json"
PACKED = "model.packed.safetensors"
STYLE = "style.safetensors"
GRAPHS = "graphs.safetensors"
STUDENT = "student"
READER = "reader"
BASELINES = "baselines"
PHRASES = "phrases"
READER_CARD = "reader.json"
CRITIC = "critic"
CRITIC_CARD = "critic.json"
WEIGHTS = (PACKED, PLAIN, INDEX)
# what a folder is, by the file that says so, which is written last
CARDS = {
    SETTINGS: "a model", "student.json": "a student", READER_CARD: "a reader", CRITIC_CARD: "a critic",
    "judge.json": "a judge", "ngram_lm.json": "a language model",
}  # fmt: skip
OUTDATED = ("masker.onnx", "masker.float32.onnx")  # by masker export of version 0.1


def local_folder(name: str | Path | None) -> Path | None:
    """The folder of the embedded model (None) or of a path, checked for what every model needs; None for a hub id."""
    if name is not None:
        check_name(model=name)
    folder = EMBEDDED if name is None else Path(name).expanduser()
    if folder.is_dir():
        _check(folder)
        return folder
    if name is None or folder.exists() or str(name).startswith((".", "/", "~")):
        raise MaskerError(f"no model folder at {folder}")
    return None


def has_settings(folder: str | Path) -> bool:
    """Whether a folder holds a model of Masker's."""
    return (Path(folder).expanduser() / SETTINGS).is_file()


def exported_folder(name: str | Path | None) -> Path | None:
    """The folder of a model that ONNX Runtime can run; None for others."""
    folder = local_folder(name)
    return folder if folder and (folder / GRAPHS).is_file() else None


def _check(folder: Path) -> None:
    for needed in (CONFIG, TOKENIZER):
        if not (folder / needed).is_file():
            raise MaskerError(f"the model folder {folder} lacks {needed}; save the model again or copy the file there")
    if not any((folder / name).is_file() for name in WEIGHTS):
        pickles = sorted(p.name for kind in ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt") for p in folder.glob(kind))
        if pickles:
            raise MaskerError(f"{folder} has its weights as a pickle ({pickles[0]}), which can run code when loaded; "
                              f"convert it to {PLAIN} first")  # fmt: skip
        raise MaskerError(f"the model folder {folder} lacks {PLAIN}; save the model again or copy the file there")


# -- what is in the files ----------------------------------------------------------------------------------------------


def read_settings(path: Path) -> Settings:
    """What masker.json says, checked."""
    return Settings.from_dict(read_object(path), path)


def read_config(folder: Path) -> dict[str, Any]:
    """What config.json says of the architecture."""
    config = read_object(folder / CONFIG)
    if not isinstance(config.get("model_type"), str):
        raise MaskerError(f"{folder / CONFIG} names no model_type; save the model again or copy the file there")
    return config


def weight_files(folder: Path) -> list[Path]:
    """The file, or files, that the weights are in."""
    if (folder / PACKED).is_file():
        return [folder / PACKED]
    if (folder / PLAIN).is_file() or not (folder / INDEX).is_file():
        return [folder / PLAIN]
    with one_line(f"cannot read {folder / INDEX}"):
        parts = read_object(folder / INDEX)["weight_map"]
        check_kind("weight_map", parts, dict[str, str], folder / INDEX)
        if wrong := next((name for name in parts.values() if Path(name).name != name), None):
            raise MaskerError(f"{folder / INDEX} names weights outside of its folder, '{wrong}'; save the model again")
        return [folder / name for name in sorted(set(parts.values()))]


def fingerprint(folder: Path, *more: Path) -> str:
    """A checksum of the weights and the tokenizer: what is derived from them belongs to no others.

    With the folders of a student and of the model whose embeddings it shares, of both.
    """
    found = 0
    with one_line(f"cannot read the model folder {folder}"):
        for path in [path for at in (folder, *more) for path in (*weight_files(at), at / STYLE, at / TOKENIZER)]:
            if path.is_file() or (path.name != STYLE and not more):
                with path.open("rb") as file:
                    while block := file.read(1 << 18):
                        found = zlib.crc32(block, found)
    return f"{found:08x}"


# -- writing -----------------------------------------------------------------------------------------------------------


def save_settings(settings: Settings, folder: Path) -> None:
    """Only masker.json of a model folder."""
    with one_line(f"cannot save the settings in {folder}"), staged(folder) as stage:
        write_settings(settings, stage)


def write_settings(settings: Settings, folder: Path) -> None:
    text = json.dumps(settings.to_dict(), indent=2, ensure_ascii=False)
    (folder / SETTINGS).write_text(text + "\n", "utf-8")


def save_tensors(tensors: "Mapping[str, Tensor]", path: Path, **said: Any) -> None:
    """Tensors, and beside them whatever is to be said of them."""
    from safetensors.torch import save_file

    metadata = {"format": "pt", **{name: json.dumps(value) for name, value in said.items()}}
    with one_line(f"cannot write {path.name}"):
        save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, path, metadata)


def check_style(path: Path, settings: Settings) -> None:
    """The classifiers know domains by their order alone: another one in masker.json would turn every answer round."""
    from safetensors import safe_open

    with one_line(f"cannot read {path}"), safe_open(path, "np") as file:
        rows, said = file.get_slice("bias").get_shape(), (file.metadata() or {}).get("domains")
    names = list(settings.domains)
    order = _fitted(settings) if said is None else json.loads(said)
    if rows != [len(names)] or order not in (None, names):
        known = ", ".join(order) if order else f"{rows} domains"
        raise MaskerError(f"{path} is of {known}, and {SETTINGS} of {', '.join(names)}; save the model again")


def _fitted(settings: Settings) -> list[str] | None:
    """The domains as the record of their fitting has them, in its order: for weights that do not say."""
    data = settings.made[-1].get("data") if settings.made else None
    names = [str(one.get("name")) for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    return names if {*names} == {*settings.domains} and len(names) == len(settings.domains) else None


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A scratch folder whose files are moved into `folder` when all of them have been written."""
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".writing-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    stage = folder / f".writing-{secrets.token_hex(6)}"
    stage.mkdir()
    mode = stat.S_IMODE(stage.stat().st_mode)  # what the umask leaves; some writers of files do not ask it
    try:
        yield stage
        for path in stage.rglob("*"):
            path.chmod(mode if path.is_dir() else mode & 0o666)
        for path in sorted(stage.iterdir(), key=lambda p: p.name in CARDS):
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
        if isinstance(error, KeyError):
            said = f"it has no {said}"
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if len(lines) > 1 and lines[0].startswith("Error(s) in loading"):  # of which torch tells in the next line
            lines[0] = lines[1]
        first = lines[0].rstrip(":") if lines else type(error).__name__
        raise MaskerError(f"{what}: {first}") from error
