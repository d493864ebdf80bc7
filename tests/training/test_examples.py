from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from masker.core.padding import IGNORE, Frame, Masked
from masker.core.spans import enumerate_spans
from masker.core.text import Text, Word
from masker.core.vocabulary import Vocabulary
from masker.training import examples
from masker.training.examples import EncodedCorpus, encode_corpora, order, segment
from masker.training.masking import span_weights

TEXT = "marie curie was n't born in poland !"  # curie, n't: words of two and three pieces
WORDS = ["the", "food", "curie", "n't", ",", ".", "!", "café", "☕", "[MASK]", "\x00", "don't", "(really)", "2.5"]
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=12).map(" ".join)


def frame(vocabulary: Vocabulary, n_p: int = 4) -> Frame:
    return Frame(tuple(vocabulary.start), tuple(vocabulary.end), vocabulary.mask, vocabulary.pad, n_p)


def draw(corpus: EncodedCorpus, vocabulary: Vocabulary, *, seed: int = 0, rows: Sequence[int] | None = None,
         domains: bool = True, n_p: int = 4) -> Masked:  # fmt: skip
    chosen = torch.arange(len(corpus)) if rows is None else torch.tensor(rows)
    return corpus.draw(chosen, frame(vocabulary, n_p), torch.Generator().manual_seed(seed), domains=domains)


def filled(masked: Masked, vocabulary: Vocabulary, row: int) -> list[int]:
    """A row with its targets in the place of the masks, [PAD]s and what stands around the text left out."""
    ids = masked.ids[row].clone()
    real = masked.targets[row] != IGNORE
    assert (ids[masked.slots[row][real]] == vocabulary.mask).all()
    ids[masked.slots[row][real]] = masked.targets[row][real]
    ids = ids[masked.attention[row].bool()]
    around = {vocabulary.pad, vocabulary.domain("positive"), *vocabulary.start, *vocabulary.end}
    return [i for i in ids.tolist() if i not in around]


# -- the corpus --------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_a_corpus_holds_what_reading_gives(vocabularies: dict[str, Vocabulary], sources: list[str]) -> None:
    for family in ("bert", "roberta"):
        vocabulary = vocabularies[family]
        corpus = encode_corpora(vocabulary, [(sources, 7)], window=1000)
        read = [text for text in map(vocabulary.read, sources) if text.words]
        assert len(corpus) == len(read)
        for row, text in enumerate(read):
            lo, hi = int(corpus.lo[row]), int(corpus.hi[row])
            assert corpus.flat[lo:hi].tolist() == text.pieces
            assert (corpus.begins[lo : hi + 1].nonzero().flatten()).tolist() == text.bounds
        assert (corpus.domain == 7).all()


def test_domains_follow_their_texts(vocabulary: Vocabulary) -> None:
    corpus = encode_corpora(vocabulary, [(["the food", "it"], 5), ([], 6), (["the staff"], 7)], window=50)
    assert corpus.domain.tolist() == [5, 5, 7]


def test_a_corpus_of_nothing(vocabulary: Vocabulary) -> None:
    assert len(encode_corpora(vocabulary, [(["", "  "], 5)], window=50)) == 0
    assert len(encode_corpora(vocabulary, [], window=50)) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.integers(4, 12))
def test_windows_cover_everything_once(vocabulary: Vocabulary, sources: list[str], window: int) -> None:
    corpus = encode_corpora(vocabulary, [(sources, 1)], window=window)
    whole = [text for text in map(vocabulary.read, sources) if text.words]
    rows = list(zip(corpus.lo.tolist(), corpus.hi.tolist(), strict=True))
    assert [i for lo, hi in rows for i in range(lo, hi)] == list(range(len(corpus.flat)))
    assert all(0 < hi - lo <= window for lo, hi in rows)
    ends = np.cumsum([len(text.pieces) for text in whole]).tolist()
    assert set(ends) <= {hi for _, hi in rows}  # no row spans two texts
    longest = max((len(word.pieces) for text in whole for word in text.words), default=0)
    if longest <= window:
        assert all(corpus.begins[lo] for lo, _ in rows)  # cut at words


