import numpy as np
import pytest
from conftest import BERT, DOMAINS, FAMILIES, make_vocabulary
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from masker.core.text import split_words
from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError

CONTROL = "[MASK] [PAD] [CLS] [SEP] [UNK] <mask> <s> </s> <pad> <unk> [domain:positive] [unused0]"
ODD = st.lists(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("\x00\x07\u200b\u200d\u0301\ufffd\ufeff😀👩日本語éß [](<>)mask"),
        st.sampled_from(CONTROL.split()),
    ),
    max_size=20,
).map("".join)


def control_ids(vocabulary: Vocabulary) -> set[int]:
    tokenizer = vocabulary.tokenizer
    return {*tokenizer.all_special_ids, *map(vocabulary.domain, DOMAINS)} - {tokenizer.unk_token_id}


def test_start_and_end_are_asked_of_the_tokenizer(vocabularies: dict[str, Vocabulary], family: str) -> None:
    v = vocabularies[family]
    assert v.tokens(v.start) == [v.tokenizer.cls_token]
    assert v.tokens(v.end) == [v.tokenizer.sep_token]
    assert v.tokens([v.mask, v.pad]) == [v.tokenizer.mask_token, v.tokenizer.pad_token]


def test_domains_have_tokens(vocabularies: dict[str, Vocabulary], family: str) -> None:
    v = vocabularies[family]
    assert v.tokens([v.domain("negative"), v.domain("positive")]) == ["[domain:negative]", "[domain:positive]"]
    assert v.domain("negative") != v.domain("positive")


def test_offsets_point_at_the_characters_of_each_piece(vocabularies: dict[str, Vocabulary], family: str) -> None:
    v = vocabularies[family]
    source = "  \"Marie\tcurie was n't born, in (poland)...  She died_num_! "
    text = v.read(source)
    assert [text.word(i) for i in range(len(text.words))] == [source[a:b] for a, b in split_words(source)]
    for word in text.words:
        assert len(word.pieces) == len(word.offsets) > 0
        form = source[word.start : word.end]
        assert "".join(form[a:b] for a, b in word.offsets) == form
        for piece, (a, b) in zip(word.pieces, word.offsets, strict=True):
            token = v.tokens([piece])[0].removeprefix("##").removeprefix("Ġ")
            assert token == (form[a:b] if v.spaced else form[a:b].lower())


def test_pieces_of_the_paper_s_sentence(vocabulary: Vocabulary) -> None:
    pieces = vocabulary.read("Marie Curie was born.").pieces
    assert vocabulary.tokens(pieces) == ["marie", "cu", "##rie", "was", "born", "."]


