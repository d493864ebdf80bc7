"""An exported model on the CPU, by ONNX Runtime. Neither torch nor transformers is imported: it starts in a moment."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from masker.core.runtime import Array, SlotScores, array_module, to_numpy
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.settings import Settings, WithDomains

FILE = "masker.onnx"  # beside masker.json and tokenizer.json
EXACT = "masker.float32.onnx"  # beside FILE: int8 finds the best edits, float32 decides between them
_VERSION = b"2"  # of what masker export writes
_LANES, _LEAST = 4, 32  # sessions at most, and tokens that are worth one of their own
_EMBEDDED = Path(__file__).parents[1] / "model" / "embedded"


class OnnxRuntime:
    """One ONNX file, of which the scoring step is a part: no logits leave it. `threads`: all cores without.

    Rows are shared out to up to `_LANES` sessions, each with memory of its own, and computed there from first to last.
    One session for all threads, or threads that share every product, would wait for what another core has written.
    """

    batch_tokens = 1024
    chunk = 32
    prefetch = 0

    def __init__(self, path: Path, threads: int = 0) -> None:
        self._path, self._threads = path, threads or _named() or cores()
        self._lanes = min(_LANES, self._threads)

    @cached_property
    def _sessions(self) -> list[Any]:
        """Made when they are needed: the search editor does not use int8, nor `explain`."""
        import onnxruntime

        def load(k: int) -> Any:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = (self._threads + k) // self._lanes
            options.log_severity_level = 3
            # all optimisations would take longer to load, and gain nothing
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
            return onnxruntime.InferenceSession(
                str(self._path), options, providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # slower than the two that it joins
            )  # fmt: skip

        try:
            return list(self._pool.map(load, range(self._lanes)))
        except Exception as error:  # ONNX Runtime's own kinds, which it does not name in public
            first = str(error).splitlines()[0]
            raise MaskerError(f"cannot load {self._path}: {first}; write it again with masker export") from error

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._lanes)

    @cached_property
    def outputs(self) -> list[str]:
        return [output.name for output in self._sessions[0].get_outputs()]

    @cached_property
    def _zeros(self) -> np.ndarray:
        return np.zeros(self._sessions[0].get_inputs()[4].shape[0], dtype=np.float32)

    @cached_property
    def exact(self) -> "OnnxRuntime | None":
        path = self._path.with_name(EXACT)
        return OnnxRuntime(path, self._threads) if path != self._path and path.is_file() else None

    def to_device(self, array: np.ndarray) -> np.ndarray:
        return array

    def __call__(
        self, ids: Array, attention: Array, slots: Array, asked: Array, bias: Array | None, top: int = 1
    ) -> SlotScores:
        results = self._run(ids, attention, slots, asked, bias, max(1, top))
        return SlotScores(*(_like(results[name], ids) for name in ("best", "best_log_p", "asked_log_p")))

    def styles(self, ids: Array, attention: Array) -> Array:
        if "styles" not in self.outputs:
            raise MaskerError("the model has no style classifier; fit it on two or more domains (masker fit)")
        first = np.zeros((len(ids), 1), dtype=np.int64)  # the first vector is what the classifier reads
        return _like(self._run(ids, attention, first, first[:, :, None], None, 1)["styles"], ids)

    def _run(self, *inputs: Any) -> dict[str, np.ndarray]:
        *arrays, bias, top = inputs
        feed = dict(zip(("ids", "attention", "slots", "asked"), map(to_numpy, arrays), strict=True))
        usual = {"bias": self._zeros if bias is None else to_numpy(bias), "top": np.array([top])}
        rows, tokens, sessions = len(feed["ids"]), feed["ids"].size, self._sessions
        lanes = max(1, min(self._lanes, rows, tokens // _LEAST))

        def run(k: int) -> list[np.ndarray]:
            part = slice(rows * k // lanes, rows * (k + 1) // lanes)
            own = {name: np.ascontiguousarray(array[part]) for name, array in feed.items()}
            results: list[np.ndarray] = sessions[k].run(None, own | usual)
            return results

        found = [run(0)] if lanes == 1 else list(self._pool.map(run, range(lanes)))
        return {name: np.concatenate(parts) for name, *parts in zip(self.outputs, *found, strict=True)}


def _named() -> int:
    """How many threads the environment asks for; 0 if it does not say, or nothing that makes sense."""
    count = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(count) if count.isdecimal() else 0


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _like(result: np.ndarray, other: Array) -> Array:
    return result if isinstance(other, np.ndarray) else array_module(other)[0].from_numpy(result)


@dataclass
class Exported(WithDomains):
    """An exported model: what Masker needs of a model, and its runtime."""

    runtime: OnnxRuntime
    vocabulary: Vocabulary
    settings: Settings
    bag_of_words: BagOfWords | None = None

    @property
    def has_style(self) -> bool:
        return self.bag_of_words is not None  # they are fitted together


def find_exported(name: str | Path | None) -> Path | None:
    """The ONNX file of a model folder, or of the embedded model (None), if it is there and can be run."""
    if find_spec("onnxruntime") is None:
        return None
    folder = cache() if name is None else Path(name).expanduser()
    return folder / FILE if (folder / FILE).is_file() and (folder / EXACT).is_file() else None


def cache() -> Path:
    """Where the embedded model is exported to. Another version of it has another place."""
    digest = hashlib.sha256(_VERSION)
    for path in sorted(_EMBEDDED.glob("*")):
        small = path.stat().st_size < 100_000  # settings, which name the training; of weights the size will do
        digest.update(path.read_bytes() if small else f"{path.name} {path.stat().st_size}".encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "masker" / f"embedded-{digest.hexdigest()[:12]}"


def load_exported(path: Path) -> Exported:
    """Vocabulary and settings from the files beside an ONNX file."""
    try:
        fields = json.loads((path.parent / "masker.json").read_text("utf-8"))
        fields.pop("format", None)
        tokenizer = _Tokenizer(path.parent)
        style = path.parent / "style.safetensors"
        words = BagOfWords.from_state(load_file(style)) if style.is_file() else None
        return Exported(OnnxRuntime(path), Vocabulary(tokenizer), Settings(**fields), words)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise MaskerError(f"cannot load {path}: {error}; write it again with masker export") from error


class _Tokenizer:
    """What `Vocabulary` asks of a transformers tokenizer, answered from tokenizer.json alone."""

    def __init__(self, folder: Path) -> None:
        self.backend_tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.backend_tokenizer.no_padding()
        self.backend_tokenizer.no_truncation()
        config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        named = {role: config.get(f"{role}_token") for role in ("mask", "pad", "unk", "cls", "sep", "bos", "eos")}
        tokens = {role: t["content"] if isinstance(t, dict) else t for role, t in named.items() if t}
        self.added_tokens_decoder = self.backend_tokenizer.get_added_tokens_decoder()
        self.mask_token_id, self.pad_token_id, self.unk_token_id = (
            self.convert_tokens_to_ids(tokens[role]) for role in ("mask", "pad", "unk")
        )
        self.all_special_ids = [self.convert_tokens_to_ids(token) for token in tokens.values()]

    def __call__(self, text: str, return_special_tokens_mask: bool) -> dict[str, list[int]]:
        encoding = self.backend_tokenizer.encode(text)
        return {"input_ids": encoding.ids, "special_tokens_mask": encoding.special_tokens_mask}

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size(with_added_tokens=True)

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.get_vocab()

    def convert_tokens_to_ids(self, token: str) -> int:
        found = self.backend_tokenizer.token_to_id(token)
        return self.unk_token_id if found is None else found

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.backend_tokenizer.id_to_token(i) or "" for i in ids]
