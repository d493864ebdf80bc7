"""How the attention classifier learns; what it is, and how it is read, is in `attention`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from masker.baselines.attention import BETWEEN, HIDDEN, AttentionClassifier
from masker.baselines.base import words_of
from masker.core.batching import padded
from masker.data.corpora import hold_out
from masker.model.pretrained import load
from masker.training.loop import teach
from masker.training.progress import Report, Score
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask

LEAST = 3  # times that a word has been seen, to have an embedding
# AC-MLM trains for 20 epochs and keeps the best on dev; on Yelp that is one of the first three
SETTINGS = LoopSettings(epochs=3.0, batch_size=128, lr=3e-3, weight_decay=0.0, clip=3.0, patience=None)
Vectors = Callable[[Sequence[str]], np.ndarray]  # words -> their embeddings [n, E]


class Network(nn.Module):
    """`vectors` are the embeddings of words; they are not learnt."""

    def __init__(self, vectors: Tensor, domains: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors)
        self.lstm = nn.LSTM(vectors.shape[1], HIDDEN, batch_first=True, bidirectional=True)
        self.attention = nn.Sequential(nn.Linear(HIDDEN, BETWEEN), nn.ReLU(), nn.Linear(BETWEEN, 1))
        self.out = nn.Linear(HIDDEN, domains)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """[B, L] -> [B, D]"""
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        both, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=ids.shape[1])
        seen = both[:, :, :HIDDEN] + both[:, :, HIDDEN:]
        outside = torch.arange(ids.shape[1]) >= lengths[:, None]
        share = self.attention(seen)[:, :, 0].masked_fill(outside, -torch.inf).softmax(1)
        scores: Tensor = self.out((share[:, :, None] * seen).sum(1))
        return scores


def vectors_of(model: Path) -> Vectors:
    """The embeddings that the masked LM in a folder has for the first pieces of words."""
    found = load(model)
    table = found.mlm.get_input_embeddings().weight.detach().numpy()
    return lambda words: table[[found.vocabulary.chunk(word, spaced=True)[0][2][0] for word in words]]


def fit_classifier(
    corpora: Mapping[str, Sequence[str]],
    vectors: Vectors,
    *,
    settings: LoopSettings = SETTINGS,
    report: Report = lambda _: None,
) -> AttentionClassifier:
    """On the CPU: it is small. The weights that tell held-out lines apart best are kept."""
    parts = [hold_out(lines, seed=settings.seed) for lines in corpora.values()]
    counts = Counter(word for train, _ in parts for line in train for word in words_of(line))
    words = sorted(word for word, count in counts.items() if count >= LEAST)
    classifier = AttentionClassifier(tuple(corpora), words, {})
    torch.manual_seed(settings.seed)
    known = torch.from_numpy(vectors(words))
    network = Network(torch.cat([torch.zeros_like(known[:1]), known]), len(corpora))  # UNKNOWN comes first
    ids, lengths, labels = _rows(classifier, [train for train, _ in parts])
    held = _rows(classifier, [aside for _, aside in parts])
    size = labels.bincount(minlength=len(parts))
    weight = len(labels) / (len(parts) * size.float())  # domains weigh alike, however large they are

    def loss(chosen: Tensor, longest: int) -> Tensor:
        return cross_entropy(network(ids[chosen, :longest], lengths[chosen]), labels[chosen], weight)

    @torch.inference_mode()
    def measure() -> Score:
        right = network(*held[:2]).argmax(1) == held[2]
        return Score(100 * float(right.float().mean()), loss=0.0)

    teach(RowsTask(network, lengths.numpy(), loss, measure, torch.device("cpu")), settings, report=report)
    classifier.weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    return classifier


def _rows(classifier: AttentionClassifier, parts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, Tensor]:
    """Lines as words' numbers [N, L], how many they have [N], and which domain they are of [N]."""
    rows = [classifier.ids(words_of(line)) for lines in parts for line in lines]
    labels = np.repeat(np.arange(len(parts)), [len(lines) for lines in parts])
    real = [k for k, row in enumerate(rows) if row]
    table, inside = padded([rows[k] for k in real], 0)
    return torch.from_numpy(table), torch.from_numpy(inside.sum(1)), torch.from_numpy(labels[real])