def test_a_byte_level_piece_knows_of_the_space_before_it(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["roberta"]
    assert v.tokens(v.read("the food (the food).").pieces) == ["the", "Ġfood", "Ġ(", "the", "Ġfood", ")", "."]
    # white space before the first word is no space between words: training never sees any there
    assert v.read("  the food").pieces == v.read("the food").pieces


@pytest.mark.parametrize("literal", [CONTROL, *CONTROL.split(), "a[MASK]b", "<mask>.", "[domain:negative]!"])
def test_control_symbols_in_a_text_are_text(vocabularies: dict[str, Vocabulary], family: str, literal: str) -> None:
    v = vocabularies[family]
    text = v.read(literal)
    assert not control_ids(v) & set(text.pieces)
    assert v.tokenizer.unk_token_id not in text.pieces  # they are read, not only kept out
    assert all(v.infillable[piece] for piece in text.pieces)


@settings(max_examples=150, deadline=None)
@given(ODD)
def test_no_text_becomes_a_control_symbol(vocabularies: dict[str, Vocabulary], source: str) -> None:
    for family in FAMILIES:
        v = vocabularies[family]
        text = v.read(source)
        assert not control_ids(v) & set(text.pieces)
        assert [(w.start, w.end) for w in text.words] == split_words(source)
        for word in text.words:
            assert len(word.pieces) == len(word.offsets) > 0
            assert all(0 <= a <= b <= word.end - word.start for a, b in word.offsets)
            assert all(isinstance(piece, int) for piece in word.pieces)


def test_a_vocabulary_that_lists_control_symbols_as_plain_pieces() -> None:
    """SentencePiece models keep `<mask>` in their table of pieces, where it would be found as text."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", "▁a", *"<>mask"]
    backend = Tokenizer(models.Unigram([(p, -2.0 if len(p) > 1 else -5.0) for p in pieces], unk_id=3))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    v = Vocabulary(
        PreTrainedTokenizerFast(
            tokenizer_object=backend,
            **{f"{k}_token": f"<{t}>" for k, t in {"mask": "mask", "pad": "pad", "unk": "unk"}.items()},
        )
    )
    assert v.mask not in v.read("a <mask> a<mask>").pieces


def test_padding_and_truncation_of_a_saved_tokenizer_are_ignored(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.read("pneumonoultramicroscopic").pieces) > 16
    assert vocabulary.pad not in vocabulary.read("food").pieces


# -- infills -----------------------------------------------------------------------------------------------------------


def ids(vocabulary: Vocabulary, tokens: str) -> list[int]:
    return vocabulary.tokenizer.convert_tokens_to_ids(tokens.split())


def test_pad_is_dropped_wherever_it_stands(vocabularies: dict[str, Vocabulary], family: str) -> None:
    v = vocabularies[family]
    left, in_, and_ = (v.read("so in and").words[k].pieces for k in range(3))
    assert v.infill(left, [*in_, v.pad, *and_, v.pad]).split() == ["in", "and"]
    assert v.infill(left, [v.pad, *in_]).split() == ["in"]
    assert v.infill(left, [v.pad] * 4) == ""
    assert v.infill((), [v.pad] * 4) == ""


def test_wordpieces_are_decoded_without_clean_up(vocabulary: Vocabulary) -> None:
    left = ids(vocabulary, "cu ##rie")
    assert vocabulary.infill(left, ids(vocabulary, "do n ' t")).split() == ["do", "n", "'", "t"]
    assert vocabulary.infill(left, ids(vocabulary, "do not")).split() == ["do", "not"]
    assert vocabulary.infill((), ids(vocabulary, "food ##s .")).split() == ["foods", "."]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6))
def test_byte_level_infills_are_the_difference_of_two_decodings(vocabularies: dict[str, Vocabulary], word: str) -> None:
    for family in ("roberta", "modernbert"):
        v = vocabularies[family]
        text = v.read(f"naïve {word} 日本")
        for i in range(1, len(text.words)):
            assert v.infill(text.words[i - 1].pieces, text.words[i].pieces).strip() == text.word(i)


def test_characters_of_several_pieces(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["roberta"]
    pieces = v.read("a 日").words[1].pieces
    assert len(pieces) > 2
    assert v.infill(v.read("é").pieces, pieces) == " 日"
    assert "\ufffd" in v.infill(v.read("é").pieces, pieces[:-1])  # half a character: editing refuses it


def test_continuation_pieces(vocabularies: dict[str, Vocabulary]) -> None:
    v = vocabularies["bert"]
    assert v.continuation[ids(v, "##rie ##s ##ly")].all()
    assert not v.continuation[ids(v, "cu food . [ [PAD] [MASK]")].any()
    v = vocabularies["roberta"]
    assert v.continuation[ids(v, "the a He")].all()
    assert not v.continuation[ids(v, "Ġthe Ġ . 't <pad>")].any()


def test_only_pad_and_plain_pieces_can_be_infilled(vocabularies: dict[str, Vocabulary], family: str) -> None:
    v = vocabularies[family]
    assert len(v.infillable) == len(v.continuation) == len(v)
    barred = {*v.tokenizer.all_special_ids, *map(v.domain, DOMAINS)} - {v.pad}
    barred |= {k for k, token in enumerate(v.tokens(range(len(v)))) if "unused" in token}
    assert set(np.flatnonzero(~v.infillable)) == barred
    assert {v.mask, *v.start, *v.end, v.tokenizer.unk_token_id} <= barred


def test_a_later_domain_cannot_be_infilled_either() -> None:
    v = make_vocabulary("bert")
    assert v.infillable.all(where=np.arange(len(v)) == v.pad)
    v.add_domains(["formal"])
    assert len(v.infillable) == len(v.continuation) == len(v)
    assert not v.infillable[v.domain("formal")]


# -- tokenizers that will not do ---------------------------------------------------------------------------------------


def test_a_tokenizer_without_mask_or_padding_is_refused() -> None:
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with pytest.raises(MaskerError, match="mask"):
        Vocabulary(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=BERT["unk"]))


def test_a_slow_tokenizer_is_refused() -> None:
    with pytest.raises(MaskerError, match="no fast tokenizer"):
        Vocabulary(object())


def test_what_is_written_like_a_control_token_is_read_as_its_characters() -> None:
    v = make_vocabulary("roberta")
    for source in ("<mask>", "see <mask>", "</s>", "<pad>x"):
        pieces = v.read(source).pieces
        assert v.tokenizer.unk_token_id not in pieces
        assert v.infill((), pieces).strip() == source


def test_domains_that_come_later_are_known_everywhere(family: str) -> None:
    v = make_vocabulary(family)
    before = len(v), len(v.infillable), len(v.continuation)
    assert before == (before[0],) * 3
    v.add_domains(["one", "two"])
    assert len(v) == len(v.infillable) == len(v.continuation) == before[0] + 2
    assert not v.infillable[v.domain("two")]
    assert v.domain("one") not in v.read("[domain:one]").pieces


def test_bytes_of_one_character_are_joined_with_those_before_them(vocabularies: dict[str, Vocabulary]) -> None:
    """The same piece adds something else after another one: what is remembered minds what stands before."""
    v = vocabularies["roberta"]
    (first, last), (letter,) = v.read("é").pieces, v.read("a").pieces
    assert v.infill([letter], [first, last]) == "é"
    assert v.infill([first], [last]) == ""  # it only completes the character that stands there
    assert v.infill([letter], [last]) == "\ufffd"


@settings(max_examples=100, deadline=None)
@given(ODD)
def test_pieces_can_be_read_without_their_words(vocabularies: dict[str, Vocabulary], source: str) -> None:
    for vocabulary in vocabularies.values():
        assert vocabulary.pieces(source) == vocabulary.read(source).pieces


def test_short_texts_are_remembered_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masker.core.vocabulary._TEXTS", 2)
    v = make_vocabulary("bert")
    one, long = "so good", "so good " * 60
    assert v.read(one) is v.read(one)
    assert v.read(long) is not v.read(long)
    for text in ("so bad", "so so"):
        v.read(text)
    assert list(v._texts) == ["so so"]


def test_what_is_read_is_forgotten_when_told() -> None:
    v = make_vocabulary("bert")
    one = v.chunk("terrible!", spaced=True)
    assert v.chunk("terrible!", spaced=True) is one
    assert v.chunk("(terrible!", spaced=True)[1][2] == one[0][2]  # the same word, elsewhere
    v.infill([], [v.pad])
    v.forget()
    assert not v._chunks
    assert not v._words
    assert not v._infills
    assert v.chunk("terrible!", spaced=True) == one


def test_a_tokenizer_that_will_not_do() -> None:
    with pytest.raises(MaskerError, match=r"^object is no fast tokenizer; save it with its tokenizer\.json$"):
        Vocabulary(object())
    tokenizer = make_vocabulary("bert").tokenizer
    tokenizer.mask_token = None
    with pytest.raises(
        MaskerError, match=r"^the tokenizer has no mask or no padding token; a padded masked LM needs both$"
    ):
        Vocabulary(tokenizer)
