"""A vocabulary learnt from the texts, for languages that the base model's spells badly."""

import logging
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any
from unicodedata import normalize

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from masker.core.text import split_words
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM

SIZE = 16_000  # pieces that are learnt where nobody says how many
_MOST = 1_000_000  # pieces that may be learnt
_SAMPLE = 2_000  # texts that the spelling is judged by
_LONG, _LOSSY = 1.6, 0.05  # pieces a word, and share of words that come out changed, above which it is bad: English raw
# reviews have 1.1 and none under the embedded vocabulary, French ones 2 and one in five
_ROLES = ("pad", "unk", "cls", "sep", "mask")


def spelling(vocabulary: Vocabulary, texts: Iterable[str]) -> tuple[float, float]:
    """How many pieces a word has, and the share of words that do not come out of a vocabulary as they went in."""
    words = pieces = lossy = 0
    for text in islice(texts, _SAMPLE):
        read = vocabulary.read(text)
        for i, word in enumerate(read.words):
            if any(map(str.isalpha, read.word(i))):
                known = vocabulary.infill((), word.pieces).replace(" ", "").lower()
                words, pieces = words + 1, pieces + len(word.pieces)
                lossy += known != normalize("NFC", read.word(i)).lower()
    return pieces / max(words, 1), lossy / max(words, 1)


def respelt(model: PaddedMLM, texts: Sequence[str], size: int | None) -> PaddedMLM:
    """The model with `size` pieces learnt from texts; with None only if its own spell them badly, with 0 never."""
    if size == 0:
        return model
    if size is None:
        step = max(len(texts) // _SAMPLE, 1)
        long, lossy = spelling(model.vocabulary, texts[::step])
        if long <= _LONG and lossy <= _LOSSY:
            return model
        logging.getLogger("masker").warning(
            f"masker: warning: the embedded vocabulary spells these texts badly ({long:.1f} pieces a word, {lossy:.0%} "
            "of words changed), so one is learnt from them; a base model of their language does better"
        )
    return with_vocabulary(model, learn(texts, size or SIZE, model.vocabulary.tokenizer))


def learn(texts: Iterable[str], size: int, like: Any) -> Vocabulary:
    """WordPieces with their capitals and accents; the special tokens are those of the tokenizer `like`."""
    from transformers import PreTrainedTokenizerFast

    special = {role: getattr(like, f"{role}_token") for role in _ROLES}
    if None in special.values():
        raise MaskerError(f"a vocabulary cannot take the place of one without {' or '.join(_ROLES)} tokens")
    if not 100 <= size <= _MOST:
        raise MaskerError(f"`vocabulary` is {size}: need 100 to {_MOST:,} pieces, or 0 to keep those of the base")
    ids = {token: like.convert_tokens_to_ids(token) for token in special.values()}
    tokenizer = Tokenizer(models.WordPiece(unk_token=special["unk"]))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    tokenizer.train_from_iterator(
        (" ".join(text[a:b] for a, b in split_words(text)) for text in texts),
        trainers.WordPieceTrainer(
            vocab_size=size, min_frequency=2, limit_alphabet=size // 2, show_progress=False,
            special_tokens=sorted(ids, key=lambda token: ids[token]),  # as they were: some models count on it
        ),
    )  # fmt: skip
    cls, sep = special["cls"], special["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    )
    return Vocabulary(
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{f"{r}_token": t for r, t in special.items()})
    )


def with_vocabulary(model: PaddedMLM, vocabulary: Vocabulary) -> PaddedMLM:
    """A model whose pieces are others. Each begins as the mean of those that the old vocabulary spells it with."""
    old, mlm = model.vocabulary, model.mlm
    rows = []
    for token in vocabulary.tokens(range(len(vocabulary))):
        known = old.tokenizer.convert_tokens_to_ids(token)
        spelt = [p for w in old.read(token.removeprefix("##")).words for p in w.pieces]
        rows.append([known] if known != old.tokenizer.unk_token_id else spelt or [known])
    with torch.no_grad():
        embeddings = mlm.get_input_embeddings().weight.detach().clone()
        head = mlm.get_output_embeddings()
        bias = None if head is None or head.bias is None else head.bias.detach().clone()
        mlm.resize_token_embeddings(len(vocabulary), mean_resizing=False)
        mlm.get_input_embeddings().weight.copy_(torch.stack([embeddings[row].mean(0) for row in rows]))
        if bias is not None:
            mlm.get_output_embeddings().bias.copy_(torch.stack([bias[row].mean() for row in rows]))
    return PaddedMLM(mlm, vocabulary, model.settings)
