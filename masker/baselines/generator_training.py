"""How the generator of delete and retrieve learns: to write a sentence again out of its own two parts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence

from masker.baselines.base import words_of
from masker.baselines.generator import EMBEDDING, END, FIRST, HIDDEN, LONGEST, Generator
from masker.baselines.markers import Markers
from masker.baselines.retrieval import split, without_end
from masker.core.batching import padded
from masker.data.corpora import hold_out
from masker.training.loop import teach
from masker.training.progress import Report, Score
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask

LEAST, MOST = 3, 10_000  # times that a word has been seen, to be known; words that are known
NOISE = 0.1  # of the markers are others
ALWAYS, SOMETIMES = 1000, 1000  # words that a step compares the right ones with: the most frequent, and some others
SETTINGS = LoopSettings(epochs=5.0, batch_size=128, lr=3e-3, weight_decay=0.0, clip=5.0, patience=None)
Example = tuple[list[str], list[str], list[str]]  # content, markers and sentence


class Network(nn.Module):
    """From the word before, the state and what was read, `by_` leads to the gates of the GRU that writes, `out_` on."""

    def __init__(self, words: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, EMBEDDING)
        self.content = nn.GRU(EMBEDDING, hidden, batch_first=True)
        self.markers = nn.GRU(EMBEDDING, hidden, batch_first=True)
        self.by_word, self.by_state = nn.Linear(EMBEDDING, 3 * hidden), nn.Linear(hidden, 3 * hidden)
        self.by_context = nn.Linear(2 * hidden, 3 * hidden, bias=False)
        self.out_word = nn.Linear(EMBEDDING, 2 * EMBEDDING, bias=False)
        self.out_state = nn.Linear(hidden, 2 * EMBEDDING)
        self.out_context = nn.Linear(2 * hidden, 2 * EMBEDDING, bias=False)
        self.bias = nn.Parameter(torch.zeros(words))
        for weight in self.parameters():
            nn.init.uniform_(weight, -0.1, 0.1)

    def forward(self, content: Tensor, markers: Tensor, before: Tensor) -> Tensor:
        """Vectors for what follows each word [B, L] -> [B, L, EMBEDDING], to be compared with embeddings."""
        read = torch.cat([self._read(self.content, content), self._read(self.markers, markers)], 1)
        last = self.embedding(before)
        given = (self.by_word(last) + self.by_context(read)[:, None]).unbind(1)
        state, states = torch.zeros_like(read[:, : self.by_state.in_features]), list[Tensor]()
        for step in given:
            (r, z, n), (was_r, was_z, was_n) = step.chunk(3, 1), self.by_state(state).chunk(3, 1)
            new = (n + (r + was_r).sigmoid() * was_n).tanh()
            state = torch.lerp(new, state, (z + was_z).sigmoid())
            states.append(state)
        out = self.out_state(torch.stack(states, 1)) + self.out_word(last) + self.out_context(read)[:, None]
        best: Tensor = out.unflatten(2, (EMBEDDING, 2)).amax(3)
        return best

    def _read(self, gru: nn.GRU, ids: Tensor) -> Tensor:
        """Rows up to their END [B, L] -> [B, H]"""
        lengths = 1 + (ids != END).sum(1)
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        state: Tensor = gru(packed)[1][0]
        return state


def fit_generator(
    corpora: Mapping[str, Sequence[str]],
    markers: Markers,
    *,
    settings: LoopSettings = SETTINGS,
    hidden: int = HIDDEN,
    report: Report = lambda _: None,
) -> Generator:
    """On the CPU. The weights that know most of the next words of held-out lines are kept."""
    rng = np.random.default_rng(settings.seed)
    train, held = list[Example](), list[Example]()
    for domain, lines in corpora.items():
        others, (learnt, aside) = Neighbours(markers.salience[domain]), hold_out(lines, seed=settings.seed)
        train += [_noisy(example, others, rng) for example in _examples(learnt, markers, domain)]
        held += _examples(aside, markers, domain)
    counts = Counter(word for _, _, sentence in train for word in sentence)
    known = sorted((word for word in counts if counts[word] >= LEAST), key=lambda word: (-counts[word], word))
    generator = Generator(known[:MOST], {})
    torch.manual_seed(settings.seed)
    network = Network(len(generator.words) + FIRST, hidden)
    tables, aside_tables = _tables(generator, train), _tables(generator, held)
    lengths = (tables[2] != END).sum(1).numpy() + 1

    def loss(chosen: Tensor, longest: int) -> Tensor:
        vectors, wanted = _ahead(network, [table[chosen] for table in tables])
        words, place, rarity = _compared(wanted, len(network.bias))
        scores = vectors @ network.embedding.weight[words].T + network.bias[words] + rarity
        return cross_entropy(scores, place[wanted])

    @torch.inference_mode()
    def measure() -> Score:
        right, found = 0, list[tuple[float, int]]()
        for rows in torch.arange(len(held)).split(settings.batch_size):
            vectors, wanted = _ahead(network, [table[rows] for table in aside_tables])
            scores = vectors @ network.embedding.weight.T + network.bias
            right += int((scores.argmax(1) == wanted).sum())
            found.append((float(cross_entropy(scores, wanted, reduction="sum")), len(wanted)))
        words = sum(size for _, size in found)
        return Score(100 * right / words, loss=sum(nats for nats, _ in found) / words)

    teach(RowsTask(network, lengths, loss, measure, torch.device("cpu")), settings, report=report)
    generator.weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    return generator


class Neighbours:
    """The markers of a domain that are at most a word away: with another word, with one more or with one less."""

    def __init__(self, markers: Iterable[str]) -> None:
        self._by: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for marker in markers:
            for pattern in _patterns(marker):
                self._by[pattern].append(marker)

    def any(self, marker: str, rng: np.random.Generator) -> str:
        """One of them at random."""
        near = [*chain.from_iterable(self._by[pattern] for pattern in _patterns(marker))]
        return near[rng.integers(len(near))]


def _patterns(marker: str) -> Iterator[tuple[str, ...]]:
    """What two markers have in common that are a word apart: both with a hole, or one of them with it."""
    words = tuple(marker.split())
    for i in range(len(words)):
        yield (*words[:i], "", *words[i + 1 :])
    yield from {(*words[:i], "", *words[i:]) for i in range(len(words) + 1)}


def _examples(lines: Sequence[str], markers: Markers, domain: str) -> list[Example]:
    texts = [words for line in lines if 0 < len(words := without_end(words_of(line))) <= LONGEST]
    return [(*split(words, markers.find(words, domain)), words) for words in texts]


def _noisy(example: Example, others: Neighbours, rng: np.random.Generator) -> Example:
    content, found, sentence = example
    return content, [others.any(one, rng) if rng.random() < NOISE else one for one in found], sentence


def _tables(generator: Generator, examples: Sequence[Example]) -> list[Tensor]:
    """Numbers of words with an END: of the contents, of the markers, and of the sentences."""
    parts = [[content, " ".join(found).split(), sentence] for content, found, sentence in examples]
    return [torch.from_numpy(padded([generator.ids(row[k]) for row in parts], END)[0]) for k in range(3)]


def _ahead(network: Network, rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The vectors of what comes next [N, EMBEDDING] and the words that do [N], in rows cut to the longest of them."""
    content, markers, wanted = (row[:, : 1 + int((row != END).sum(1).max())] for row in rows)
    before = wanted.roll(1, 1)
    before[:, 0] = END
    inside = (wanted != END) | (before != END)  # up to the first END
    inside[:, 0] = True
    return network(content, markers, before)[inside], wanted[inside]


def _compared(wanted: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Words that the right ones are compared with, where each word is among them, and what to add to their scores.

    All of a large vocabulary would take most of the time. Those that are drawn stand for the ones that are not.
    """
    some, rarity = torch.zeros(size, dtype=torch.bool), torch.zeros(size)
    some[:ALWAYS] = True
    some[wanted] = True
    if size > ALWAYS + SOMETIMES:
        drawn = torch.randint(ALWAYS, size, (SOMETIMES,))
        rarity[drawn] = math.log((size - ALWAYS) / SOMETIMES)
        rarity[wanted] = 0.0
        some[drawn] = True
    else:
        some[:] = True
    words = some.nonzero()[:, 0]
    return words, some.cumsum(0) - 1, rarity[words]
