"""Training examples: texts as one flat tensor of pieces, and masked batches that are drawn from it on the device."""

import hashlib
import math
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from masker.core.padding import Frame, Masked, mask_spans
from masker.core.vocabulary import Vocabulary
from masker.training.masking import reveal, sample_spans, span_weights, whole_texts

_BLOCK = 20_000  # texts encoded at a time

_vocabulary: Vocabulary  # of a process that encodes texts


@dataclass(frozen=True)
class EncodedCorpus:
    """The texts of all domains. Row r is pieces `lo[r]` to `hi[r]`; a text longer than the window is several rows."""

    flat: Tensor  # [N] int32 ids
    begins: Tensor  # [N + 1] bool: whether a word begins here; true at the end
    lo: Tensor  # [R]
    hi: Tensor  # [R]
    domain: Tensor  # [R] id of the domain's token; 0 where there are no domains

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def lengths(self) -> Tensor:
        """[R] pieces of each row."""
        return self.hi - self.lo

    def counts_of(self, rows: Tensor) -> np.ndarray:
        """How often each piece is in rows; up to the last that is."""
        used = torch.zeros(len(self.flat) + 1, dtype=torch.int32)  # +1 where a row begins, -1 after its end
        used.index_add_(0, self.lo[rows], torch.ones_like(used[: int(rows.sum())]))
        used.index_add_(0, self.hi[rows], -torch.ones_like(used[: int(rows.sum())]))
        return self.flat[used.cumsum(0)[:-1] > 0].bincount().numpy()

    def to(self, device: torch.device) -> "EncodedCorpus":
        return EncodedCorpus(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))

    def fingerprint(self) -> str:
        """Changes when any text does, so that a run is not resumed with other data."""
        digest = hashlib.sha256()
        for name in self.__dataclass_fields__:
            digest.update(getattr(self, name).numpy().tobytes())
        return digest.hexdigest()[:16]

    def draw(
        self, rows: Tensor, frame: Frame, generator: torch.Generator, *, domains: bool, revealed: float = 0.0,
        size: tuple[int, int] | None = None,
    ) -> Masked:  # fmt: skip
        """Mask one span in each row (fitting), or one in each segment of a row (pretraining, without domains).

        In a share `revealed` of the spans the first pieces are shown. `size`, the length of the rows and the number of
        their masks, makes all batches the same shape; then nothing waits for the device.
        """
        masked = self._draw(rows, frame, generator, size, domains=domains)
        return reveal(masked, frame.n_p, revealed, generator) if revealed else masked

    def labels(self, rows: Tensor, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The number of each row's domain among `tokens`, and the share of each domain in what is drawn."""
        known = torch.tensor(tokens, device=self.domain.device)
        shares = drawn_shares((self.domain[:, None] == known).float().sum(0))
        return (self.domain[rows][:, None] == known).int().argmax(1), shares

    def whole(self, rows: Tensor, frame: Frame, length: int | None = None) -> Masked:
        """The rows as they are, for the style classifier."""
        return whole_texts(self.flat, self.lo[rows], self.hi[rows], frame, length)

    def _draw(
        self, rows: Tensor, frame: Frame, generator: torch.Generator, size: tuple[int, int] | None, *, domains: bool
    ) -> Masked:
        lo, hi = self.lo[rows], self.hi[rows]
        length, masks = size or (None, None)
        if domains:
            weights = span_weights(frame.n_p)
            starts, widths = sample_spans(self.begins, lo, hi, frame.n_p, generator, weights=weights, longest=length)
            masked = mask_spans(self.flat, lo, hi, starts[:, None], widths[:, None], frame, domain=True, length=length)
            return replace(masked, ids=masked.with_domain(self.domain[rows]))
        most = masks // frame.n_p if masks else None
        left, right = _segments(lo, hi, segment(frame.n_p), generator, most)  # [B, m]
        apart = right - (right < hi[:, None]).long()  # a piece between two segments stays, so spans do not touch
        longest = 2 * segment(frame.n_p) if size else None  # no segment is longer
        starts, widths = sample_spans(
            self.begins, left.flatten(), apart.flatten(), frame.n_p, generator, whole=False, longest=longest
        )
        starts, widths = starts.view_as(left), widths.view_as(left)
        # segments that do not exist, or that lie inside one long word
        missing = (left == right) | ~self.begins[starts]
        if length:  # and spans whose masks find no room
            body = (hi - lo)[:, None] + ((frame.n_p - widths) * ~missing).cumsum(1)
            missing |= body + len(frame.start) + len(frame.end) > length
        starts = starts.masked_fill(missing, 1 << 40)
        return mask_spans(self.flat, lo, hi, starts, widths, frame, domain=False, length=length)


def segment(n_p: int) -> int:
    """How many pieces pretraining masks one span in. A span has about n_p / 2, so about 15 % of them are masked."""
    return round(n_p / 2 / 0.15)


def _segments(
    lo: Tensor, hi: Tensor, size: int, generator: torch.Generator, most: int | None = None
) -> tuple[Tensor, Tensor]:
    """Cut rows [B] into segments of about `size` pieces: left and right [B, m], empty where a row has fewer than m.

    The cuts are random, because a piece at a cut cannot be masked. m is `most`, or as many as the batch needs.
    """
    count = ((hi - lo) / size).round().clamp(min=1)[:, None]  # [B, 1] segments of a row
    k = torch.arange((most or int(count.max())) + 1, device=lo.device)[None, :]
    shift = (torch.rand((len(lo), k.shape[1]), generator=generator, device=lo.device) - 0.5) / 2
    share = torch.where((k > 0) & (k < count), k + shift, k).clamp(max=count) / count
    cuts = lo[:, None] + (share * (hi - lo)[:, None]).round().long()  # [B, m + 1], the first lo and the last hi
    return cuts[:, :-1], cuts[:, 1:]


def encode_corpora(
    vocabulary: Vocabulary, corpora: Sequence[tuple[Iterable[str], int]], *, window: int, workers: int = 1
) -> EncodedCorpus:
    """Encode texts, those of each domain given with the id of its token, into one corpus."""
    flats = [np.zeros(0, dtype=np.int32)]
    begins = [np.zeros(0, dtype=bool)]
    rows = [np.zeros((0, 3), dtype=np.int64)]
    at = 0
    for texts, domain in corpora:
        for ids, starts, sizes in _encoded(vocabulary, texts, workers):
            stops = at + np.cumsum(sizes)
            cut = _windows(stops - sizes, stops, starts, at, window)
            cut = cut[cut[:, 0] < cut[:, 1]]  # without the texts that have no words
            rows.append(np.column_stack([cut, np.full(len(cut), domain)]))
            flats.append(ids)
            begins.append(starts)
            at += len(ids)
    table = torch.from_numpy(np.concatenate(rows))
    return EncodedCorpus(
        flat=torch.from_numpy(np.concatenate(flats)),
        begins=torch.from_numpy(np.concatenate([*begins, np.ones(1, dtype=bool)])),
        lo=table[:, 0].contiguous(), hi=table[:, 1].contiguous(), domain=table[:, 2].contiguous(),
    )  # fmt: skip


def _windows(lo: np.ndarray, hi: np.ndarray, begins: np.ndarray, at: int, window: int) -> np.ndarray:
    """Rows [R, 2]: whole texts, and consecutive windows of those that are longer, cut between words."""
    if (hi - lo).max(initial=0) <= window:
        return np.column_stack([lo, hi])
    rows = []
    for a, b in zip(lo.tolist(), hi.tolist(), strict=True):
        while b - a > window:
            cut = a + window
            while cut > a and not begins[cut - at]:
                cut -= 1
            cut = cut if cut > a else a + window  # a word that fills the window is cut itself
            rows.append((a, cut))
            a = cut
        rows.append((a, b))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _encoded(
    vocabulary: Vocabulary, texts: Iterable[str], workers: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    stream = iter(texts)
    blocks = iter(lambda: list(islice(stream, _BLOCK)), [])
    if workers <= 1:
        yield from (_encode(vocabulary, block) for block in blocks)
        return
    pool = ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(vocabulary.tokenizer,))
    try:
        yield from pool.map(_work, blocks)
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(tokenizer: object) -> None:
    global _vocabulary
    _vocabulary = Vocabulary(tokenizer)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the main one answers it


def _work(texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _encode(_vocabulary, texts)


def _encode(vocabulary: Vocabulary, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids, word beginnings and lengths of texts, with the same words and pieces as `Vocabulary.read` gives."""
    ids: list[int] = []
    begins: list[bool] = []
    sizes = []
    for text in texts:
        before = len(ids)
        for k, chunk in enumerate(text.split()):
            for _, _, pieces, _ in vocabulary.chunk(chunk, spaced=k > 0):
                ids.extend(pieces)
                begins.append(True)
                begins.extend([False] * (len(pieces) - 1))
        sizes.append(len(ids) - before)
    return np.array(ids, dtype=np.int32), np.array(begins, dtype=bool), np.array(sizes, dtype=np.int64)


def drawn_shares(sizes: Any) -> Any:
    """[D] how often domains with so many texts are drawn: by the square root, so that a small one is not drowned."""
    return sizes**0.5 / (sizes**0.5).sum()


def order(lengths: np.ndarray, batch: int, epoch: int, seed: int, domain: np.ndarray | None = None) -> list[np.ndarray]:
    """One epoch of batches, in random order; rows of like length share a batch, so that little is spent on padding.

    The few rows that do not fill a batch are left out, different ones in every epoch; rows too few for a single batch
    are repeated. An epoch has as many rows as there are; where they are of several domains, each has its share of them
    (`drawn_shares`), and all rows of a domain come equally often, epoch after epoch.
    """
    rng = np.random.default_rng([seed, epoch])
    rows = rng.permutation(len(lengths) if domain is None else _mixed(domain, epoch, seed))
    if len(rows) < batch:
        return [np.resize(rows, batch)]
    rows = rows[: len(rows) // batch * batch]
    pool = 50 * batch
    batches = []
    for at in range(0, len(rows), pool):
        part = rows[at : at + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[k : k + batch] for k in range(0, len(part), batch)]
    return [batches[k] for k in rng.permutation(len(batches))]


def _mixed(domain: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """The rows of an epoch: of every domain those that are next, going round and round through its rows."""
    found = []
    names, sizes = np.unique(domain, return_counts=True)
    for name, share in zip(names, drawn_shares(sizes), strict=True):
        rows, count = np.flatnonzero(domain == name), math.ceil(len(domain) * share)
        first, skipped = divmod(epoch * count, len(rows))
        rounds = range(first, first + -(-(skipped + count) // len(rows)))
        shuffled = [np.random.default_rng([seed, k, int(name)]).permutation(rows) for k in rounds]
        found.append(np.concatenate(shuffled)[skipped : skipped + count])
    return np.concatenate(found)