def test_a_word_longer_than_the_window_is_cut(vocabulary: Vocabulary) -> None:
    corpus = encode_corpora(vocabulary, [(["the " + "x1" * 20 + " food ."], vocabulary.domain("positive"))], window=10)
    assert corpus.hi[-1] == len(corpus.flat)
    for domains in (True, False):
        for seed in range(20):
            masked = draw(corpus, vocabulary, seed=seed, domains=domains)
            for row in range(len(corpus)):
                assert filled(masked, vocabulary, row) == corpus.flat[corpus.lo[row] : corpus.hi[row]].tolist()


def test_processes_give_the_same_corpus(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "_BLOCK", 7)
    sources = [f"the food was {k} [MASK] terrible ." for k in range(40)]
    one, two = (encode_corpora(vocabulary, [(sources, 5)], window=6, workers=n) for n in (1, 2))
    assert one.fingerprint() == two.fingerprint()


def test_fingerprint_notices_every_change(vocabulary: Vocabulary) -> None:
    def of(*sources: str, window: int = 50, domain: int = 5) -> str:
        return encode_corpora(vocabulary, [(sources, domain)], window=window).fingerprint()

    assert of("the food was", "it") == of("the  food was", "it")
    same = [
        of("the food was", "it"), of("the food", "was it"), of("the food it", "was"), of("the food was it"),
        of("the food was", "it", window=2), of("the food was", "it", domain=6), of("it", "the food was"),
    ]  # fmt: skip
    assert len(set(same)) == len(same)


# -- one span a text: fitting ------------------------------------------------------------------------------------------


def unprotected(text: Text) -> list[tuple[int, int]]:
    """Spans as flat pieces, without the protection of a final full stop."""
    loose = Text(text.source + " x", (*text.words, Word(len(text.source) + 1, len(text.source) + 2, (9,) * 99, ())))
    spans = [s for s in enumerate_spans(loose, 4) if s.stop <= len(text.words)]
    return [(text.bounds[s.start], text.bounds[s.stop]) for s in spans]


def test_spans_are_those_of_scoring_and_drawn_by_their_weights(vocabulary: Vocabulary) -> None:
    text, draws = vocabulary.read(TEXT), 6000
    corpus = encode_corpora(vocabulary, [(["it was .", TEXT, "the food"], 5)], window=50)
    masked = draw(corpus, vocabulary, rows=[1] * draws)
    start = len(vocabulary.start) + 1
    found: Counter[tuple[int, int]] = Counter()
    for row in range(draws):
        first = int(masked.slots[row, 0]) - start
        width = int((masked.targets[row] != vocabulary.pad).sum())
        found[first, first + width] += 1
    spans = unprotected(text)
    assert len(spans) == len(set(spans))
    assert set(found) == set(spans)
    assert {stop - start for start, stop in spans} == {0, 1, 2, 3, 4}
    weights = [span_weights(4)[stop - start] for start, stop in spans]
    expected = [draws * weight / sum(weights) for weight in weights]
    assert chisquare([found[span] for span in spans], expected).pvalue > 1e-3


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 999))
def test_one_span_of_whole_words(vocabulary: Vocabulary, sources: list[str], n_p: int, seed: int) -> None:
    corpus = encode_corpora(vocabulary, [(sources, vocabulary.domain("positive"))], window=1000)
    if not len(corpus):
        return
    masked = draw(corpus, vocabulary, seed=seed, n_p=n_p)
    read = [text for text in map(vocabulary.read, sources) if text.words]
    at = len(vocabulary.start)
    for row, text in enumerate(read):
        length = int(masked.attention[row].sum())
        ids, slots, targets = masked.ids[row].tolist(), masked.slots[row].tolist(), masked.targets[row].tolist()
        assert masked.attention[row].tolist() == [1] * length + [0] * (len(ids) - length)
        assert ids[:at] == vocabulary.start
        assert ids[at] == vocabulary.domain("positive")
        assert ids[length - len(vocabulary.end) : length] == vocabulary.end
        assert set(ids[length:]) <= {vocabulary.pad}
        assert slots == list(range(slots[0], slots[0] + n_p))
        assert all(ids[slot] == vocabulary.mask for slot in slots)
        width = n_p - targets.count(vocabulary.pad)
        assert targets[width:] == [vocabulary.pad] * (n_p - width)
        begin = slots[0] - at - 1
        assert {begin, begin + width} <= set(text.bounds)
        assert text.pieces == [*ids[at + 1 : slots[0]], *targets[:width], *ids[slots[-1] + 1 : length - 1]]


