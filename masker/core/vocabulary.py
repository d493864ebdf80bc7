"""Vocabulary: what Masker needs to know of a tokenizer, asked of the tokenizer itself.

Any Hugging Face fast tokenizer will do: no ids, no `##` and no family names are written down here.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from tokenizers import AddedToken, decoders, models

from masker.core.text import Text, Word, split_chunk, split_spaced
from masker.core.unspaced import is_tight
from masker.errors import MaskerError

_UNUSED = re.compile(r"[\[<|]*unused[_-]?(token)?[_-]?\d+[\]>|]*", re.IGNORECASE)
_REMEMBERED = 100_000  # chunks, words and infills: memory stays bounded whatever is read
_FEW = 8  # words of a chunk: one with more, of a script without spaces, does not come again
_TEXTS, _SHORT = 32_768, 400  # texts that are remembered, and how many characters they have at most

Pieces = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]  # of a word, and their offsets
Chunk = list[tuple[int, int, tuple[int, ...], tuple[tuple[int, int], ...]]]  # words: start, end, pieces, offsets
_new = tuple.__new__  # a word in half the time


class Vocabulary:
    """A fast tokenizer read word by word: ids in, characters out."""

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise MaskerError(f"{type(tokenizer).__name__} is no fast tokenizer; save it with its tokenizer.json")
        if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
            raise MaskerError("the tokenizer has no mask or no padding token; a padded masked LM needs both")
        self.tokenizer = tokenizer
        self.mask: int = tokenizer.mask_token_id
        self.pad: int = tokenizer.pad_token_id
        template = tokenizer("a", return_special_tokens_mask=True)
        special = template["special_tokens_mask"]
        first, last = special.index(0), len(special) - special[::-1].index(0)
        self.start: list[int] = template["input_ids"][:first]  # [CLS]
        self.end: list[int] = template["input_ids"][last:]  # [SEP]
        backend.encode_special_tokens = True  # a literal "[MASK]" in a user's text is text
        self._backend = backend
        self.gaps: Mapping[str, str] = {}  # marks that the texts of the model set apart, with their white space
        self.names: Mapping[str, str] = {}  # words that they write with capitals, by what these are in small letters
        self._texts: dict[str, Text] = {}
        self._chunks: dict[str, Chunk] = {}
        self._first: dict[str, Chunk] = {}  # those that a text begins with
        self._spelt: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}  # the pieces of chunks, and their words
        self._first_spelt: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        self._words: dict[tuple[str, bool], Pieces] = {}
        self._infills: dict[tuple[bool | tuple[int, ...], tuple[int, ...]], str] = {}

    def __len__(self) -> int:
        return len(self.tokenizer)

    def forget(self) -> None:
        """Let go of what is remembered of texts that were read: for a process that never ends."""
        self._texts.clear()
        self._chunks.clear()
        self._first.clear()
        self._spelt.clear()
        self._first_spelt.clear()
        self._words.clear()
        self._infills.clear()
        split_spaced.cache_clear()

    def add_domains(self, names: Sequence[str]) -> None:
        """Give each domain its token `[domain:NAME]`."""
        tokens = [AddedToken(domain_token(name), special=True, normalized=False) for name in names]
        self.tokenizer.add_tokens(tokens, special_tokens=True)
        for cached in ("_special", "_tokens", "infillable", "continuation"):
            self.__dict__.pop(cached, None)

    def domain(self, name: str) -> int:
        return int(self.tokenizer.convert_tokens_to_ids(domain_token(name)))

    # -- text to pieces ---------------------------------------------------------------------------------------------

    def read(self, source: str) -> Text:
        """Words and pieces of a text, remembered: of one sentence many rewrites are made, and compared with it."""
        known = self._texts.get(source)
        if known is None:
            known = Text(source, tuple(self.words(source)))
            if len(source) <= _SHORT:
                if len(self._texts) >= _TEXTS:
                    self._texts.clear()
                self._texts[source] = known
        return known

    def words(self, source: str, begin: int = 0, *, first: bool = True) -> list[Word]:
        """Those of a stretch of whole whitespace chunks that begins at a character, and is the `first` of its text."""
        words, known, at = list[Word](), self._chunks if not first else self._first, 0
        for chunk in source.split():
            at = source.index(chunk, at)
            here = begin + at
            for start, end, pieces, offsets in known.get(chunk) or self.chunk(chunk, spaced=known is self._chunks):
                words.append(_new(Word, (here + start, here + end, pieces, offsets)))
            at, known = at + len(chunk), self._chunks
        return words

    def pieces(self, source: str) -> list[int]:
        """Those of a text, without its words."""
        text = self._texts.get(source)
        return text.pieces if text else self.spelt(source)[0]

    def spelt(self, source: str) -> tuple[list[int], list[str]]:
        """The pieces of a text, and its words in small letters, in a fraction of the time that it takes to read it."""
        pieces, words, known = list[int](), list[str](), self._first_spelt
        for chunk in source.split():
            found = known.get(chunk) or self._spelling(chunk, spaced=known is self._spelt)
            pieces += found[0]
            words += found[1]
            known = self._spelt
        return pieces, words

    def _spelling(self, chunk: str, *, spaced: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Those of a whitespace chunk, remembered."""
        words, memory = self.chunk(chunk, spaced=spaced), self._spelt if spaced else self._first_spelt
        known = tuple(p for word in words for p in word[2]), tuple(chunk[a:b].lower() for a, b, _, _ in words)
        if len(words) <= _FEW and len(memory) < _REMEMBERED:
            memory[chunk] = known
        return known

    def chunk(self, chunk: str, *, spaced: bool) -> Chunk:
        """Words of a whitespace chunk with their pieces, remembered. `spaced`: it is not the first of its text."""
        memory = self._chunks if spaced else self._first
        known = memory.get(chunk)
        if known is None:
            words = split_chunk(chunk)
            known = [(a, b, *self._word(chunk[a:b], spaced=spaced and a == 0)) for a, b in words]
            if len(words) <= _FEW and len(memory) < _REMEMBERED:
                memory[chunk] = known
        return known

    def _word(self, word: str, *, spaced: bool) -> Pieces:
        """Pieces of a word with their offsets, remembered."""
        known = self._words.get((word, spaced))
        if known is None:
            known = self._encoded(word, spaced=spaced)
            if len(self._words) < _REMEMBERED:
                self._words[word, spaced] = known
        return known

    def _encoded(self, word: str, *, spaced: bool) -> Pieces:
        # byte-level tokenizers tell a word after a space from one that follows directly; the others do not mind
        encoding = self._backend.encode((" " if spaced else "") + word, add_special_tokens=False)
        offsets = tuple((max(a - spaced, 0), max(b - spaced, 0)) for a, b in encoding.offsets)
        unknown = self.tokenizer.unk_token_id
        if not encoding.ids:
            return (unknown,), ((0, len(word)),)  # a word of control characters only
        # SentencePiece tables list `<mask>` among the plain pieces, so it can be found in spite of the above
        return tuple(unknown if i in self._special else i for i in encoding.ids), offsets

    # -- pieces to text ---------------------------------------------------------------------------------------------

    def infill(self, left: Sequence[int], pieces: Sequence[int]) -> str:
        """The characters that `pieces` add after the pieces `left`: the difference of two decodings."""
        # WordPiece minds only whether something stands before
        key = bool(left) if self._prefix else tuple(left), tuple(pieces)
        known = self._infills.get(key)
        if known is None:
            known = self._decoded(left, [piece for piece in pieces if piece != self.pad])
            if len(self._infills) < _REMEMBERED:
                self._infills[key] = known
        return known

    def _decoded(self, left: Sequence[int], pieces: Sequence[int]) -> str:
        prefix = self._prefix
        if prefix is None or not left:
            return self._decode([*left, *pieces])[len(self._decode(left)) :]
        tokens = (self._tokens[piece] for piece in pieces)
        return "".join(token[len(prefix) :] if token.startswith(prefix) else f" {token}" for token in tokens)

    @cached_property
    def _tokens(self) -> list[str]:
        return self.tokens(range(len(self)))

    def tokens(self, pieces: Sequence[int]) -> list[str]:
        return self.tokenizer.convert_ids_to_tokens(list(pieces))

    def _decode(self, pieces: Sequence[int]) -> str:
        if self._decoder is None:
            return self._backend.decode(list(pieces), skip_special_tokens=False)
        return self._decoder.decode(self.tokens(pieces)) if pieces else ""

    @cached_property
    def _prefix(self) -> str | None:
        model = self._backend.model
        return model.continuing_subword_prefix if isinstance(model, models.WordPiece) else None

    @property
    def spaced(self) -> bool:
        """Whether pieces know of the space before them, so that one without it may rightly follow directly."""
        return self._prefix is None

    @cached_property
    def cased(self) -> bool:
        """Whether pieces know of capitals."""
        normalizer = self._backend.normalizer
        return normalizer is None or normalizer.normalize_str("A") != normalizer.normalize_str("a")

    def is_name(self, word: str) -> bool:
        """Whether a word is known by its capital, as `Haus` is where `haus` is `ha ##us`: it never loses it."""
        lower = word[:1].lower() + word[1:]
        return word != lower and len(self._word(word, spaced=True)[0]) < len(self._word(lower, spaced=True)[0])

    @cached_property
    def _decoder(self) -> Any:
        # the WordPiece decoders that tokenizers are saved with also "clean up", so that "do not" becomes "don't"
        return decoders.WordPiece(prefix=self._prefix, cleanup=False) if self._prefix else None

    @cached_property
    def continuation(self) -> np.ndarray:
        """[V] bool: pieces that go on with the word before them, and so cannot begin an infill after a space."""
        if self._prefix:
            return np.array([token.startswith(self._prefix) for token in self._tokens])
        anchor = self._backend.encode("a", add_special_tokens=False).ids
        skip = len(self._decode(anchor))
        decoded = self._backend.decode_batch([[*anchor, i] for i in range(len(self))], skip_special_tokens=False)
        first = [text[skip : skip + 1] for text in decoded]
        return np.array([one.isalnum() and not is_tight(one) for one in first])

    @cached_property
    def _special(self) -> set[int]:
        added = self.tokenizer.added_tokens_decoder.items()
        return {*self.tokenizer.all_special_ids, *(i for i, token in added if token.special)}

    @cached_property
    def infillable(self) -> np.ndarray:
        """[V] bool: pieces that may be infilled: `[PAD]`, and all that are not special, unused or a domain."""
        allowed = np.array([not _UNUSED.fullmatch(token) for token in self._tokens])
        allowed[list(self._special)] = False
        allowed[self.pad] = True
        return allowed


def domain_token(name: str) -> str:
    return f"[domain:{name}]"
