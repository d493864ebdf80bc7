"""How likely texts are in a domain, by a reader: a causal LM, by torch or, on the CPU, by ONNX Runtime in int8."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from masker.core.batching import by_length, padded
from masker.model.causal import CausalVocabulary, load_causal
from masker.model.folder import GRAPHS
from masker.model.reader import ReaderCard, prefix, shown
from masker.model.tokenizer import FileTokenizer
from masker.runtime import chosen_device
from masker.runtime.graphs import FLOAT32, INT8, Graphs
from masker.runtime.onnx import OnnxGraph

if TYPE_CHECKING:
    from masker.runtime import Device


class Reader(ABC):
    """A causal LM that was fitted to domains (`masker reader`)."""

    batch_tokens: int  # that suit it

    def __init__(self, card: ReaderCard, vocabulary: CausalVocabulary) -> None:
        self.card, self.vocabulary = card, vocabulary

    def log_p(self, texts: Sequence[str], domains: Sequence[str]) -> np.ndarray:
        """[N, D] log-likelihoods of texts in domains, in nats: of all their pieces, and of their end."""
        v, known = self.vocabulary, {name: prefix(self.vocabulary, self.card.check_domain(name)) for name in domains}
        distinct = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        bodies = [[*pieces[: self.card.window], v.end] for pieces in v.many([shown(text) for text in distinct])]
        rows = [(before, body) for body in bodies for before in known.values()]
        result = np.zeros(len(rows))
        lengths = [len(before) + len(body) for before, body in rows]
        for chosen in by_length(lengths, self.batch_tokens):
            ids, inside = padded([[*rows[k][0], *rows[k][1]] for k in chosen.tolist()], v.end)
            first = np.array([len(rows[k][0]) for k in chosen.tolist()])
            counted = inside.astype(bool) & (np.arange(ids.shape[1]) >= first[:, None])
            result[chosen] = (self._next(ids) * counted[:, 1:]).sum(1)
        return result.reshape(len(distinct), len(known))[[distinct[text] for text in texts]]

    def compare(
        self, sources: Sequence[str], texts: Sequence[str], to: str, from_: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """[N] log-likelihoods of rewritten texts in a domain, per word and times the words of their sources; and [N]
        their log-odds between that domain and another: the likeliest of all others, if none is named.
        """
        others = [name for name in self.card.domains if name != to] if from_ is None else [from_]
        log_p = self.log_p(texts, [to, *others])
        return per_word(log_p[:, 0], sources, texts), log_p[:, 0] - log_p[:, 1:].max(1)

    @abstractmethod
    def _next(self, ids: np.ndarray) -> np.ndarray:
        """[B, L] -> [B, L - 1] log-likelihoods of all pieces but the first. What fills up a row stands to its right."""


class TorchReader(Reader):
    """In bfloat16 on a GPU, in float32 on the CPU."""

    def __init__(self, model: Any, card: ReaderCard, vocabulary: CausalVocabulary, device: "Device" = None) -> None:
        import torch

        from masker.runtime.memory import InParts

        super().__init__(card, vocabulary)
        self.device = torch.device(chosen_device(device))
        on_gpu = self.device.type == "cuda"
        self.model = model.to(self.device, torch.bfloat16 if on_gpu else torch.float32).eval()
        self.batch_tokens, self._in_parts = 32_768 if on_gpu else 1024, InParts()

    def _next(self, ids: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            given = torch.from_numpy(ids).to(self.device)
            (found,) = self._in_parts(lambda part: (next_log_p(self.model, part),), given)
            log_p: np.ndarray = found.cpu().numpy()
        return log_p


class OnnxReader(Reader):
    """By the graphs that `masker export` writes beside the weights; neither torch nor transformers is imported."""

    batch_tokens = 1024

    def __init__(self, folder: Path, *, exact: bool = False) -> None:
        super().__init__(ReaderCard.read(folder), CausalVocabulary(FileTokenizer(folder)))
        self._graph = OnnxGraph(Graphs(folder), FLOAT32 if exact else INT8)

    def _next(self, ids: np.ndarray) -> np.ndarray:
        return self._graph.run({"ids": ids}, {})["log_p"]


def per_word(log_p: np.ndarray, sources: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Log-likelihoods of rewritten texts as if they had as many words as their sources."""
    words, before = (np.array([max(1, len(text.split())) for text in some]) for some in (texts, sources))
    return np.asarray(log_p / words * before)


def next_log_p(model: Any, ids: Any) -> Any:
    """[B, L] pieces -> [B, L - 1] log-likelihoods of all but the first, as tensors."""
    from torch.nn.functional import cross_entropy

    logits = model(input_ids=ids[:, :-1]).logits  # [B, L - 1, V]
    return -cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none").view(ids.shape[0], -1)


def load_reader(folder: str | Path, device: "Device" = None, *, exact: bool = False) -> Reader:
    """The reader in a folder. On the CPU by ONNX Runtime if it was exported, in int8 unless `exact`."""
    folder = Path(folder).expanduser()
    card = ReaderCard.read(folder)
    if (folder / GRAPHS).is_file() and chosen_device(device) == "cpu":
        return OnnxReader(folder, exact=exact)
    model, vocabulary = load_causal(folder)
    return TorchReader(model, card, vocabulary, device)