# -- several spans a text: pretraining ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5), st.integers(1, 6), st.integers(0, 999))
def test_several_spans_that_do_not_touch(vocabulary: Vocabulary, sources: list[str], n_p: int, seed: int) -> None:
    corpus = encode_corpora(vocabulary, [(sources, 0)], window=1000)
    if not len(corpus):
        return
    masked = draw(corpus, vocabulary, seed=seed, domains=False, n_p=n_p)
    read = [text for text in map(vocabulary.read, sources) if text.words]
    for row, text in enumerate(read):
        assert filled(masked, vocabulary, row) == text.pieces
        at, bounds = len(vocabulary.start), set(text.bounds)
        last = None
        for slots, targets in zip(masked.slots[row].view(-1, n_p), masked.targets[row].view(-1, n_p), strict=True):
            if targets[0] == IGNORE:
                assert (targets == IGNORE).all()
                continue
            assert last is None or int(slots[0]) > last + 1, "two spans touch"
            last = int(slots[-1])
            width = int((targets != vocabulary.pad).sum())
            begin = int(slots[0]) - at
            assert {begin, begin + width} <= bounds, "a span is not of whole words"
            at += n_p - width


@pytest.mark.parametrize("n_p", [2, 4, 8])
def test_about_15_percent_are_masked_and_every_piece_can_be(vocabulary: Vocabulary, n_p: int) -> None:
    rng = np.random.default_rng(0)
    words = ["the", "food", "was", "terrible", "curie", ".", "staff"]
    sources = [" ".join(rng.choice(words, size)) for size in rng.integers(8, 60, 50)]
    corpus = encode_corpora(vocabulary, [(sources, 0)], window=1000)
    hit = torch.zeros(len(corpus.flat))
    real = spans = 0
    draws = 200
    for seed in range(draws):
        masked = draw(corpus, vocabulary, seed=seed, domains=False, n_p=n_p)
        wanted = (masked.targets != IGNORE) & (masked.targets != vocabulary.pad)
        real += int(wanted.sum())
        spans += int((masked.targets[:, ::n_p] != IGNORE).sum())
        for row in (0, 1, 2):  # where the hits are
            at = int(corpus.lo[row]) - len(vocabulary.start)
            for slots, good in zip(masked.slots[row].view(-1, n_p), wanted[row].view(-1, n_p), strict=True):
                width = int(good.sum())
                hit[int(slots[0]) + at : int(slots[0]) + at + width] += 1
                at -= n_p - width if masked.ids[row, slots[0]] == vocabulary.mask else 0
    share = real / draws / len(corpus.flat)
    assert 0.11 < share < 0.19, share
    assert spans / draws > len(corpus.flat) / segment(n_p) * 0.8
    assert (hit[: int(corpus.hi[2])] > 0).all(), "a piece is never masked"


# -- batches -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 20), st.integers(0, 5), st.integers(0, 9))
def test_an_epoch_shows_every_row_once(rows: int, batch: int, epoch: int, seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 30, rows)
    batches = order(lengths, batch, epoch, seed)
    assert all(len(b) == batch for b in batches)
    seen = np.concatenate(batches)
    if rows < batch:
        assert set(seen) == set(range(rows))
    else:
        assert len(seen) == len(set(seen)) == rows // batch * batch
    again = order(lengths, batch, epoch, seed)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))


def test_epochs_and_seeds_differ_and_the_longest_rows_are_not_left_out() -> None:
    lengths = np.arange(103)
    seen = [set(np.concatenate(order(lengths, 10, epoch, 0)).tolist()) for epoch in range(40)]
    assert set.union(*seen) == set(range(103))
    assert sum(102 in s for s in seen) > 30  # the longest row, nearly always
    assert len({tuple(np.concatenate(order(lengths, 10, 0, seed))) for seed in range(5)}) == 5


def test_rows_of_like_length_are_together() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 640)
    spread = [int(np.ptp(lengths[b])) for b in order(lengths, 16, 0, 0)]
    assert np.mean(spread) < 10


def test_a_small_domain_gets_its_share_of_every_epoch() -> None:
    domain = np.repeat([7, 9], [900, 100])
    batches = [order(np.ones(1000, int), 100, epoch, 0, domain) for epoch in range(4)]
    assert [len(epoch) for epoch in batches] == [10] * 4
    seen = np.bincount(np.concatenate([row for epoch in batches for row in epoch]), minlength=1000)
    small, large = seen[domain == 9], seen[domain == 7]
    assert np.isclose(small.sum() / seen.sum(), 1 / 4, atol=0.01)  # by the square roots of 900 and 100
    assert set(small) <= {9, 10}  # all rows of a domain come equally often
    assert set(large) <= {3, 4}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(1, 20), st.integers(0, 5))
def test_an_epoch_of_domains_is_as_long_as_one_of_plain_rows(sizes: list[int], batch: int, epoch: int) -> None:
    domain = np.repeat(np.arange(len(sizes)), sizes)
    lengths = np.arange(len(domain))
    assert len(order(lengths, batch, epoch, 0, domain)) >= len(order(lengths, batch, epoch, 0))
    again = zip(order(lengths, batch, epoch, 0, domain), order(lengths, batch, epoch, 0, domain), strict=True)
    assert all((a == b).all() for a, b in again)


# -- batches of one size -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [30, 40])
def test_rows_of_one_size_lose_no_piece_and_only_the_spans_without_room(
    vocabularies: dict[str, Vocabulary], length: int
) -> None:
    vocabulary = vocabularies["bert"]
    corpus = encode_corpora(vocabulary, [([" ".join([TEXT] * k) for k in (1, 2, 2, 3)], 0)], window=26)
    masks, n_p, full = 8, 4, 0
    for seed in range(30):
        masked = corpus.draw(
            torch.arange(len(corpus)), frame(vocabulary), torch.Generator().manual_seed(seed), domains=False,
            size=(length, masks),
        )  # fmt: skip
        assert masked.ids.shape == (len(corpus), length)
        assert masked.slots.shape == (len(corpus), masks)
        for row in range(len(corpus)):
            assert filled(masked, vocabulary, row) == corpus.flat[corpus.lo[row] : corpus.hi[row]].tolist()
            spans = int((masked.targets[row] != IGNORE).sum()) // n_p
            wanted = max(1, round(int(corpus.hi[row] - corpus.lo[row]) / segment(n_p)))
            full += spans == wanted
            room = length - int(masked.attention[row].sum())
            assert spans == wanted or room < n_p  # or it lay inside one long word, which this text has none of
    assert full > (100 if length == 40 else 40)


@pytest.mark.parametrize("domains", [False, True])
def test_batches_of_one_size_do_not_wait_for_the_device(vocabularies: dict[str, Vocabulary], domains: bool) -> None:
    """On the device "meta" no number can be read."""
    corpus = encode_corpora(vocabularies["bert"], [([TEXT], 0)], window=26)
    away = corpus.to(torch.device("meta"))
    masked = away.draw(torch.arange(1, device="meta"), frame(vocabularies["bert"]), None, domains=domains,
                       revealed=0.3, size=(40, 8 if not domains else 4))  # type: ignore[arg-type]  # fmt: skip
    assert masked.ids.shape == (1, 40)
